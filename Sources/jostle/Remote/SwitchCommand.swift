internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// `jostle stop` and `jostle start`: switch a running agent's sensing off and on.
enum SwitchCommand {
    static let stopUsage = usage(
        "stop", summary: "stop a running agent's sensing and put its chip to sleep, until jostle start",
        details: """
            Open gestures are cancelled with the reason "stopped". The agent stays online, and its state and health show
            that it is stopped.
            """)

    static let startUsage = usage(
        "start", summary: "resume a running agent's sensing after jostle stop",
        details: "The attitude starts from scratch, as at the agent's start.")

    /// Seconds within which the agent must answer; the agent itself gives up on a stuck bus after one second.
    private static let answerTime = 5.0

    private static func usage(_ name: String, summary: String, details: String) -> CommandUsage {
        CommandUsage(
            name: name, summary: summary,
            details: """
                The command is sent over mqtt.broker to this machine's agent, or to the one that --on names.
                \(details)
                The setting lasts until the agent's next start; then sensor.enabled in its configuration applies.
                """,
            options: CommandUsage.configurationOptions + [
                Option("on", value: "ID", help: "the agent with this device.id, wherever it runs")
            ])
    }

    static func stop(_ arguments: Arguments) throws {
        try send("stop", arguments, done: "stopped", unchanged: "already stopped")
    }

    static func start(_ arguments: Arguments) throws {
        try send("start", arguments, done: "sensing", unchanged: "already sensing")
    }

    private static func send(
        _ command: String, _ arguments: Arguments, done: String, unchanged: String
    ) throws {
        let signals = SignalWaiter()
        let device = try RemoteDevice(arguments)
        let answer = try device.carryOut(command, within: answerTime, signals: signals)
        Output.line("\(device.id): \(answer.text("changed") == "false" ? unchanged : done)")
    }
}
