import MosquittoClient
import MotionCore
import MotionKit
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: near misses are published while somebody wants them, few a second, and never before events.
@Suite struct NearMissPublisherTests {
    private final class Network: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
        let backlog = Mutex(0)
        let isConnected = Mutex(true)

        var output: StreamOutput {
            StreamOutput(
                topic: "jostle/a/near-miss",
                send: { message in
                    guard self.isConnected.withLock({ $0 }) else { return false }
                    self.messages.withLock { $0.append(message) }
                    return true
                }, backlog: { self.backlog.withLock { $0 } })
        }

        var count: Int { messages.withLock { $0.count } }
    }

    private let network = Network()

    private func miss(at seconds: Double, _ gesture: Gesture = .shake) -> NearMiss {
        NearMiss(gesture, .tooWeak, at: Timestamp(seconds: seconds), value: 3, limit: 5)
    }

    @Test func publishesOnItsTopicWithoutRetaining() throws {
        NearMissSender(output: network.output, isSimulated: true).send(miss(at: 10))
        let message = try #require(network.messages.withLock { $0.first })
        #expect(message.topic == "jostle/a/near-miss" && message.qos == .atMostOnce && !message.retain)
        let text = String(decoding: message.payload, as: UTF8.self)
        #expect(text.contains("\"gesture\":\"shake\"") && text.hasSuffix("\"simulated\":true}"), "\(text)")
    }

    /// Two of a gesture, then one a second; five of all, then five a second.
    @Test func limitsRate() {
        let sender = NearMissSender(output: network.output, isSimulated: false)
        for index in 0..<100 { sender.send(miss(at: 10 + 0.001 * Double(index))) }
        #expect(network.count == 2)
        for index in 1...1000 { sender.send(miss(at: 10.1 + 0.01 * Double(index))) }
        #expect((11...13).contains(network.count), "\(network.count)")

        let before = network.count
        for index in 0..<100 { sender.send(miss(at: 30 + 0.001 * Double(index), Gesture.allCases[index % 10])) }
        #expect(network.count == before + 5)
        for index in 1...1000 { sender.send(miss(at: 30.1 + 0.01 * Double(index), Gesture.allCases[index % 10])) }
        #expect((54...56).contains(network.count - before), "\(network.count - before)")
    }

    /// Each swing of a shake is almost an impact: that must not keep the shake itself away.
    @Test func oneGestureDoesNotDisplaceAnother() {
        let sender = NearMissSender(output: network.output, isSimulated: false)
        for index in 0..<20 { sender.send(miss(at: 10 + 0.05 * Double(index), .impact)) }
        sender.send(miss(at: 11, .shake))
        let last = network.messages.withLock { $0.last.map { String(decoding: $0.payload, as: UTF8.self) } }
        #expect(last?.contains("\"gesture\":\"shake\"") == true)
    }

    @Test func marksSimulatedMovements() {
        let sender = NearMissSender(output: network.output, isSimulated: false)
        var simulated = miss(at: 10)
        simulated.isSimulated = true
        sender.send(simulated)
        sender.send(miss(at: 11))
        let texts = network.messages.withLock { $0.map { String(decoding: $0.payload, as: UTF8.self) } }
        #expect(texts.map { $0.contains("\"simulated\":true") } == [true, false])
    }

    /// What cannot be sent now is not sent later.
    @Test func givesWayToEventsAndQueuesNothing() {
        let sender = NearMissSender(output: network.output, isSimulated: false)
        network.backlog.withLock { $0 = StreamOutput.maximumBacklog + 1 }
        sender.send(miss(at: 10))
        network.backlog.withLock { $0 = StreamOutput.maximumBacklog }
        network.isConnected.withLock { $0 = false }
        sender.send(miss(at: 20))
        #expect(network.count == 0)
        network.isConnected.withLock { $0 = true }
        sender.send(miss(at: 30))
        #expect(network.count == 1)
    }

    @Test func isActiveWhileSomebodyWantsIt() {
        let manager = MotionManager(sensor: .virtual("rest"))
        let publisher = NearMissPublisher(manager: manager, output: network.output, isSimulated: false)
        #expect(!publisher.isActive)
        publisher.set(.stream, to: true)
        #expect(publisher.isActive)
        publisher.set(.configuration, to: true)
        publisher.set(.stream, to: false)
        #expect(publisher.isActive)
        publisher.set(.configuration, to: false)
        #expect(!publisher.isActive)
        publisher.set(.configuration, to: false)
        #expect(!publisher.isActive)
    }
}
