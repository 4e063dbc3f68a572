import Cryptography
import Foundation
import JostleConfiguration
import JostleMessages
import Testing

/// Requirement: signatures are Ed25519 as others compute it, over the topic and the canonical document.
@Suite struct DocumentSignatureTests {
    /// The second test of RFC 8032, section 7.1.
    @Test func verifiesVectorOfTheStandard() throws {
        let key = try #require(
            VerificationKey(bytes: hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")))
        let signature = hex(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
        #expect(key.verifies(signature, of: [0x72]))
        #expect(!key.verifies(signature, of: [0x73]))
        var changed = signature
        changed[3] ^= 1
        #expect(!key.verifies(changed, of: [0x72]) && !key.verifies([], of: [0x72]))
        #expect(VerificationKey(bytes: [1, 2, 3]) == nil)
    }

    /// OpenSSL reads the key's text in place, while other threads allocate memory.
    @Test func readsKeyEveryTime() async throws {
        let pem = try #require(SigningKey.generate()?.pem)
        let isRead = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask { (0..<1000).allSatisfy { _ in SigningKey.read(pem: "# comment\n" + pem) != nil } }
            }
            return await group.allSatisfy { $0 }
        }
        #expect(isRead)
    }

    private func hex(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { index in
            let start = text.index(text.startIndex, offsetBy: index)
            return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16)
        }
    }

    @Test func signedTextNamesTopicAndLeavesTheSignatureOut() throws {
        let text = #"{"signature":{"key":"k","value":"v"},"revision":2.0,"schema":1,"config":{"b":1,"a":"ä"}}"#
        let envelope = try LayerDocument(reading: Array(text.utf8), layer: "all").envelope
        let signed = try envelope.signedText(topic: "jostle/_all/config")
        #expect(
            String(decoding: signed, as: UTF8.self)
                == "jostle-layer-v1\njostle/_all/config\n" + #"{"config":{"a":"ä","b":1},"revision":2,"schema":1}"#)
    }

    @Test func keyFileReadsBackAndKeepsItsName() throws {
        let signer = try #require(DocumentSigner(generating: "ops-1"))
        let read = try #require(DocumentSigner(reading: signer.fileText, otherName: "x"))
        #expect(read.name == "ops-1" && read.trustedKey == signer.trustedKey)
        // An editor or a transfer may have changed the line ends.
        let windows = signer.fileText.replacingOccurrences(of: "\n", with: "\r\n")
        let other = try #require(DocumentSigner(reading: windows, otherName: "x"))
        #expect(other.name == "ops-1" && other.trustedKey == signer.trustedKey)
        let bare = signer.fileText.split(separator: "\n").dropFirst().joined(separator: "\n")
        #expect(try #require(DocumentSigner(reading: bare, otherName: "from-file")).name == "from-file")
        #expect(DocumentSigner(reading: "nothing", otherName: "x") == nil)
        let key = try #require(signer.trustedKey)
        #expect(JostleSettings.TrustedKey(key.text) == key)
    }

    @Test(arguments: [[], [0], [0, 1], [0, 1, 255], Array(0..<32)] as [[UInt8]]) func base64ReadsBack(bytes: [UInt8]) {
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }

    @Test(arguments: ["A", "AA=", "AB==", "A===", "AAAA\n", " AAA", "AA=A", "====", "AA*A"]) func otherTextsAreNoBase64(
        text: String
    ) {
        #expect(Base64.decode(text) == nil)
    }
}
