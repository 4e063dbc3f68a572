internal import CCrypto

/// Message authentication codes: HMAC-SHA256 (RFC 2104), `HMAC()` of OpenSSL.
package enum MessageAuthentication {
    /// The code of a text under a key, in hexadecimal digits; `nil` if OpenSSL cannot compute it.
    package static func code(of text: String, key: [UInt8]) -> String? {
        let text = Array(text.utf8)
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        guard HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, &code, &count) != nil, count == 32 else {
            return nil
        }
        return code.hexadecimal
    }

    /// Whether two codes of the same length are equal: `CRYPTO_memcmp()`, whose time does not depend on where they differ.
    package static func isEqual(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        return a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }

    /// Whether two secrets are equal. The time does not depend on their lengths either, because digests are compared.
    package static func isEqual(secret a: String, _ b: String) -> Bool {
        isEqual(SHA256Digest(of: a.utf8).hexadecimal, SHA256Digest(of: b.utf8).hexadecimal)
    }
}
