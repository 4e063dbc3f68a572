import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// A broker, an observer of all its topics, and a running agent `dut` on a virtual chip, to which commands can be sent.
final class AgentRig {
    let broker: TestBroker
    let observer: Observer
    let agent: JostleProgram
    private let rig = Rig()

    /// Starts all three, with additional settings for the agent, and waits until the agent is online.
    convenience init(_ trajectory: String = "rest", _ settings: String..., state: String? = nil) async throws {
        try await self.init(trajectory, settings, state: state)
    }

    private init(_ trajectory: String, _ settings: [String], state: String?) async throws {
        (broker, observer, agent) = try await rig.observedAgent(trajectory, settings, state: state)
    }

    /// Sends the agent a command.
    func send(_ name: String, _ arguments: String = "", change: (inout MQTTMessage) -> Void = { _ in }) throws {
        var message = MQTTMessage(topic: "jostle/dut/command/\(name)", text: arguments, qos: .atLeastOnce)
        change(&message)
        try observer.publish(message)
    }

    /// All replies to a command so far.
    func results(_ name: String) throws -> [[String: Any]] { try observer.objects("command/\(name)/result") }

    /// Waits for a reply to a command that satisfies a condition.
    func replies(
        _ name: String, within limit: Duration = patience, _ condition: ([String: Any]) -> Bool
    ) async -> Bool {
        await observer.sees(within: limit) { try $0.objects("command/\(name)/result").contains(where: condition) }
    }

    /// Waits until the agent has published a measurement.
    func measures() async -> Bool { await observer.sees { !$0.messages("attitude").isEmpty } }

    /// All three, with an agent that has published a measurement.
    static func measuring(
        _ trajectory: String = "rest", _ settings: String..., state: String? = nil
    ) async throws -> AgentRig {
        let rig = try await AgentRig(trajectory, settings, state: state)
        try #require(await rig.measures(), "\(rig.agent.errors)")
        return rig
    }
}
