internal import JostleAgent
internal import JostleConfiguration
internal import MotionKit

/// `jostle simulate`: the virtual chip on a chosen trajectory.
enum SimulateCommand {
    static let usage = CommandUsage(
        name: "simulate", summary: "run on a virtual MPU-6050 that moves as you say: try a shake without hardware",
        details: """
            Driver, pipeline and publisher are those of the running agent; only the chip is made up. Messages go to
            mqtt.broker where one is configured, else to a private broker.

            Trajectories:
            \(CommandUsage.table(SensorSelection.trajectories.map { ($0.name, $0.summary) }))
            or the path of a recording, which is played again and again.
            """,
        operands: [
            CommandUsage.Operand(name: "TRAJECTORY", help: "a name from the list above, or the path of a recording")
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "for", value: "SECONDS", help: "end by itself after this time")
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        var settings = try Configuration.load(arguments).settings
        settings.sensor.driver = .virtual
        if let trajectory = arguments.operand(0) { settings.sensor.trajectory = trajectory }
        let seconds = try arguments.seconds("for")
        do throws(AgentError) {
            try LiveRun.run(settings, for: seconds, signals: signals)
        } catch {
            // The configuration's fault where it stands there, but here it is a wrong word on the command line.
            if case .sensor(.unknownTrajectory) = error { throw CommandFailure(.usage, "\(error)") }
            throw CommandFailure(error)
        }
    }
}
