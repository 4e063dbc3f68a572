import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: one thread can drive any number of clients through every event of a client's life.
@Suite(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct PolledClientTests {
    private let broker: TestBroker

    init() async throws {
        broker = try await TestBroker.started()
    }

    private static func options(_ port: UInt16, id: String) -> MQTTOptions {
        var options = MQTTOptions.local(port, id: id)
        options.will = MQTTMessage(topic: "gone/\(id)", text: "gone", qos: .atLeastOnce)
        return options
    }

    /// A client that is connected.
    private func connected(_ options: MQTTOptions) throws -> (MQTTPolledClient, PolledDriver) {
        let client = try MQTTPolledClient(options: options)
        var driver = PolledDriver()
        driver.add(client)
        #expect(driver.drive { $0.allSatisfy { $0.connects == 1 } })
        return (client, driver)
    }

    @Test("Two hundred clients connect, subscribe, publish, survive their broker and disconnect on one thread")
    func oneThreadForAll() async throws {
        let threads = Self.threadCount
        var driver = PolledDriver()
        for number in 0..<200 {
            let client = try MQTTPolledClient(options: Self.options(broker.port, id: "c\(number)"))
            try client.subscribe(to: "to/\(number)", qos: .atLeastOnce)
            driver.add(client)
        }
        #expect(driver.drive { $0.allSatisfy { $0.connects == 1 && $0.subscribed == 1 } })
        for round in 0..<2 {
            for (number, member) in driver.members.enumerated() {
                let topic = "to/\((number + 1) % 200)"
                try member.client.publish(
                    MQTTMessage(topic: topic, text: "\(number)", qos: .atLeastOnce), token: 1000 * round + number)
            }
            #expect(driver.drive { $0.allSatisfy { $0.messages.count == round + 1 && $0.tokens.count == round + 1 } })
            for (number, member) in driver.members.enumerated() {
                #expect(member.messages.last?.text == "\((number + 199) % 200)")
                #expect(member.tokens.last == 1000 * round + number)
            }
            guard round == 0 else { break }
            broker.kill()
            #expect(driver.drive { $0.allSatisfy { $0.ends >= 1 } })
            try await broker.start()
            #expect(driver.drive { $0.allSatisfy { $0.connects == 2 && $0.subscribed == 2 } })
        }
        // Other tests have threads of their own, but fewer than there are clients.
        #expect(Self.threadCount < threads + 100)

        var observer = PolledDriver()
        let listener = try MQTTPolledClient(options: .local(broker.port, id: "observer"))
        try listener.subscribe(to: "gone/#", qos: .atLeastOnce)
        observer.add(listener)
        #expect(observer.drive { $0.allSatisfy { $0.subscribed == 1 } })
        // One is dropped without a DISCONNECT; the others disconnect gracefully.
        driver.forget(7)
        for member in driver.members { member.client.stop(within: .seconds(20)) }
        #expect(driver.drive { $0.allSatisfy { $0.stopped == [] && $0.client.isFinished } })
        #expect(driver.members.allSatisfy { $0.client.deadline == nil && $0.client.interest == nil })
        #expect(observer.drive { $0.allSatisfy { !$0.messages.isEmpty } })
        #expect(observer.members.first?.messages.map(\.topic) == ["gone/c7"])
    }

    @Test("Accepts no message without a connection, and does nothing after the end")
    func limits() async throws {
        var options = Self.options(broker.port, id: "limits")
        options.queueCapacity = 2
        let client = try MQTTPolledClient(options: options)
        let message = MQTTMessage(topic: "a", text: "b", qos: .atLeastOnce)
        #expect(throws: MQTTError.notConnected) { try client.publish(message, token: 1) }
        var driver = PolledDriver()
        driver.add(client)
        #expect(driver.drive { $0.allSatisfy { $0.connects == 1 } })
        try client.publish(message, token: 2)
        try client.publish(message, token: 3)
        #expect(throws: MQTTError.queueFull) { try client.publish(message, token: 4) }
        client.stop(within: .seconds(20), farewell: MQTTMessage(topic: "last", text: "", qos: .atLeastOnce))
        #expect(throws: MQTTError.stopped) { try client.publish(message, token: 5) }
        #expect(driver.drive { $0.allSatisfy { $0.client.isFinished } })
        #expect(driver.members.first?.tokens == [2, 3])
        #expect(driver.members.first?.stopped == [])
        #expect(client.advance(.readable).isEmpty)
        #expect(client.statistics.acknowledged == 3)
    }

    @Test("Sends a burst larger than the window without incoming traffic, and the farewell after it")
    func burst() async throws {
        let (client, driver) = try connected(Self.options(broker.port, id: "burst"))
        for token in 0..<100 { try client.publish(MQTTMessage(topic: "a", text: ""), token: token) }
        #expect(driver.drive { $0.allSatisfy { $0.tokens.count == 100 } })
        for token in 100..<120 { try client.publish(MQTTMessage(topic: "a", text: ""), token: token) }
        client.stop(within: .seconds(20), farewell: MQTTMessage(topic: "last", text: "", qos: .atMostOnce))
        #expect(driver.drive { $0.allSatisfy { $0.client.isFinished } })
        #expect(driver.members.first?.tokens == Array(0..<120))
        #expect(client.statistics.acknowledged == 121)
    }

    @Test("Writing to a closed connection does not signal the thread that drives the client")
    func brokenPipe() async throws {
        let (client, driver) = try connected(Self.options(broker.port, id: "pipe"))
        // By default the signal terminates the process.
        let previous = signal(SIGPIPE, SIG_DFL)
        defer { signal(SIGPIPE, previous) }
        #expect(Loopback.cutConnections(to: broker.port) == 1)
        try client.publish(MQTTMessage(topic: "a", text: "", qos: .atLeastOnce), token: 1)
        let events = client.advance()
        let lost = events.compactMap { if case .disconnected(let end) = $0 { end } else { nil } }
        #expect(lost.map(\.failure) == [.network(code: EPIPE)])
        #expect(lost.first?.undelivered.map(\.number) == [1])
        #expect(driver.drive { $0.allSatisfy { $0.connects == 2 } })
    }

    @Test("Messages in flight at the deadline are reported with the end")
    func undelivered() async throws {
        let (client, driver) = try connected(Self.options(broker.port, id: "undelivered"))
        broker.freeze()
        defer { broker.thaw() }
        for token in 0..<30 { try client.publish(MQTTMessage(topic: "a", text: "", qos: .atLeastOnce), token: token) }
        client.stop(within: .milliseconds(100))
        #expect(driver.drive { $0.allSatisfy { $0.client.isFinished } })
        #expect(driver.members.first?.stopped == Array(0..<30))
    }

    /// The number of threads in this process.
    private static var threadCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }
}
