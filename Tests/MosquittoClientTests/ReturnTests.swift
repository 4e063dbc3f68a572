import BrokerTestSupport
import Glibc
import MosquittoClient
import Synchronization
import Testing

/// Requirement: after an outage clients come back soon, each once, and not all at the same moment.
@Suite(.serialized) struct ReturnTests {
    private let rig = Rig()

    @Test(
        "Three hundred clients with the default delays return from a killed broker with one CONNECT each",
        .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
    func manyClients() async throws {
        let count = 300
        let broker = try await rig.broker()
        var driver = PolledDriver()
        for number in 0..<count {
            var options = MQTTOptions.local(broker.port, id: "c\(number)")
            options.backoff = MQTTBackoff()
            let client = try MQTTPolledClient(options: options)
            for filter in ["all/config", "to/\(number)"] { try client.subscribe(to: filter, qos: .atLeastOnce) }
            driver.add(client)
        }
        #expect(driver.drive { $0.allSatisfy { $0.subscribed == 2 } })
        broker.kill()
        #expect(driver.drive { $0.allSatisfy { $0.ends >= 1 } })
        try await broker.start()
        let start = ContinuousClock.now
        var returns: [Double] = []
        #expect(
            driver.drive { members in
                let now = start.duration(to: .now) / .seconds(1)
                let connected = members.count { $0.connects == 2 }
                returns += Array(repeating: now, count: connected - returns.count)
                return members.allSatisfy { $0.subscribed == 4 }
            })
        #expect(driver.members.allSatisfy { $0.connects == 2 && $0.client.statistics.connects == 2 })
        // 1.7 s on an idle machine. At no moment did all of them return.
        #expect(try #require(returns.last) < 20)
        #expect(try #require(returns.last) - returns[count / 10] > 0.5, "\(returns)")
    }

    @Test(
        "A single client with the default delays is back soon after its broker",
        .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
    func singleClient() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "single")
        options.backoff = MQTTBackoff()
        let client = try await RecordedClient.connected(options)
        broker.kill()
        #expect(await eventually { client.disconnections.count >= 4 })
        try await broker.start()
        let start = ContinuousClock.now
        #expect(await eventually { client.connections.count == 2 })
        // 1.7 s on an idle machine.
        #expect(start.duration(to: .now) < .seconds(8))
    }

    @Test(
        "Tries again at once when the host's network comes back, although the next attempt is an hour away",
        .enabled(if: PrivateNetwork.isAvailable, "needs the permissions of root"), arguments: [false, true])
    func networkReturns(isPolled: Bool) throws {
        let failures = Mutex<[MQTTFailure]>([])
        PrivateNetwork.run {
            var options = MQTTOptions.local(1883, id: "unplugged")
            options.backoff.base = .seconds(3600)
            options.backoff.cap = .seconds(3600)
            let isUp: @Sendable () -> Bool = { PrivateNetwork.setLoopback(isUp: true) }
            if isPolled {
                guard let client = try? MQTTPolledClient(options: options) else { return }
                var driver = PolledDriver()
                driver.add(client)
                for count in 1...2 {
                    guard driver.drive(until: { $0.allSatisfy { $0.ends >= count } }) else { return }
                    failures.withLock { $0 += [client.statistics.lastFailure].compactMap { $0 } }
                    guard count == 1, client.awaitsNetwork, isUp() else { return }
                    client.networkReturned()
                }
            } else {
                guard let client = try? RecordedClient(options), (try? client.client.start()) != nil else { return }
                for count in 1...2 {
                    for _ in 0..<20_000 where client.disconnections.count < count { waitShortly() }
                    if count == 1, !isUp() { return }
                }
                failures.withLock { $0 = client.disconnections.map(\.failure) }
            }
        }
        // Nobody listens there, but there is a network.
        #expect(failures.withLock { $0 } == [.network(code: ENETUNREACH), .network(code: ECONNREFUSED)])
    }
}
