internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

/// `jostle watch`: shows what devices publish over MQTT, live in the terminal.
enum WatchCommand {
    static let usage = CommandUsage(
        name: "watch",
        summary: "show live what devices publish over MQTT: attitude, gestures, health",
        details: """
            Subscribes at mqtt.broker. Without --device it shows the only device at the broker, or a list of all. It
            reports a lost or refused connection and tries again. For many devices it leaves out attitude and motion.

            Ctrl-C or q quits, Ctrl-L redraws the screen. If standard output is not a terminal, it prints lines: one for
            each event, health report and change of state, and the attitude once a second.
            """,
        options: [
            CommandUsage.Option(name: "device", value: "ID", help: "the device to watch, by its device.id"),
            BrokerArgument.option,
            CommandUsage.Option(name: "plain", help: "print lines, also on a terminal"),
            CommandUsage.Option(
                name: "json", help: "print every message as a line {\"topic\":…,\"retained\":…,\"payload\":…}"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "stop after this time"),
        ] + CommandUsage.configurationOptions)

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = ViewSignals()
        let id = arguments.value("device")
        if let id { try DeviceIDArgument.check(id, option: "device") }
        let isPlain = arguments.has("plain")
        if isPlain, arguments.has("json") {
            throw CommandFailure(.usage, "--plain and --json exclude each other")
        }
        let seconds = try arguments.seconds("for")
        let settings = try Configuration.load(arguments, overrides: BrokerArgument.overrides(arguments)).settings
        let format: WatchView.Format =
            arguments.has("json") ? .json : isPlain || !TerminalScreen.isAvailable ? .lines : .screen
        let listener: WatchListener
        do throws(RemoteDeviceError) {
            listener = try WatchListener(id: id, settings: settings)
        } catch {
            throw CommandFailure(error)
        }
        let view = WatchView(listener, prefix: settings.mqtt.prefix, id: id, format: format)
        defer { listener.stop() }
        try view.run(for: seconds, signals: signals)
    }
}
