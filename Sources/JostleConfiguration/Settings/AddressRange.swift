internal import Glibc

/// A numeric address, or a range of them: `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
package struct AddressRange: Equatable, Sendable {
    /// How it is written.
    package let text: String
    private let bytes: [UInt8]
    /// How many of the first bits an address of the range shares.
    private let bits: Int

    /// Parses an address with or without the number of bits; `nil` if it is none.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), !text.contains("%"), let bytes = AddressRange.bytes(of: String(parts[0]))
        else { return nil }
        var bits = 8 * bytes.count
        if parts.count == 2 {
            guard parts[1].allSatisfy(\.isNumber), let number = Int(parts[1]), number <= bits else { return nil }
            bits = number
        }
        self.text = text
        self.bytes = bytes
        self.bits = bits
    }

    /// Whether a numeric address is one of the range.
    package func contains(_ address: String) -> Bool {
        guard let other = AddressRange.bytes(of: address), other.count == bytes.count else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return bytes[bit / 8] & mask == other[bit / 8] & mask
        }
    }

    /// The part of an address that one client has for itself: all of it, but of IPv6 the network, in which a client chooses
    /// any address. A text that is no address stands for itself.
    package static func client(of address: String) -> String {
        guard let bytes = bytes(of: address), bytes.count == 16 else { return String(address.prefix(64)) }
        return "\(bytes.prefix(8))"
    }

    /// The 4 or 16 bytes of an address: inet_pton(3). IPv4 written as IPv6, as a socket for both reports it, has 4. The
    /// interface after a link-local address, `fe80::1%eth0`, does not count.
    private static func bytes(of text: String) -> [UInt8]? {
        var version4 = in_addr()
        if inet_pton(AF_INET, text, &version4) == 1 { return withUnsafeBytes(of: version4) { Array($0) } }
        var version6 = in6_addr()
        guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &version6) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: version6) { Array($0) }
        return bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) ? Array(bytes.suffix(4)) : bytes
    }
}
