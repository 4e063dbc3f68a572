import BrokerTestSupport
import Foundation
import Testing

extension JostleProgram {
    /// A running agent called `dut`, with additional settings. It ends after two minutes at the latest, and its state
    /// is deleted unless a state directory is given.
    static func agent(
        broker port: UInt16, _ settings: [String], fake: (path: String, options: String)? = nil, state: String? = nil,
        environment: [String: String] = [:]
    ) throws -> JostleProgram {
        let all = ["device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(port)", "log.level=debug"] + settings
        var environment = environment
        if let state { environment["STATE_DIRECTORY"] = state }
        return try JostleProgram(
            ["run", "--for", "120"] + all.flatMap { ["--set", $0] }, environment: environment, fake: fake)
    }

    /// A running agent on the virtual sensor, moved along a trajectory.
    ///
    /// The low rate gives the FIFO a second of slack on a machine that is busy with other tests.
    static func virtualAgent(broker port: UInt16, _ trajectory: String, _ settings: String...) throws -> JostleProgram {
        try virtualAgent(broker: port, trajectory, settings)
    }

    static func virtualAgent(
        broker port: UInt16, _ trajectory: String, _ settings: [String], state: String? = nil,
        environment: [String: String] = [:]
    ) throws -> JostleProgram {
        try agent(
            broker: port, ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"] + settings,
            state: state, environment: environment)
    }

    /// Stops the agent as systemd does, and waits. Whatever the broker does, this takes little more than a second on an
    /// idle machine.
    func terminate() async -> Int32? {
        signal(SIGTERM)
        return await exitStatus(within: .seconds(20))
    }
}
