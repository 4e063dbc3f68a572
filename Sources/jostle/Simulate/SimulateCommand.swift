internal import Documents
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle simulate`: moves a virtual chip along a chosen trajectory, in its own process or inside a running agent.
enum SimulateCommand {
    static let usage = CommandUsage(
        name: "simulate",
        summary: "move a virtual MPU-6050, to try gestures or the automations of a running agent",
        details: """
            Without --on, the command runs an agent of its own with the ordinary driver, pipeline and publisher; only
            the chip is virtual. As jostle demo, it has an id of its own, temporary state and a private broker, unless
            --broker, --set or --config says otherwise.

            With --on, the running agent ID is asked over mqtt.broker to simulate the movement once. Its handlers,
            actions and subscribers get the events, marked "simulated":true; its sensor, real gestures and attitude are
            not affected. The events are printed until the movement is over.

            Trajectories:
            \(CommandUsage.table(SensorSelection.trajectories.map { ($0.name, $0.summary) }))
            or, without --on, the path of a recording, which is played repeatedly.
            """,
        operands: [
            Operand(
                "TRAJECTORY", help: "a name from the list above, or the path of a recording",
                suggestions: .wordsOrFiles(SensorSelection.trajectories.map { $0.name }))
        ],
        options: CommandUsage.configurationOptions + [
            Option(
                "for", value: "SECONDS",
                help: "stop after this time; with --on, the duration of a movement without an end, such as walk"),
            Option("once", help: "stop after the first round of the movement"),
            Option("on", value: "ID", help: "simulate inside the running agent with this device.id"),
            Option("count", value: "N", help: "with --on: repeat the movement N times"),
            BrokerArgument.option,
        ])

    /// Seconds of rest at the beginning of every named trajectory; a run continues for as long after its first round.
    private static let rest = 0.9

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let trajectory = arguments.operand(0) ?? ""
        if arguments.has("on") { return try runRemotely(trajectory, arguments, signals) }
        if arguments.value("count") != nil {
            throw Failure(.usage, "--count needs --on; without --on the movement is repeated anyway")
        }
        var configuration = try DemoConfiguration.load(arguments)
        configuration.loaded.settings.sensor.driver = .virtual
        configuration.loaded.settings.sensor.trajectory = trajectory
        configuration.loaded.settings.imu.assumedIdentity = nil
        // In a configuration an unknown trajectory is a configuration error; here it is a wrong operand.
        let round = try loopDuration(of: trajectory)
        let seconds = try duration(of: trajectory, round, arguments)
        warnAboutTapCounts(for: trajectory, configuration.loaded.settings)
        try LiveRun.run(configuration, for: seconds, signals: signals)
    }

    /// Warns that a double tap will be reported as two single taps, which is the default.
    private static func warnAboutTapCounts(for trajectory: String, _ settings: JostleSettings) {
        let counts: KeyValuePairs<String, TapCounts> = ["double-tap": .double, "triple-tap": .triple]
        let configured = settings.motion.gestures.tap.counts
        guard let wanted = counts.first(where: { $0.key == trajectory }), configured.isDisjoint(with: wanted.value)
        else {
            return
        }
        Output.warn(
            "every tap is reported as a single one; to distinguish them: --set gestures.tap.counts='[single, double, triple]'"
        )
    }

    /// The duration of a round of the movement; `nil` if it has no end.
    private static func loopDuration(of trajectory: String) throws -> Double? {
        do {
            return try SensorSelection.loopDuration(of: trajectory)
        } catch {
            if case .unknownTrajectory = error { throw Failure(.usage, error.withSuggestion) }
            throw error
        }
    }

    /// The duration of a run without `--on`; `nil` if only a signal ends it.
    private static func duration(of trajectory: String, _ round: Double?, _ arguments: Arguments) throws -> Double? {
        try arguments.exclude("once", "for")
        guard arguments.has("once") else { return try arguments.seconds("for") }
        guard let round else {
            throw Failure(.usage, "\(trajectory) has no end: use --for instead of --once")
        }
        let isNamed = SensorSelection.trajectories.contains { $0.name == trajectory }
        return isNamed ? round + rest : max(0.1, round)
    }
}

/// `jostle simulate --on`: asks a running agent to simulate a movement, and prints the resulting events.
extension SimulateCommand {
    /// Seconds within which the agent must answer.
    private static let answerTime = 5.0

    /// Seconds that a message may take.
    private static let latency = 0.3

    /// Seconds to wait for the end of a gesture after the movement; the agent itself cancels it sooner.
    private static let patience = 20.0

    static func runRemotely(_ movement: String, _ arguments: Arguments, _ signals: SignalWaiter) throws {
        if arguments.has("once") {
            throw Failure(.usage, "with --on, a movement is made only once; use --count N to repeat it")
        }
        var request = JSONObject()
        request.add("movement", movement)
        request.add("count", try arguments.count("count", within: SimulatedMovement.counts).map { Int64($0) })
        request.add("seconds", try arguments.seconds("for"), decimals: 3)

        let device = try RemoteDevice(arguments)
        let answer = try device.carryOut("simulate", request, within: answerTime, signals: signals)
        let seconds = waitingTime(announced: answer.number("seconds"))
        Output.line("\(device.id): \(answer.text("movement") ?? movement), takes \(decimal(seconds, 1)) s")
        if let beside = answer.text("beside") {
            Output.warn(
                "the sensor of \(device.id) is virtual and moves by itself, along \(ForeignText.excerpt(beside)): its events are "
                    + "among these; to leave them out, give it sensor.trajectory: rest")
        }
        Output.flush()
        printEvents(of: device, for: seconds, signals)
    }

    /// The duration that the device announces, within what a movement can take: an answer may contain anything.
    static func waitingTime(announced seconds: Double?) -> Double {
        guard let seconds, seconds > 0 else { return 0 }
        return min(seconds, SimulatedMovement.maximumDuration)
    }

    /// Prints the events until the movement is over and every open gesture has ended.
    private static func printEvents(of device: RemoteDevice, for seconds: Double, _ signals: SignalWaiter) {
        let start = WallClock.monotonic
        var open: Set<String> = []
        var simulated = 0
        while true {
            let time = WallClock.monotonic.seconds(since: start)
            let taken = device.takeEvents()
            if taken.dropped > 0 {
                Output.warn("events arrived too fast, or were too long: \(taken.dropped) are not shown")
            }
            for (event, json) in taken.events {
                Output.line(
                    "\(formatted(time, "%7.1f")) s  \(event.gesture) \(event.phase)  \(ForeignText.json(json))")
                Output.flush()
                guard event.isSimulated else { continue }
                simulated += 1
                switch event.phase {
                case "began": open.insert(event.gesture)
                case "ended", "cancelled": open.remove(event.gesture)
                default: break
                }
            }
            let isOver = time >= seconds + latency && open.isEmpty || time >= seconds + patience
            if isOver || signals.wait(seconds: 0.02) { break }
        }
        if simulated == 0 { Output.line("No gesture was recognised.") }
        if !open.isEmpty { Output.line("Not ended: \(open.sorted().joined(separator: ", "))") }
    }
}
