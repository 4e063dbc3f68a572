internal import Glibc

/// The addresses of the loopback device: 127.0.0.0/8, ::1, and the former written as IPv6 (RFC 4291, section 2.5.5.2),
/// which a socket for both families reports.
enum LoopbackAddress {
    /// Whether an address is one of them.
    static func matches(_ address: UnsafePointer<sockaddr>) -> Bool {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let number = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr.s_addr }
            return UInt32(bigEndian: number) >> 24 == 127
        case AF_INET6:
            let number = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee.sin6_addr }
            return matches(withUnsafeBytes(of: number) { Array($0) })
        default: return false
        }
    }

    /// Whether the 16 bytes of an IPv6 address are one.
    private static func matches(_ bytes: [UInt8]) -> Bool {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) { return bytes[12] == 127 }
        return bytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    }
}
