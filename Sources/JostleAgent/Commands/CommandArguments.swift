internal import JostleConfiguration

/// The arguments of a command: the fields of a JSON object, read by name and type.
struct CommandArguments {
    /// The maximum size of the arguments, bytes.
    static let maximumBytes = 4096

    private let fields: [ConfigurationNode.Entry]

    /// Parses the arguments of `command`, which accepts only `names`. An empty payload means no arguments.
    init(_ bytes: [UInt8], of command: String, names: [String]) throws(CommandRefusal) {
        guard bytes.count <= CommandArguments.maximumBytes else {
            throw CommandRefusal(.badArguments, "the arguments are longer than \(CommandArguments.maximumBytes) bytes")
        }
        guard !bytes.isEmpty else {
            fields = []
            return
        }
        let tree: ConfigurationNode
        do throws(ConfigurationProblem) {
            tree = try JSONReader.read(bytes, source: .message("arguments"))
        } catch {
            throw CommandRefusal(.badArguments, "\(error)")
        }
        guard case .mapping(let entries) = tree.value else {
            throw CommandRefusal(.badArguments, "the arguments are not a JSON object")
        }
        for entry in entries where !names.contains(entry.key) {
            let known = names.isEmpty ? "none" : CommandArguments.list(names)
            throw CommandRefusal(.badArguments, "\(command) has no argument \"\(entry.key)\"; it has \(known)")
        }
        fields = entries
    }

    /// `a, b and c`.
    static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) and \(last)"
    }

    /// A Boolean argument; `nil` if it is absent.
    func bool(_ name: String) throws(CommandRefusal) -> Bool? {
        guard let node = node(name) else { return nil }
        switch node.text {
        case "true": return true
        case "false": return false
        default: throw CommandRefusal(.badArguments, "\(name) must be true or false")
        }
    }

    /// A string argument; `nil` if it is absent.
    func string(_ name: String) throws(CommandRefusal) -> String? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let text, .quoted) = node.value else {
            throw CommandRefusal(.badArguments, "\(name) must be a string")
        }
        return text
    }

    /// A numeric argument; `nil` if it is absent.
    func number(_ name: String) throws(CommandRefusal) -> Double? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let text, .plain) = node.value, let number = Double(text), number.isFinite else {
            throw CommandRefusal(.badArguments, "\(name) must be a number")
        }
        return number
    }

    /// An argument that is an array of strings; `nil` if it is absent.
    func strings(_ name: String) throws(CommandRefusal) -> [String]? {
        guard let node = node(name) else { return nil }
        guard case .sequence(let nodes) = node.value else {
            throw CommandRefusal(.badArguments, "\(name) must be an array of strings")
        }
        var strings: [String] = []
        for node in nodes {
            guard case .scalar(let text, .quoted) = node.value else {
                throw CommandRefusal(.badArguments, "\(name) must be an array of strings")
            }
            strings.append(text)
        }
        return strings
    }

    /// An integer argument; `nil` if it is absent.
    func integer(_ name: String) throws(CommandRefusal) -> Int? {
        guard let number = try number(name) else { return nil }
        guard let whole = Int(exactly: number) else {
            throw CommandRefusal(.badArguments, "\(name) must be an integer")
        }
        return whole
    }

    /// A duration, s: the argument `name` or the default. `nil` if the only argument is `"stop":true`.
    func duration(
        _ name: String = "seconds", within bounds: ClosedRange<Double>, default usual: Double
    ) throws(CommandRefusal) -> Double? {
        if try bool("stop") ?? false {
            guard isAlone("stop") else {
                throw CommandRefusal(.badArguments, "stop cannot be combined with other arguments")
            }
            return nil
        }
        let seconds = try number(name) ?? usual
        guard bounds.contains(seconds) else {
            throw CommandRefusal(
                .badArguments, "\(name) must be \(bounds.lowerBound) to \(bounds.upperBound) s, not \(seconds)")
        }
        return seconds
    }

    /// Whether `name` is the only argument.
    func isAlone(_ name: String) -> Bool { fields.map(\.key) == [name] }

    private func node(_ name: String) -> ConfigurationNode? {
        fields.first { $0.key == name }?.node
    }
}
