import BrokerTestSupport
import MosquittoClient
import Synchronization
import Testing

/// The end of a client, intended or not: what the broker publishes, and how long it takes.
@Suite(.serialized, .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct StopTests {
    private let rig = Rig()
    private let broker: TestBroker

    init() async throws {
        broker = try await rig.broker()
    }

    @Test("The will is published when the connection is cut, and the client reconnects")
    func will() async throws {
        var options = MQTTOptions.local(broker.port, id: "mortal")
        options.will = MQTTMessage(topic: "mortal/availability", text: "offline", qos: .atLeastOnce, retain: true)
        let client = try await RecordedClient.connected(options)
        #expect(Loopback.cutConnections(to: broker.port) == 1)
        #expect(await eventually { client.connections.count == 2 })
        let observer = try await RecordedClient.connected(
            .local(broker.port, id: "observer"), subscribingTo: ["mortal/#"])
        #expect(await eventually { observer.messages.map(\.text) == ["offline"] })
    }

    @Test("A client that stops gracefully publishes its farewell, and its will is not published")
    func farewell() async throws {
        let observer = try await RecordedClient.connected(.local(broker.port, id: "observer"), subscribingTo: ["#"])
        for round in 0..<10 {
            var options = MQTTOptions.local(broker.port, id: "polite")
            options.will = MQTTMessage(topic: "will", text: "\(round)", qos: .atLeastOnce)
            // Unread data at the moment of the disconnect turns a careless close into a reset.
            let client = try await RecordedClient.connected(options, subscribingTo: ["chatter"])
            for _ in 0..<20 { try observer.client.publish(MQTTMessage(topic: "chatter", text: "")) }
            let farewell = MQTTMessage(topic: "farewell", text: "\(round)", qos: .atLeastOnce)
            #expect(client.client.stop(within: .seconds(10), farewell: farewell) == .stopped(undelivered: 0))
        }
        try observer.publish("end")
        #expect(await eventually { observer.messages.contains { $0.topic == "end" } })
        #expect(observer.messages.filter { $0.topic == "farewell" }.map(\.text) == (0..<10).map { "\($0)" })
        #expect(!observer.messages.contains { $0.topic == "will" })
    }

    @Test("If the farewell cannot be delivered, stop keeps its deadline and the will is published")
    func frozenBroker() async throws {
        let observer = try await RecordedClient.connected(.local(broker.port, id: "observer"), subscribingTo: ["will"])
        var options = MQTTOptions.local(broker.port, id: "hurried")
        options.will = MQTTMessage(topic: "will", text: "gone", qos: .atLeastOnce)
        let client = try await RecordedClient.connected(options)
        broker.freeze()
        for number in 0..<3 { try client.publish("x", token: number) }
        let start = ContinuousClock.now
        let result = client.client.stop(farewell: MQTTMessage(topic: "bye", text: "", qos: .atLeastOnce))
        // The deadline is one second; the keep-alive would end the connection only at 21 s.
        #expect(start.duration(to: .now) < .seconds(10))
        #expect(result == .stopped(undelivered: 4))
        #expect(client.stopped == [[0, 1, 2]])
        broker.thaw()
        #expect(await eventually { observer.messages.map(\.text) == ["gone"] })
    }

    /// Without that, the status that the farewell should have changed would stay for ever.
    @Test("If the broker refuses the farewell, the will is published")
    func refusedFarewell() async throws {
        let broker = try await rig.broker(rules: "topic readwrite will\n")
        let observer = try await RecordedClient.connected(.local(broker.port, id: "observer"), subscribingTo: ["will"])
        var options = MQTTOptions.local(broker.port, id: "refused")
        options.will = MQTTMessage(topic: "will", text: "gone", qos: .atLeastOnce)
        let client = try await RecordedClient.connected(options)
        let farewell = MQTTMessage(topic: "bye", text: "", qos: .atLeastOnce)
        #expect(client.client.stop(within: .seconds(2), farewell: farewell) == .stopped(undelivered: 0))
        #expect(await eventually { observer.messages.map(\.text) == ["gone"] })
    }

    @Test("A stuck thread is detached at the deadline, reports nothing from then on, and ends by itself")
    func stuckThread() async throws {
        let stuck = try StuckClient(.local(broker.port, id: "stuck"))
        let client = stuck.client
        #expect(try await stuck.start())
        #expect(client.stop(within: .milliseconds(200)) == .detached)
        let count = stuck.log.all { $0 }.count
        stuck.release()
        #expect(await eventually { Loopback.connections(to: broker.port).isEmpty })
        #expect(stuck.log.all { $0 }.count == count)
        #expect(client.stop() == .stopping)
    }

    @Test("stop within the event handler does not wait for itself")
    func stopInHandler() async throws {
        let holder = Mutex<MQTTClient?>(nil)
        let results = Mutex<[MQTTStopResult]>([])
        let log = EventLog()
        let client = try MQTTClient(options: .local(broker.port, id: "inside")) { event in
            log.append(event)
            guard case .connected = event, let client = holder.withLock({ $0 }) else { return }
            let result = client.stop()
            results.withLock { $0.append(result) }
        }
        holder.withLock { $0 = client }
        try client.start()
        #expect(await eventually { log.hasStopped })
        #expect(results.withLock { $0 } == [.stopping])
        holder.withLock { $0 = nil }
    }

    @Test("A deallocated client ends by itself")
    func forgotten() async throws {
        let log = EventLog()
        do {
            let client = try MQTTClient(options: .local(broker.port, id: "forgotten")) { log.append($0) }
            try client.start()
            #expect(await eventually { client.statistics.connects == 1 })
        }
        #expect(await eventually { log.hasStopped })
    }
}

extension EventLog {
    /// Whether the client has reported its end.
    fileprivate var hasStopped: Bool { !all { if case .stopped = $0 { true } else { nil } }.isEmpty }
}
