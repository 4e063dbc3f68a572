internal import JostleConfiguration
internal import JostleOperator

/// `jostle watch`: what devices publish, live in the terminal, over MQTT.
enum WatchCommand {
    static let usage = CommandUsage(
        name: "watch",
        summary: "show live what devices publish: attitude, gestures, health, over MQTT",
        details: """
            Listens at mqtt.broker. Without --device it shows the only device that the broker knows, or a list of all. A
            broker that is away or refuses is told and tried again. Of many devices it hears all but attitude and motion.

            Ctrl-C or q ends it, Ctrl-L draws everything anew. Where standard output is no terminal there are lines: one for
            each event, health report and change of state, the attitude once a second.
            """,
        options: [
            CommandUsage.Option(name: "device", value: "ID", help: "the device to watch, by its device.id"),
            CommandUsage.Option(
                name: "broker", value: "URL", help: "listen at this broker, mqtt://HOST:PORT, instead of the configured"
            ),
            CommandUsage.Option(name: "plain", help: "lines, also on a terminal"),
            CommandUsage.Option(
                name: "json", help: "every message as a line {\"topic\":…,\"retained\":…,\"payload\":…}"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "end by itself after this time"),
        ] + CommandUsage.configurationOptions)

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = ViewSignals()
        let id = arguments.value("device")
        if let id { try RemoteAsking.check(id, option: "device") }
        let isPlain = arguments.has("plain")
        if isPlain, arguments.has("json") {
            throw CommandFailure(.usage, "--plain and --json each say what to write: give one of them")
        }
        let seconds = try arguments.seconds("for")
        let broker = arguments.value("broker").map { ["mqtt.broker=\($0)"] } ?? []
        let settings = try Configuration.load(arguments, overrides: broker).settings
        let form: WatchView.Form =
            arguments.has("json") ? .json : isPlain || !TerminalScreen.isAvailable ? .lines : .screen
        let listener: WatchListener
        do throws(RemoteDeviceError) {
            listener = try WatchListener(id: id, settings: settings)
        } catch {
            throw CommandFailure(error)
        }
        let view = WatchView(listener, prefix: settings.mqtt.prefix, id: id, form: form)
        defer { listener.stop() }
        try view.run(for: seconds, signals: signals)
    }
}
