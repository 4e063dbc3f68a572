internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `jostle demo`: the agent with everything that is missing made up, and a view of it in the terminal.
enum DemoCommand {
    static let usage = CommandUsage(
        name: "demo",
        summary: "run with a live view; without a sensor on a virtual one, without a broker on a private one",
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "for", value: "SECONDS", help: "end by itself after this time")
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
                Output.line("A virtual MPU-6050 takes its place.")
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

/// The agent with a view of it in the terminal.
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
