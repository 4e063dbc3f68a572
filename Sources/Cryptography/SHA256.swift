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
