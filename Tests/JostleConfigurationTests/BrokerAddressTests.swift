import Documents
import Testing

@testable import JostleConfiguration

/// The URLs of brokers (`mqtt.broker`).
@Suite struct BrokerAddressTests {
    @Test(arguments: [
        ("mqtt://localhost", "mqtt://localhost:1883"),
        ("mqtts://localhost", "mqtts://localhost:8883"),
        ("MQTTS://Broker.example.:443/", "mqtts://Broker.example.:443"),
        ("mqtt://192.168.1.7:1", "mqtt://192.168.1.7:1"),
        ("mqtt://my_host-2.local:65535", "mqtt://my_host-2.local:65535"),
        ("mqtt://[::1]", "mqtt://[::1]:1883"),
        ("mqtts://[fe80::1%eth0]:8884", "mqtts://[fe80::1%eth0]:8884"),
    ])
    func reads(_ url: String, _ expected: String) throws {
        let address = try BrokerAddress(url: url)
        #expect(address.description == expected)
        #expect(try BrokerAddress(url: address.description) == address)
    }

    @Test(arguments: [
        ("", "no scheme"),
        ("localhost:1883", "no scheme"),
        ("http://localhost", "scheme that is not supported"),
        ("tcp://localhost", "scheme that is not supported"),
        ("ws://localhost:9001", "libmosquitto 2.1 is needed; use the broker's TCP port: mqtt://host:1883"),
        ("WSS://localhost/mqtt", "MQTT over WebSockets"),
        ("mqtt://", "no host"),
        ("mqtt://:1883", "no host"),
        ("mqtt://a b", "neither a name nor an address"),
        ("mqtt://a..b", "neither a name nor an address"),
        ("mqtt://host:", "port outside 1 … 65535"),
        ("mqtt://host:0", "port outside 1 … 65535"),
        ("mqtt://host:65536", "port outside 1 … 65535"),
        ("mqtt://host:+1", "port outside 1 … 65535"),
        ("mqtt://host:x", "port outside 1 … 65535"),
        ("mqtt://host/path", "path, query or fragment"),
        ("mqtt://host?x", "path, query or fragment"),
        ("mqtt://::1", "too many colons"),
        ("mqtt://[::1", "closing bracket"),
        ("mqtt://[localhost]", "without an IPv6 address"),
        ("mqtt://[::1%]", "without an IPv6 address"),
        ("mqtt://[::1]x", "continues after"),
        ("mqtt://user:secret@host", "set mqtt.username and mqtt.password_file"),
    ])
    func refuses(_ url: String, _ reason: String) {
        #expect {
            _ = try BrokerAddress(url: url)
        } throws: { error in
            (error as? ValueRefusal)?.reason.contains(reason) == true
        }
    }

    @Test(arguments: [
        "mqtt://user:secret@host", "mqtt://user:se@cret@host", "user:secret@host", "[mqtt://a, 'mqtt://x:secret@b']",
        "'mqtt://user:secret@a, mqtt://b'",
    ])
    func messagesHidePasswords(_ value: String) throws {
        let fromFile = try build("mqtt: { broker: \(value) }").problems
        let fromArgument = build(overrides: ["mqtt.broker=\(value)"]).problems
        for problems in [fromFile, fromArgument] {
            #expect(problems.count == 1)
            for problem in problems {
                #expect(!problem.description.contains("cret"), "\(problem)")
                #expect(problem.description.contains("…@"), "\(problem)")
            }
        }
    }
}
