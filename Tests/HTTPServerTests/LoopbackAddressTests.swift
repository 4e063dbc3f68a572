import Testing

@testable import HTTPServer

/// Which clients are on this machine, by their addresses.
@Suite struct LoopbackAddressTests {
    @Test(arguments: ["127.0.0.1", "127.255.1.2", "::1", "::ffff:127.0.0.1", "::ffff:127.1.2.3"])
    func thisMachine(_ text: String) { #expect(ListeningSocket.isLoopback(text)) }

    @Test(
        arguments: [
            "0.0.0.0", "126.0.0.127", "192.168.1.127", "1.0.0.127", "::", "::2", "1::1", "::ffff:192.168.1.1",
            "::127.0.0.1", "::ffff:1.0.0.127", "fe80::1",
        ])
    func others(_ text: String) { #expect(!ListeningSocket.isLoopback(text)) }

    /// What getnameinfo(3) says of a socket that is none of a network, and what there is without an address.
    @Test(arguments: ["localhost", ""])
    func otherFamilies(_ text: String) { #expect(!ListeningSocket.isLoopback(text)) }
}
