import BrokerTestSupport
import LinuxSystem
import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: a program that needs only the newest message of a topic is not woken for each, and loses nothing else by them.
@Suite(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed")) struct BrokerViewTests {
    private let rig = Rig()

    @Test("Newest messages wake nobody until they take a quarter of the room")
    func newestMessages() async throws {
        let broker = try await rig.broker()
        let options = MQTTOptions(
            brokers: [BrokerAddress(host: "127.0.0.1", port: broker.port)], clientID: "view")
        let view = try BrokerView(options, capacity: 8000)
        defer { view.stop() }
        view.keepNewest(ofTopicsEndingWith: "/attitude")
        try view.subscribe(to: [.init("#", isReliable: true)])
        try view.start()
        try #require(await eventually { view.status.isConnected && view.status.pending.isEmpty })
        _ = view.takeReports()
        view.wake.clear()

        func send(_ topic: String, bytes: Int = 300) throws {
            try view.send(MQTTMessage(topic: topic, payload: Array(repeating: 0, count: bytes), qos: .atLeastOnce))
        }
        // Of each of two boards, the newest of three.
        for number in 0..<6 { try send("\(number % 2)/attitude") }
        #expect(!view.wake.isSignalled(within: 0.5))
        for number in 2..<4 { try send("\(number)/attitude") }
        #expect(view.wake.isSignalled(within: 5))
        // What is dropped does not count as kept.
        try send("4/attitude", bytes: 8000)
        try send("end", bytes: 0)
        var reports: [BrokerView.Report] = []
        var dropped = 0
        let isComplete = await eventually {
            let taken = view.takeReports()
            reports += taken.reports
            dropped += taken.dropped
            return !reports.isEmpty
        }
        #expect(isComplete && dropped == 1)
        let newest = view.takeNewest()
        #expect(newest.count == 8 && newest.messages.count == 4)
    }
}
