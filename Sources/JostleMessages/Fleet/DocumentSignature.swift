internal import Cryptography
package import Documents
package import JostleConfiguration

extension DocumentEnvelope {
    /// What a signature is made over: the topic, so that a document is valid on no other one, and the canonical form
    /// (RFC 8785) without the signature.
    ///
    /// - Throws: never for an envelope that was read.
    package func signedText(topic: String) throws(DocumentProblem) -> [UInt8] {
        Array("jostle-layer-v1\n\(topic)\n\(try contentWithoutSignature.canonicalText())".utf8)
    }
}

/// The keys that a device trusts. Without any, it takes documents without signatures.
package struct TrustedKeys: Sendable {
    private let keys: [(name: String, key: VerificationKey?)]

    package init(_ keys: [JostleSettings.TrustedKey]) {
        self.keys = keys.map { key in (key.name, Base64.decode(key.publicKey).flatMap { VerificationKey(bytes: $0) }) }
    }

    package var isEmpty: Bool { keys.isEmpty }

    /// Why a document on a topic is not to be trusted; `nil` if it is.
    package func problem(of envelope: DocumentEnvelope, topic: String) -> DocumentProblem? {
        guard !keys.isEmpty else { return nil }
        func problem(_ reason: String, found: String? = nil) -> DocumentProblem {
            DocumentProblem(
                at: DocumentPosition(.message(topic)), path: "signature", found: found, reason,
                allowed: "a signature by \(keys.map(\.name).joined(separator: ", "))")
        }
        guard let signature = envelope.signature else { return problem("is missing") }
        guard let (_, key) = keys.first(where: { $0.name == signature.key }) else {
            return problem("is by a key that is not trusted", found: signature.key)
        }
        do {
            guard let key, let bytes = Base64.decode(signature.value),
                key.verifies(bytes, of: try envelope.signedText(topic: topic))
            else { return problem("does not fit the document", found: signature.key) }
        } catch {
            return error
        }
        return nil
    }
}

/// Signs documents.
package struct DocumentSigner: Sendable {
    /// The name of the key.
    package let name: String
    private let pem: String

    /// The file's contents: a line with the name, and the private key as PEM.
    package var fileText: String { "\(DocumentSigner.title)\(name)\n\(pem)" }

    private static let title = "Jostle fleet key "

    /// Generates a key.
    ///
    /// - Returns: `nil` if OpenSSL cannot.
    package init?(generating name: String) {
        guard let pem = SigningKey.generate()?.pem else { return nil }
        self.name = name
        self.pem = pem
    }

    /// Reads a file's contents. A key without a name, as from `openssl genpkey`, gets `otherName`.
    ///
    /// - Returns: `nil` if it is no private key of Ed25519 without a passphrase.
    package init?(reading text: String, otherName: String) {
        guard let key = SigningKey.read(pem: text), let pem = key.pem else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        let line = lines.first { $0.hasPrefix(DocumentSigner.title) }
        name = line.map { String($0.dropFirst(DocumentSigner.title.count)) } ?? otherName
        guard JostleSettings.Device.isID(name) else { return nil }
        self.pem = pem
    }

    /// The public key as devices are configured with it.
    package var trustedKey: JostleSettings.TrustedKey? {
        SigningKey.read(pem: pem)?.verificationKey.map {
            JostleSettings.TrustedKey(name: name, publicKey: Base64.encode($0.bytes))
        }
    }

    /// The signature of a document that is about to be published on a topic; `nil` if OpenSSL cannot sign.
    package func sign(
        _ envelope: DocumentEnvelope, topic: String
    ) throws(DocumentProblem) -> DocumentEnvelope.Signature? {
        let text = try envelope.signedText(topic: topic)
        return SigningKey.read(pem: pem)?.sign(text).map { .init(key: name, value: Base64.encode($0)) }
    }
}
