internal import JostleConfiguration
internal import JostleMessages

/// A command on `…/command/<name>`: parses its arguments and carries it out.
///
/// To add a command, add a case to `JostleSettings.Command`, a type like this, and a line to
/// `RemoteCommands.implementation`.
protocol RemoteCommand: Sendable {
    /// The last level of the command's topic, and its name in `commands.allow`.
    static var command: JostleSettings.Command { get }

    /// The arguments that the command accepts.
    static var argumentNames: [String] { get }

    /// Parses the arguments, which contain no names other than `argumentNames`.
    init(_ arguments: CommandArguments) throws(CommandRefusal)

    /// Whether the command only continues what an earlier one began, so that the log has it at the level debug. Asked
    /// before the command is carried out.
    func isRepetition(on host: CommandHost) -> Bool

    /// Carries the command out without blocking for longer than a second. A job that continues afterwards reports its
    /// result through `reply`.
    ///
    /// - Returns: details to add to the success reply; `nil` if the command sends its first reply through `reply`.
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject?

    /// Does what must not happen before the reply is on its way.
    func afterAnswer(on host: CommandHost)
}

extension RemoteCommand {
    static var name: String { command.rawValue }

    func isRepetition(on host: CommandHost) -> Bool { false }
    func afterAnswer(on host: CommandHost) {}
}

/// All commands.
enum RemoteCommands {
    private static func implementation(of command: JostleSettings.Command) -> any RemoteCommand.Type {
        switch command {
        case .ping: RemotePing.self
        case .getState: RemoteGetState.self
        case .identify: RemoteIdentify.self
        case .tare: RemoteTare.self
        case .simulate: RemoteSimulate.self
        case .start: RemoteStart.self
        case .stop: RemoteStop.self
        case .stream: RemoteStream.self
        case .record: RemoteRecord.self
        case .calibrate: RemoteCalibrate.self
        case .restart: RemoteRestart.self
        }
    }

    /// Parses a command from its name and its arguments: a JSON object or an empty payload.
    static func read(
        _ name: String, _ arguments: [UInt8], allowed: [JostleSettings.Command] = JostleSettings.Command.allCases
    ) throws(CommandRefusal) -> any RemoteCommand {
        guard let command = JostleSettings.Command(rawValue: name) else {
            let words = JostleSettings.Command.allCases.map(\.rawValue)
            let suggestion = EditDistance.suggestion(for: name, among: words)
            throw CommandRefusal(
                .unknownCommand,
                "there is no command \"\(name.prefix(64))\"; the commands are \(CommandArguments.list(words))\(suggestion)"
            )
        }
        guard allowed.contains(command) else {
            throw CommandRefusal(.notAllowed, "commands.allow in the device's configuration does not include \(name)")
        }
        let implementation = implementation(of: command)
        return try implementation.init(
            CommandArguments(arguments, of: name, names: implementation.argumentNames))
    }
}

/// Why a command was refused, or why it failed.
struct CommandRefusal: Error, Equatable {
    /// The reason for programs: the complete list.
    enum Code: String, CaseIterable {
        case unknownCommand = "unknown_command"
        /// `commands.allow` does not include it.
        case notAllowed = "not_allowed"
        case badArguments = "bad_arguments"
        /// A retained command would be carried out again at every connection.
        case retained
        /// The rate limit was exceeded.
        case tooMany = "too_many"
        /// A job of the same kind is running. Try again later.
        case busy
        /// The sensor is absent, stopped, or has not measured yet.
        case sensorUnavailable = "sensor_unavailable"
        /// The board does not support the command.
        case unavailable
        /// A system resource is missing.
        case resources
        /// The command was started and failed.
        case failed
    }

    let code: Code
    /// The reason for people.
    let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
