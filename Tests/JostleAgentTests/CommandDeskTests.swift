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
    private let desk: CommandDesk

    init() {
        let outgoing = outgoing
        desk = CommandDesk(
            topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", manager: manager, log: Log(level: .error)
        ) { message, _ in
            outgoing.messages.withLock { $0.append(message) }
            return true
        }
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
        try manager.start()
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
}
