import Glibc
import Testing

@testable import HTTPServer

/// Which clients are on this machine, by their addresses.
@Suite struct LoopbackAddressTests {
    private func isLoopback(_ text: String) throws -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if inet_pton(AF_INET, text, &address.sin_addr) == 1 {
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { LoopbackAddress.matches($0) }
            }
        }
        var longAddress = sockaddr_in6()
        longAddress.sin6_family = sa_family_t(AF_INET6)
        try #require(inet_pton(AF_INET6, text, &longAddress.sin6_addr) == 1)
        return withUnsafePointer(to: &longAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { LoopbackAddress.matches($0) }
        }
    }

    @Test(arguments: ["127.0.0.1", "127.255.1.2", "::1", "::ffff:127.0.0.1", "::ffff:127.1.2.3"])
    func thisMachine(_ text: String) throws { #expect(try isLoopback(text)) }

    @Test(
        arguments: [
            "0.0.0.0", "126.0.0.127", "192.168.1.127", "1.0.0.127", "::", "::2", "1::1", "::ffff:192.168.1.1",
            "::127.0.0.1", "::ffff:1.0.0.127", "fe80::1",
        ])
    func others(_ text: String) throws { #expect(try !isLoopback(text)) }

    @Test func otherFamilies() {
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNIX)
        #expect(!LoopbackAddress.matches(&address))
    }
}
