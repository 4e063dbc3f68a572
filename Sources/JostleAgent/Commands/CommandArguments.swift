internal import JostleConfiguration

/// The arguments of a command: the fields of a JSON object, each asked for by its name and kind.
struct CommandArguments {
    /// The largest arguments that are looked at, in bytes.
    static let largest = 4096

    private let fields: [ConfigurationNode.Entry]

    /// Reads the arguments of `command`, which knows those of `names`; no bytes at all are no arguments.
    init(_ bytes: [UInt8], of command: String, names: [String]) throws(CommandRefusal) {
        guard bytes.count <= CommandArguments.largest else {
            throw CommandRefusal(.badArguments, "the arguments have more than \(CommandArguments.largest) bytes")
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
            throw CommandRefusal(.badArguments, "the arguments are no JSON object")
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

    /// An argument that is true or false; `nil` where it is not there.
    func truth(_ name: String) throws(CommandRefusal) -> Bool? {
        guard let node = node(name) else { return nil }
        switch node.text {
        case "true": return true
        case "false": return false
        default: throw CommandRefusal(.badArguments, "\(name) is neither true nor false")
        }
    }

    /// An argument that is text; `nil` where it is not there.
    func text(_ name: String) throws(CommandRefusal) -> String? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let text, .quoted) = node.value else {
            throw CommandRefusal(.badArguments, "\(name) is no text")
        }
        return text
    }

    /// An argument that is a number; `nil` where it is not there.
    func number(_ name: String) throws(CommandRefusal) -> Double? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let text, .plain) = node.value, let number = Double(text), number.isFinite else {
            throw CommandRefusal(.badArguments, "\(name) is no number")
        }
        return number
    }

    /// An argument that is a list of texts; `nil` where it is not there.
    func texts(_ name: String) throws(CommandRefusal) -> [String]? {
        guard let node = node(name) else { return nil }
        guard case .sequence(let nodes) = node.value else {
            throw CommandRefusal(.badArguments, "\(name) is no list of texts")
        }
        var texts: [String] = []
        for node in nodes {
            guard case .scalar(let text, .quoted) = node.value else {
                throw CommandRefusal(.badArguments, "\(name) is no list of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// An argument that is a whole number; `nil` where it is not there.
    func wholeNumber(_ name: String) throws(CommandRefusal) -> Int? {
        guard let number = try number(name) else { return nil }
        guard let whole = Int(exactly: number) else {
            throw CommandRefusal(.badArguments, "\(name) is no whole number")
        }
        return whole
    }

    /// How long something is to last: the argument of this name, or the default; `nil` where the one argument is
    /// `"stop":true`, which ends it.
    func duration(
        _ name: String = "seconds", within bounds: ClosedRange<Double>, default usual: Double
    ) throws(CommandRefusal) -> Double? {
        if try truth("stop") ?? false {
            guard isAlone("stop") else {
                throw CommandRefusal(.badArguments, "stop ends what is under way: alone, without other arguments")
            }
            return nil
        }
        let seconds = try number(name) ?? usual
        guard bounds.contains(seconds) else {
            throw CommandRefusal(
                .badArguments, "\(seconds) s are not possible; \(bounds.lowerBound) to \(bounds.upperBound) are")
        }
        return seconds
    }

    /// Whether there is this argument and no other.
    func isAlone(_ name: String) -> Bool { fields.map(\.key) == [name] }

    private func node(_ name: String) -> ConfigurationNode? {
        fields.first { $0.key == name }?.node
    }
}
