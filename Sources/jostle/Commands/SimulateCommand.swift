internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `jostle simulate`: the virtual chip on a chosen trajectory, in a run of its own or inside a running agent.
enum SimulateCommand {
    static let usage = CommandUsage(
        name: "simulate",
        summary: "move a virtual MPU-6050 as you say: try gestures, or the automations of a running agent",
        details: """
            Without --on it is a run of its own: driver, pipeline and publisher are those of the running agent, only the
            chip is made up. Messages go to mqtt.broker where one is configured, else to a private broker.

            With --on the agent ID, which runs somewhere, is asked over mqtt.broker to act as if it was moved so, once.
            Its handlers, actions and subscribers get the events, marked "simulated":true; the sensor, its gestures and
            its attitude know nothing of it. The events are printed until the movement is over.

            Trajectories:
            \(CommandUsage.table(SensorSelection.trajectories.map { ($0.name, $0.summary) }))
            or, in a run of its own, the path of a recording, which is played again and again.
            """,
        operands: [
            CommandUsage.Operand(name: "TRAJECTORY", help: "a name from the list above, or the path of a recording")
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "for", value: "SECONDS",
                help: "end by itself after this time; with --on, what does not end by itself, as walk"),
            CommandUsage.Option(name: "once", help: "end by itself after the first round of the movement"),
            CommandUsage.Option(name: "on", value: "ID", help: "let the running agent of this device.id act so"),
            CommandUsage.Option(name: "count", value: "N", help: "with --on: so many times in a row"),
        ])

    /// Seconds of rest with which every named trajectory begins: so long a run goes on after its first round.
    private static let rest = 0.9

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        var configuration = try Configuration.load(arguments)
        let settings = configuration.settings
        let trajectory = arguments.operand(0) ?? ""
        if let id = arguments.value("on") {
            try runRemotely(trajectory, on: id, arguments, settings, signals)
            return
        }
        if arguments.value("count") != nil {
            throw CommandFailure(.usage, "--count goes with --on; without, the movement is repeated anyway")
        }
        configuration.settings.sensor.driver = .virtual
        configuration.settings.sensor.trajectory = trajectory
        let seconds = try duration(of: trajectory, arguments)
        noteWhatIsNotTold(of: trajectory, settings)
        do throws(AgentError) {
            try LiveRun.run(configuration, for: seconds, signals: signals)
        } catch {
            // The configuration's fault where it stands there, but here it is a wrong word on the command line.
            if case .sensor(.unknownTrajectory) = error { throw CommandFailure(.usage, "\(error)") }
            throw CommandFailure(error)
        }
    }

    /// Says beforehand why a double tap will look like two single ones: by default nobody waits for a second.
    private static func noteWhatIsNotTold(of trajectory: String, _ settings: JostleSettings) {
        let counts: KeyValuePairs<String, TapCounts> = ["double-tap": .double, "triple-tap": .triple]
        let told = settings.motion.gestures.tap.counts
        guard let wanted = counts.first(where: { $0.key == trajectory }), told.isDisjoint(with: wanted.value) else {
            return
        }
        Output.errors(
            "jostle: single taps are told one by one; to tell them apart: --set gestures.tap.counts='[single, double, triple]'"
        )
    }

    /// How long a run of its own lasts; `nil` where a signal ends it.
    private static func duration(of trajectory: String, _ arguments: Arguments) throws(CommandFailure) -> Double? {
        let seconds = try arguments.seconds("for")
        guard arguments.has("once") else { return seconds }
        if seconds != nil { throw CommandFailure(.usage, "--once and --for each say when to end: give one of them") }
        let round: Double?
        do throws(SensorError) {
            round = try SensorSelection.roundDuration(of: trajectory)
        } catch {
            if case .unknownTrajectory = error { throw CommandFailure(.usage, "\(error)") }
            throw CommandFailure(error)
        }
        guard let round else {
            throw CommandFailure(.usage, "\(trajectory) does not end by itself: give --for and not --once")
        }
        let isNamed = SensorSelection.trajectories.contains { $0.name == trajectory }
        return isNamed ? round + rest : max(0.1, round)
    }
}
