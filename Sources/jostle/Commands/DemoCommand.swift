internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `jostle demo`: the agent with a view in the terminal; substitutes a missing sensor or broker.
enum DemoCommand {
    static let usage = CommandUsage(
        name: "demo",
        summary: "run with a live view; on a virtual sensor or a private broker if there is none",
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "for", value: "SECONDS", help: "stop after this time")
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        var configuration = try Configuration.load(arguments)
        let settings = configuration.settings
        let seconds = try arguments.seconds("for")
        if settings.sensor.driver == .automatic {
            let scan = SensorScan(bus: settings.sensor.bus, address: settings.sensor.address)
            if scan.choice == nil, scan.kernelChoice == nil, settings.sensor.device == nil {
                Output.line("No sensor: \(scan.explanation(in: .agent)).")
                Output.line("Using a virtual MPU-6050 instead.")
                configuration.settings.sensor.driver = .virtual
            }
        }
        do throws(AgentError) {
            try LiveRun.run(configuration, for: seconds, signals: signals)
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// Runs the agent with a view in the terminal.
enum LiveRun {
    static func run(
        _ configuration: LoadedConfiguration, for seconds: Double?, signals: SignalWaiter
    ) throws(AgentError) {
        var configuration = configuration
        if configuration.settings.mqtt.broker == nil { configuration.settings.mqtt.broker = .embedded }
        let view = TerminalView()
        let agent = try Agent(
            configuration: configuration, version: version, stateDirectory: Configuration.stateDirectory,
            log: Log(level: min(.warning, configuration.settings.log.level.logLevel)), observer: view.observer)
        view.begin(agent: agent)
        try agent.run(for: seconds, signals: signals)
        view.end()
    }
}
