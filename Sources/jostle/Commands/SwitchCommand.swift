internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle stop` and `jostle start`: a running agent's sensing is switched off and on.
enum SwitchCommand {
    static let stopUsage = usage(
        "stop", summary: "let a running agent's chip sleep, with nothing polled, until jostle start",
        details: """
            Gestures under way are cancelled with the reason "stopped". The agent stays online, and its state and health
            say that it is stopped.
            """)

    static let startUsage = usage(
        "start", summary: "let a running agent sense again after jostle stop",
        details: "The attitude begins anew, as at the agent's start.")

    /// Seconds within which the agent has to answer: a chip that is stuck on its bus is given up after one.
    private static let answerTime = 5.0

    private static func usage(_ name: String, summary: String, details: String) -> CommandUsage {
        CommandUsage(
            name: name, summary: summary,
            details: """
                The agent is asked over mqtt.broker: the one of this machine and configuration, or the one that --on names.
                \(details)
                It lasts until the agent is started the next time; then sensor.enabled of its configuration decides.
                """,
            options: CommandUsage.configurationOptions + [
                CommandUsage.Option(name: "on", value: "ID", help: "the agent of this device.id, wherever it runs")
            ])
    }

    static func stop(_ arguments: Arguments) throws(CommandFailure) {
        try ask("stop", arguments, done: "stopped", nothingToDo: "stopped already")
    }

    static func start(_ arguments: Arguments) throws(CommandFailure) {
        try ask("start", arguments, done: "sensing", nothingToDo: "sensing already")
    }

    private static func ask(
        _ command: String, _ arguments: Arguments, done: String, nothingToDo: String
    ) throws(CommandFailure) {
        let signals = SignalWaiter()
        let settings = try Configuration.load(arguments).settings
        let id = arguments.value("on") ?? settings.device.id ?? DeviceName.ofThisMachine()
        try RemoteAsking.check(id)
        let answer: RemoteAnswer
        do throws(RemoteDeviceError) {
            let device = try RemoteDevice(id: id, settings: settings)
            answer = try device.ask(command, JSONObject(), within: answerTime, signals: signals)
        } catch {
            throw CommandFailure(error)
        }
        guard answer.isAccepted else { throw CommandFailure(refusal: answer) }
        Output.line("\(id): \(answer.text("changed") == "false" ? nothingToDo : done)")
    }
}
