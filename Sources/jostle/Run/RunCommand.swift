internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem

/// `jostle run`: the agent, as a service.
enum RunCommand {
    static let usage = CommandUsage(
        name: "run", summary: "read the sensor and publish attitude and gestures, until stopped by a signal",
        details: """
            Without --config the configuration is $JOSTLE_CONFIG, else /etc/jostle/jostle.yaml, else the built-in
            defaults; without mqtt.broker the broker is the one on this machine. If several agents run on a board, each
            has its name in $JOSTLE_INSTANCE: the instance left reads /etc/jostle/left.yaml and has -left in its default
            device.id.

            Without a terminal, as a service, SIGHUP makes it read the configuration again.
            """,
        options: CommandUsage.configurationOptions + [Option("for", value: "SECONDS", help: "stop after this time")])

    static func run(_ arguments: Arguments) throws {
        let configuration = try Configuration.load(arguments, boardFile: .replaceable)
        let seconds = try arguments.seconds("for")
        // Until here, a signal ends the program: a configuration may be a pipe that delivers nothing.
        let signals = SignalWaiter(mayReload: true)
        let agent = try Agent(
            configuration: configuration, version: version, stateDirectory: Configuration.stateDirectory,
            log: Log(level: configuration.settings.log.level, keepsLines: true),
            readAgain: Configuration.reading(arguments))
        if case .restart = try agent.run(for: seconds, signals: signals) {
            throw Failure(.temporary, "restarting, as requested over MQTT")
        }
    }
}
