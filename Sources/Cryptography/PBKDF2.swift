internal import CCrypto

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
