/// What somebody may ask of the device on `…/command/<name>`: how its arguments are read, and what is done.
///
/// A new command is a type like this and a line in `RemoteCommands.all`.
protocol RemoteCommand: Sendable {
    /// The last level of its topic.
    static var name: String { get }

    /// The arguments that it knows.
    static var argumentNames: [String] { get }

    /// Reads it; the arguments have no other names than those.
    init(_ arguments: CommandArguments) throws(CommandRefusal)

    /// Carries it out, without waiting for anything that may take longer than a second.
    ///
    /// - Returns: what the answer tells beyond that it was accepted.
    func carryOut(on host: CommandHost) throws(CommandRefusal) -> JSONObject
}

/// The commands there are.
enum RemoteCommands {
    static var all: [any RemoteCommand.Type] {
        [RemoteTare.self, RemoteSimulate.self, RemoteStart.self, RemoteStop.self]
    }

    /// Reads a command: its name, and its arguments, a JSON object or nothing at all.
    static func read(_ name: String, _ arguments: [UInt8]) throws(CommandRefusal) -> any RemoteCommand {
        for command in all where command.name == name {
            return try command.init(CommandArguments(arguments, of: name, names: command.argumentNames))
        }
        let known = CommandArguments.list(all.map { $0.name })
        throw CommandRefusal(.unknownCommand, "there is no command \"\(name)\"; there are \(known)")
    }
}

/// Why a command is not carried out.
struct CommandRefusal: Error, Equatable {
    /// The reason for programs.
    enum Code: String {
        case unknownCommand = "unknown_command"
        case badArguments = "bad_arguments"
        /// A retained command would be carried out again at every connection.
        case retained
        case sensorUnavailable = "sensor_unavailable"
        /// Something of the kind is under way: to be tried again later.
        case busy
        /// The system lacks something.
        case resources
    }

    let code: Code
    /// The reason for people.
    let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
