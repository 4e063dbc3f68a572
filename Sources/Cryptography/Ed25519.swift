internal import CCrypto

/// A public key of Ed25519 (RFC 8032).
package struct VerificationKey: Sendable {
    /// The 32 bytes of the key.
    package let bytes: [UInt8]

    /// `nil` if these are not 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Whether a signature of 64 bytes fits a message.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64, let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// A private key of Ed25519 (RFC 8032).
package final class SigningKey {
    private let key: OpaquePointer

    private init(_ key: OpaquePointer) {
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Generates a key from the system's random bytes.
    ///
    /// - Returns: `nil` if OpenSSL cannot, as without memory.
    package static func generate() -> SigningKey? {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1 else { return nil }
        return key.map { SigningKey($0) }
    }

    /// Reads a key from a PEM text, which may have other lines before it.
    ///
    /// - Returns: `nil` if there is none, or it is encrypted or of another kind.
    package static func read(pem text: String) -> SigningKey? {
        var text = text
        // OpenSSL reads the bytes in place: they must last until it has read them.
        let key = text.withUTF8 { bytes -> OpaquePointer? in
            guard let input = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(input) }
            // Without a callback, the last argument is the passphrase. Without one, OpenSSL would ask at the terminal.
            var passphrase: [CChar] = [0]
            return PEM_read_bio_PrivateKey(input, nil, nil, &passphrase)
        }
        ERR_clear_error()
        guard let key else { return nil }
        guard EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 else {
            EVP_PKEY_free(key)
            return nil
        }
        return SigningKey(key)
    }

    /// The key as PEM (PKCS #8); `nil` if OpenSSL cannot write it.
    package var pem: String? {
        guard let output = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(output) }
        guard PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(jostle_bio_pending(output)))
        guard BIO_read(output, &bytes, Int32(bytes.count)) == bytes.count else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The public key.
    package var verificationKey: VerificationKey? {
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 else { return nil }
        return VerificationKey(bytes: Array(bytes.prefix(count)))
    }

    /// The signature of a message, 64 bytes; `nil` if OpenSSL cannot, as without memory.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else { return nil }
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }
}
