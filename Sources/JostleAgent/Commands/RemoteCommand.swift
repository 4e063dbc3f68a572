internal import JostleConfiguration

/// What somebody asks of the device on `…/command/<name>`.
enum RemoteCommand: Equatable {
    /// The present attitude is zero from now on, or its heading alone.
    case takeReference(headingOnly: Bool)
    /// Attitude is told from the vertical again.
    case clearReference

    /// The largest arguments that are looked at, in bytes.
    static let largestArguments = 4096

    /// Reads a command: its name, and its arguments, a JSON object or nothing at all.
    init(name: String, arguments: [UInt8]) throws(CommandRefusal) {
        guard name == "tare" else {
            throw CommandRefusal(.unknownCommand, "there is no command \"\(name)\"; there is tare")
        }
        var clears = false
        var isHeadingOnly = false
        for field in try RemoteCommand.fields(of: arguments) {
            switch field.key {
            case "clear": clears = try RemoteCommand.truth(of: field)
            case "heading_only": isHeadingOnly = try RemoteCommand.truth(of: field)
            default:
                throw CommandRefusal(
                    .badArguments, "tare has no argument \"\(field.key)\"; it has clear and heading_only")
            }
        }
        if clears, isHeadingOnly {
            throw CommandRefusal(.badArguments, "clear undoes the whole reference: not with heading_only")
        }
        self = clears ? .clearReference : .takeReference(headingOnly: isHeadingOnly)
    }

    private static func truth(of field: ConfigurationNode.Entry) throws(CommandRefusal) -> Bool {
        switch field.node.text {
        case "true": return true
        case "false": return false
        default: throw CommandRefusal(.badArguments, "\(field.key) is neither true nor false")
        }
    }

    private static func fields(of arguments: [UInt8]) throws(CommandRefusal) -> [ConfigurationNode.Entry] {
        guard arguments.count <= largestArguments else {
            throw CommandRefusal(.badArguments, "the arguments have more than \(largestArguments) bytes")
        }
        guard !arguments.isEmpty else { return [] }
        let tree: ConfigurationNode
        do throws(ConfigurationProblem) {
            tree = try JSONReader.read(arguments, source: .message("arguments"))
        } catch {
            throw CommandRefusal(.badArguments, "\(error)")
        }
        guard case .mapping(let entries) = tree.value else {
            throw CommandRefusal(.badArguments, "the arguments are no JSON object")
        }
        return entries
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
    }

    let code: Code
    /// The reason for people.
    let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
