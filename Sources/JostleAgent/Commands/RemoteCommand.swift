internal import JostleConfiguration
internal import JostleMessages

/// What somebody may ask of the device on `…/command/<name>`: how its arguments are read, and what is done.
///
/// A new command is a case of `JostleSettings.Command`, a type like this, and a line in `RemoteCommands.implementation`.
protocol RemoteCommand: Sendable {
    /// The last level of its topic, by which `commands.allow` knows it.
    static var command: JostleSettings.Command { get }

    /// The arguments that it knows.
    static var argumentNames: [String] { get }

    /// Reads it; the arguments have no other names than those.
    init(_ arguments: CommandArguments) throws(CommandRefusal)

    /// Carries it out, without waiting for anything that may take longer than a second. What goes on after that tells with
    /// `reply` what comes of it.
    ///
    /// - Returns: what the answer says beyond that it was accepted; `nil` if the answer follows by `reply`.
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject?

    /// Does what must not happen before the answer is on its way.
    func afterAnswer(on host: CommandHost)
}

extension RemoteCommand {
    static var name: String { command.rawValue }

    func afterAnswer(on host: CommandHost) {}
}

/// The commands there are.
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

    /// Reads a command: its name, and its arguments, a JSON object or nothing at all.
    static func read(
        _ name: String, _ arguments: [UInt8], allowed: [JostleSettings.Command] = JostleSettings.Command.allCases
    ) throws(CommandRefusal) -> any RemoteCommand {
        guard let command = JostleSettings.Command(rawValue: name) else {
            let known = CommandArguments.list(JostleSettings.Command.allCases.map(\.rawValue))
            throw CommandRefusal(.unknownCommand, "there is no command \"\(name.prefix(64))\"; there are \(known)")
        }
        guard allowed.contains(command) else {
            throw CommandRefusal(.notAllowed, "commands.allow in the device's configuration leaves \(name) out")
        }
        let implementation = implementation(of: command)
        return try implementation.init(
            CommandArguments(arguments, of: name, names: implementation.argumentNames))
    }
}

/// Why a command is not carried out, or came to nothing.
struct CommandRefusal: Error, Equatable {
    /// The reason for programs: there are no others than these.
    enum Code: String, CaseIterable {
        case unknownCommand = "unknown_command"
        /// The configuration leaves it out.
        case notAllowed = "not_allowed"
        case badArguments = "bad_arguments"
        /// A retained command would be carried out again at every connection.
        case retained
        /// There were too many commands lately.
        case tooMany = "too_many"
        /// Something of the kind is under way: to be tried again later.
        case busy
        /// The sensor is not there, is stopped, or has not measured yet.
        case sensorUnavailable = "sensor_unavailable"
        /// This board cannot do it.
        case unavailable
        /// The system lacks something.
        case resources
        /// It was begun and came to nothing.
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
