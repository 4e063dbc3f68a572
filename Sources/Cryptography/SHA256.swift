internal import CCrypto

/// The digest SHA-256 (FIPS 180-4): `EVP_Digest()` of OpenSSL.
package struct SHA256Digest: Hashable, Sendable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    /// Computes the digest of a text.
    package init(of text: some Sequence<UInt8>) {
        let text = Array(text)
        var digest = [UInt8](repeating: 0, count: 32)
        let isComputed = EVP_Digest(text, text.count, &digest, nil, EVP_sha256(), nil)
        // Fails only without memory, or if OpenSSL is configured to have no digests at all.
        precondition(isComputed == 1, "OpenSSL cannot compute SHA-256")
        bytes = digest
    }

    /// The digest in hexadecimal digits.
    package var hexadecimal: String { bytes.hexadecimal }

    /// The first eight bytes as a fraction of 2⁶⁴: a number in [0, 1).
    package var fraction: Double {
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The upper 53 bits, so that the result stays below one.
        return Double(number >> 11) * 0x1p-53
    }
}

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

/// Keys from passwords: PBKDF2 with HMAC-SHA512 (RFC 8018), `PKCS5_PBKDF2_HMAC()` of OpenSSL.
package enum PBKDF2 {
    /// Derives a key of `count` bytes; `nil` if OpenSSL cannot.
    package static func sha512(_ password: String, salt: [UInt8], iterations: Int, count: Int) -> [UInt8]? {
        let password = Array(password.utf8CString.dropLast())
        var key = [UInt8](repeating: 0, count: count)
        let isDerived = PKCS5_PBKDF2_HMAC(
            password, Int32(password.count), salt, Int32(salt.count), Int32(iterations), EVP_sha512(), Int32(count),
            &key)
        return isDerived == 1 ? key : nil
    }
}
