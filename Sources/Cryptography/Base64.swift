internal import CCrypto

/// Base64 (RFC 4648, section 4): `EVP_EncodeBlock()` and `EVP_DecodeBlock()` of OpenSSL.
package enum Base64 {
    /// Encodes bytes, with padding and without line breaks.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }

    /// Decodes a text with padding; `nil` if it is not the one encoding of its bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        let input = Array(text.utf8)
        guard input.count.isMultiple(of: 4) else { return nil }
        guard !input.isEmpty else { return [] }
        var bytes = [UInt8](repeating: 0, count: input.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, input, Int32(input.count)) == bytes.count else { return nil }
        // OpenSSL counts the padding as zero bytes, and skips spaces around the text.
        bytes.removeLast(input.suffix(2).count { $0 == UInt8(ascii: "=") })
        return encode(bytes) == text ? bytes : nil
    }
}

extension Sequence where Element == UInt8 {
    /// The bytes in hexadecimal digits, two for each.
    package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Random bytes for keys, tokens and salts: the system's generator, getrandom(2).
package enum RandomBytes {
    package static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }
}

/// The version of OpenSSL that is loaded, such as 3.5.4 (`OpenSSL_version`).
package var openSSLVersion: String {
    String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
}
