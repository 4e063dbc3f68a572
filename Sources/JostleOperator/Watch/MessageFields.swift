internal import Documents
internal import JostleConfiguration
internal import LinuxSystem

/// The fields of an untrusted message: bounded in length, finite, without control characters.
struct MessageFields {
    /// The longest text that is kept, in characters, and the longest list.
    static let longestText = 200
    static let longestList = 8

    /// No message of an agent comes near these limits.
    private static let limits = ReaderLimits(bytes: BrokerView.maximumMessage, depth: 8, nodes: 2000)

    private let tree: JSONValue

    /// Parses a message.
    ///
    /// - Throws: if it is not a JSON object.
    init(_ payload: [UInt8], topic: String) throws {
        tree = try JSONReader.readObject(payload, source: .message(topic), limits: MessageFields.limits)
    }

    private init(_ tree: JSONValue) {
        self.tree = tree
    }

    /// The objects in an object, with their keys as bounded text.
    func objects(_ name: String, atMost limit: Int) -> [(key: String, fields: MessageFields)] {
        (tree[name]?.members ?? []).prefix(limit).compactMap { member in
            guard member.value.members != nil else { return nil }
            return (MessageFields.bounded(member.name), MessageFields(member.value))
        }
    }

    /// An object.
    func object(_ name: String) -> MessageFields? {
        tree[name].flatMap { $0.members == nil ? nil : MessageFields($0) }
    }

    /// The first element of a list of objects.
    func firstObject(_ name: String) -> MessageFields? {
        tree[name]?.elements?.first.flatMap { $0.members == nil ? nil : MessageFields($0) }
    }

    /// A number; `nil` if it is absent or implausibly large.
    func number(_ name: String) -> Double? { tree[name].flatMap(MessageFields.plausible) }

    /// The length of an array of numbers taken as a vector.
    func length(_ name: String) -> Double? {
        guard let elements = tree[name]?.elements, elements.count == 3 else { return nil }
        let numbers = elements.compactMap(\.number).filter { abs($0) <= 1e6 }
        return numbers.count == 3 ? numbers.reduce(0) { $0 + $1 * $1 }.squareRoot() : nil
    }

    /// A Boolean.
    func flag(_ name: String) -> Bool? { tree[name]?.bool }

    /// A text.
    func text(_ name: String) -> String? { tree[name]?.string.map(MessageFields.bounded) }

    /// A list of texts.
    func texts(_ name: String) -> [String] {
        (tree[name]?.elements ?? []).prefix(MessageFields.longestList).compactMap {
            $0.text.map(MessageFields.bounded)
        }
    }

    /// The numbers in an object, by their keys as bounded text.
    func numbers(_ name: String, atMost limit: Int) -> [String: Double] {
        var numbers: [String: Double] = [:]
        for member in (tree[name]?.members ?? []).prefix(limit) {
            if let number = MessageFields.plausible(member.value) {
                numbers[MessageFields.bounded(member.name)] = number
            }
        }
        return numbers
    }

    /// The sum of the numbers in an object.
    func sum(_ name: String) -> Double? {
        tree[name]?.members.map { $0.compactMap { MessageFields.plausible($0.value) }.reduce(0, +) }
    }

    private static func plausible(_ value: JSONValue) -> Double? {
        value.number.flatMap { abs($0) <= 1e15 ? $0 : nil }
    }

    /// A text on one line, cut to `longestText`.
    static func bounded(_ text: String) -> String { ForeignText.excerpt(text, limit: longestText) }
}
