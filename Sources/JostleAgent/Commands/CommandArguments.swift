internal import Documents

/// The arguments of a command: the fields of a JSON object, read by name and type.
struct CommandArguments {
    /// The maximum size of the arguments, bytes.
    static let maximumBytes = 4096

    private let fields: [JSONValue.Member]

    /// Parses the arguments of `command`, which accepts only `names`. An empty payload means no arguments.
    init(_ bytes: [UInt8], of command: String, names: [String]) throws {
        guard bytes.count <= CommandArguments.maximumBytes else {
            throw CommandRefusal(.badArguments, "the arguments are longer than \(CommandArguments.maximumBytes) bytes")
        }
        guard !bytes.isEmpty else {
            fields = []
            return
        }
        let tree: JSONValue
        do {
            tree = try JSONReader.read(bytes, source: .message("arguments"))
        } catch {
            throw CommandRefusal(.badArguments, "\(error)")
        }
        guard let members = tree.members else {
            throw CommandRefusal(.badArguments, "the arguments are not a JSON object")
        }
        for member in members where !names.contains(member.name) {
            let known = names.isEmpty ? "none" : CommandArguments.list(names)
            throw CommandRefusal(.badArguments, "\(command) has no argument \"\(member.name)\"; it has \(known)")
        }
        fields = members
    }

    /// `a, b and c`.
    static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) and \(last)"
    }

    /// A Boolean argument; `nil` if it is absent.
    func bool(_ name: String) throws -> Bool? {
        try value(name, "true or false") { ["true": true, "false": false][$0.text ?? ""] }
    }

    /// A string argument; `nil` if it is absent.
    func string(_ name: String) throws -> String? { try value(name, "a string", \.string) }

    /// A numeric argument; `nil` if it is absent.
    func number(_ name: String) throws -> Double? { try value(name, "a number", \.number) }

    /// An integer argument; `nil` if it is absent.
    func integer(_ name: String) throws -> Int? {
        _ = try number(name)
        return try value(name, "an integer") { $0.integer.flatMap { Int(exactly: $0) } }
    }

    /// An argument that is an array of strings; `nil` if it is absent.
    func strings(_ name: String) throws -> [String]? {
        try value(name, "an array of strings") { array in
            let strings = array.elements?.compactMap(\.string)
            return strings?.count == array.elements?.count ? strings : nil
        }
    }

    /// The value of an argument; `nil` if it is absent.
    private func value<Value>(_ name: String, _ kind: String, _ value: (JSONValue) -> Value?) throws -> Value? {
        guard let field = fields.first(where: { $0.name == name }) else { return nil }
        guard let value = value(field.value) else { throw CommandRefusal(.badArguments, "\(name) must be \(kind)") }
        return value
    }

    /// A duration, s: the argument `name` or the default. `nil` if the only argument is `"stop":true`.
    func duration(
        _ name: String = "seconds", within bounds: ClosedRange<Double>, default usual: Double
    ) throws -> Double? {
        if try stops() { return nil }
        let seconds = try number(name) ?? usual
        guard bounds.contains(seconds) else {
            throw CommandRefusal(
                .badArguments, "\(name) must be \(bounds.lowerBound) to \(bounds.upperBound) s, not \(seconds)")
        }
        return seconds
    }

    /// Whether the command is to end what an earlier one began: `"stop":true`, the only argument then.
    func stops() throws -> Bool {
        guard try bool("stop") ?? false else { return false }
        try requireOnly("stop")
        return true
    }

    /// Throws if there are arguments beside these, which the last of them excludes.
    func requireOnly(_ names: String...) throws {
        guard fields.allSatisfy({ names.contains($0.name) }) else {
            throw CommandRefusal(.badArguments, "\(names.last ?? "") cannot be combined with other arguments")
        }
    }
}
