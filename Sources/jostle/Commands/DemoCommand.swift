internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `jostle demo`: the agent with a live view; substitutes a missing sensor, and does not disturb the service.
enum DemoCommand {
    static let usage = CommandUsage(
        name: "demo",
        summary: "run with a live view; on a virtual sensor if there is none, with a private broker",
        details: """
            A demonstration does not disturb the service on the same board: it has an id of its own, demo-…, a private
            broker, temporary state, no actions and no Home Assistant discovery. Sensor, attitude and gestures are those
            of the configuration of this board. If the chip is missing or in use, a virtual one replaces it.

            With --broker or --set mqtt.broker=URL it publishes there; with --config FILE, everything but the id is that
            of the file. Ctrl-C or q stops it. Without a terminal it prints lines.
            """,
        options: CommandUsage.configurationOptions + [
            BrokerArgument.option,
            CommandUsage.Option(name: "for", value: "SECONDS", help: "stop after this time"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let seconds = try arguments.seconds("for")
        var configuration = try DemoConfiguration.load(arguments)
        let isTold = configuration.loaded.isArgument("sensor.driver")
        if let reason = DemoSensor.substitute(in: &configuration.loaded, isTold: isTold) {
            configuration.notes += ["No sensor: \(reason).", "Using a virtual MPU-6050 instead."]
        }
        try LiveRun.run(configuration, for: seconds, signals: signals)
    }
}

/// Runs the agent with a view in the terminal and a temporary state directory.
enum LiveRun {
    static func run(
        _ configuration: DemoConfiguration, for seconds: Double?, signals: SignalWaiter
    ) throws(CommandFailure) {
        let loaded = configuration.loaded
        for note in configuration.notes { Output.line(Glyphs.ofTerminal.clean(note)) }
        let state = try RunState(nil, name: "demo")
        defer { state.remove() }
        let view = LiveView(prefix: loaded.settings.mqtt.prefix, notes: configuration.notes)
        do throws(AgentError) {
            let agent = try Agent(
                configuration: loaded, version: version, stateDirectory: state.path,
                log: Log(level: min(.warning, loaded.settings.log.level.logLevel)), observer: view.observer)
            view.begin(agent: agent, isPrivate: loaded.settings.mqtt.broker == .embedded)
            defer { view.end() }
            try agent.run(for: seconds, signals: signals)
        } catch {
            throw CommandFailure(error)
        }
    }
}
