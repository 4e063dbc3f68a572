import Testing

@testable import JostlePage

/// The names under which the page may be addressed.
@Suite struct HostNamesTests {
    private let names = HostNames(["board.example", "Wall.Example"], machine: "Pi.lan")

    @Test(arguments: [
        "localhost", "LOCALHOST:8088", "127.0.0.1", "127.0.0.1:8088", "[::1]:8088", "[::1]", "192.168.1.7:8088",
        "pi.lan",
        "pi", "pi.local:8088", "board.example:443", "wall.example", "board.example.",
    ])
    func allows(_ header: String) { #expect(names.allows(header)) }

    @Test(arguments: [
        "", ":", ":8088", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8088", "[::1", "[evil]:1",
        "localhost:", "localhost:99999", "localhost:80:80", "local host", "board.example..",
    ])
    func refuses(_ header: String) { #expect(!names.allows(header)) }

    @Test func machineWithoutNameAddsNone() {
        #expect(HostNames([], machine: "").allows("localhost"))
        #expect(!HostNames([], machine: "").allows(".local"))
    }
}
