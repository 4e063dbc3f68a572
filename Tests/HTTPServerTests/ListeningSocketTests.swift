import LinuxSystem
import Testing

@testable import HTTPServer

/// The socket at which a server listens.
@Suite struct ListeningSocketTests {
    @Test func systemChoosesThePortAndTheAddressTellsIt() throws {
        let socket = try ListeningSocket(ListeningAddress(host: "127.0.0.1", port: 0))
        #expect(socket.address.host == "127.0.0.1")
        #expect(socket.address.port != 0)
        #expect(socket.isLoopback)
    }

    @Test func anAddressForOtherMachinesIsNotLoopback() throws {
        let socket = try ListeningSocket(ListeningAddress(host: "0.0.0.0", port: 0))
        #expect(!socket.isLoopback)
    }

    @Test func aPortInUseIsAnError() throws {
        let first = try ListeningSocket(ListeningAddress(host: "127.0.0.1", port: 0))
        #expect(throws: ListeningSocket.Failure.self) { try ListeningSocket(first.address) }
    }
}
