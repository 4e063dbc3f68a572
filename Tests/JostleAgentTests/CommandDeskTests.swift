import BrokerTestSupport
import IMUDrivers
import JostleConfiguration
import MosquittoClient
import MotionKit
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: every command is answered, and what is asked of a device that cannot do it is refused with the reason.
@Suite(.timeLimit(.minutes(1))) struct CommandDeskTests {
    private final class Outgoing: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
    }

    private let manager = MotionManager(sensor: .virtual("rest"))
    private let outgoing = Outgoing()
    private let sensor: SensorSwitch
    private let desk: CommandDesk

    init() throws {
        let outgoing = outgoing
        let topics = Topics(prefix: "jostle", id: "a")
        let send: Publisher.Send = { message, _ in
            outgoing.messages.withLock { $0.append(message) }
            return true
        }
        let publisher = Publisher(
            topics: topics, publish: JostleSettings().publish, run: "f00d", isSimulated: true,
            outbox: try #require(OutboxCourier.inMemory(send)), send: send)
        let health = HealthReporter(version: "0", interval: 60, bell: try #require(Bell()))
        sensor = SensorSwitch(
            manager: manager, selection: .virtual("rest"), imu: IMUSettings(), device: nil, publisher: publisher,
            health: health)
        desk = CommandDesk(
            topics: topics, prefix: "jostle", host: CommandHost(sensor: sensor), log: Log(level: .error), send: send)
    }

    /// Sends a command, and returns the text of its answer.
    private func answer(to name: String, _ arguments: String) throws -> String {
        outgoing.messages.withLock { $0 = [] }
        desk.take(MQTTMessage(topic: "jostle/a/command/\(name)", text: arguments, qos: .atLeastOnce))
        let messages = outgoing.messages.withLock { $0 }
        #expect(messages.map(\.topic) == ["jostle/a/command/\(name)/result"])
        return String(decoding: try #require(messages.first).payload, as: UTF8.self)
    }

    @Test func aSimulationIsAcceptedAtOnceAndAnotherMeanwhileIsNot() throws {
        #expect(try sensor.start())
        defer { manager.stop() }
        let accepted = try answer(to: "simulate", "{\"movement\":\"shake\"}")
        #expect(accepted.contains("\"ok\":true,\"movement\":\"shake\",\"count\":1,\"seconds\":3."), "\(accepted)")
        let refused = try answer(to: "simulate", "{\"movement\":\"tap\"}")
        #expect(
            refused.contains("\"ok\":false,\"error\":\"busy\",\"message\":\"shake is being simulated"), "\(refused)")
        let unknown = try answer(to: "simulate", "{\"movement\":\"moonwalk\"}")
        #expect(unknown.contains("\"error\":\"bad_arguments\"") && unknown.contains("double-tap"), "\(unknown)")
    }

    @Test func withoutASensorThatRunsThereIsNothingToCommand() throws {
        for (name, arguments) in [("simulate", "{\"movement\":\"shake\"}"), ("tare", "")] {
            let refused = try answer(to: name, arguments)
            #expect(refused.contains("\"ok\":false,\"error\":\"sensor_unavailable\""), "\(refused)")
        }
    }

    /// What is switched off is switched on again, any number of times, and who asks twice is told that it was so.
    @Test func sensingIsStoppedAndStarted() async throws {
        #expect(sensor.isStopped && sensor.title == nil)
        defer { manager.stop() }
        for _ in 1...3 {
            #expect(try answer(to: "start", "").contains("\"ok\":true,\"stopped\":false,\"changed\":true}"))
            #expect(try answer(to: "start", "{}").contains("\"stopped\":false,\"changed\":false}"))
            #expect(await eventually { manager.state != nil })
            #expect(try answer(to: "stop", "{}").contains("\"ok\":true,\"stopped\":true,\"changed\":true}"))
            #expect(try answer(to: "stop", "").contains("\"stopped\":true,\"changed\":false}"))
            #expect(!manager.isRunning && manager.lastSensorStatus?.state == .asleep)
            let refused = try answer(to: "tare", "")
            #expect(refused.contains("\"error\":\"sensor_unavailable\",\"message\":\"sensing is stopped"), "\(refused)")
        }
        let refused = try answer(to: "stop", "{\"for\":5}")
        #expect(refused.contains("stop has no argument \\\"for\\\"; it has none"), "\(refused)")
    }
}
