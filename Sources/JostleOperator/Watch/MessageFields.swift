internal import JostleConfiguration
internal import LinuxSystem

/// The fields of an untrusted message: bounded in length, finite, without control characters.
struct MessageFields {
    /// The longest text that is kept, in characters, and the longest list.
    static let longestText = 200
    static let longestList = 8

    /// No message of an agent comes near these limits.
    private static let limits: ReaderLimits = {
        var limits = ReaderLimits()
        limits.bytes = WatchListener.maximumMessage
        limits.depth = 8
        limits.nodes = 2000
        return limits
    }()

    private let tree: ConfigurationNode

    /// Parses a message.
    ///
    /// - Throws: if it is not a JSON object.
    init(_ payload: [UInt8], topic: String) throws(ConfigurationProblem) {
        let source = ConfigurationSource.message(topic)
        tree = try JSONReader.read(payload, source: source, limits: MessageFields.limits)
        guard case .mapping = tree.value else {
            throw ConfigurationProblem(at: ConfigurationPosition(source), "not a JSON object")
        }
    }

    private init(_ tree: ConfigurationNode) {
        self.tree = tree
    }

    /// The objects in an object, with their keys as bounded text.
    func objects(_ name: String, atMost limit: Int) -> [(key: String, fields: MessageFields)] {
        guard case .mapping(let entries)? = tree[name]?.value else { return [] }
        return entries.prefix(limit).compactMap { entry in
            guard case .mapping = entry.node.value else { return nil }
            return (MessageFields.bounded(entry.key), MessageFields(entry.node))
        }
    }

    /// An object.
    func object(_ name: String) -> MessageFields? {
        guard let node = tree[name], case .mapping = node.value else { return nil }
        return MessageFields(node)
    }

    /// The first element of a list of objects.
    func firstObject(_ name: String) -> MessageFields? {
        guard case .sequence(let elements)? = tree[name]?.value, let first = elements.first,
            case .mapping = first.value
        else { return nil }
        return MessageFields(first)
    }

    /// A number; `nil` if it is absent or implausibly large.
    func number(_ name: String) -> Double? {
        guard case .scalar(let text, .plain)? = tree[name]?.value, let number = Double(text) else { return nil }
        return number.isFinite && abs(number) <= 1e15 ? number : nil
    }

    /// The length of an array of numbers taken as a vector.
    func length(_ name: String) -> Double? {
        guard case .sequence(let elements)? = tree[name]?.value, elements.count == 3 else { return nil }
        var sum = 0.0
        for element in elements {
            guard case .scalar(let text, .plain) = element.value, let number = Double(text), abs(number) <= 1e6 else {
                return nil
            }
            sum += number * number
        }
        return sum.squareRoot()
    }

    /// A Boolean.
    func flag(_ name: String) -> Bool? {
        guard case .scalar(let text, .plain)? = tree[name]?.value else { return nil }
        return text == "true" ? true : text == "false" ? false : nil
    }

    /// A text.
    func text(_ name: String) -> String? {
        guard case .scalar(let text, .quoted)? = tree[name]?.value else { return nil }
        return MessageFields.bounded(text)
    }

    /// A list of texts.
    func texts(_ name: String) -> [String] {
        guard case .sequence(let elements)? = tree[name]?.value else { return [] }
        return elements.prefix(MessageFields.longestList).compactMap { $0.text.map(MessageFields.bounded) }
    }

    /// The numbers in an object, by their keys as bounded text.
    func numbers(_ name: String, atMost limit: Int) -> [String: Double] {
        guard case .mapping(let entries)? = tree[name]?.value else { return [:] }
        var numbers: [String: Double] = [:]
        for entry in entries.prefix(limit) {
            guard case .scalar(let text, .plain) = entry.node.value, let number = Double(text), abs(number) <= 1e15
            else { continue }
            numbers[MessageFields.bounded(entry.key)] = number
        }
        return numbers
    }

    /// The sum of the numbers in an object.
    func sum(_ name: String) -> Double? {
        guard case .mapping(let entries)? = tree[name]?.value else { return nil }
        var sum = 0.0
        for entry in entries {
            guard let number = entry.node.text.flatMap(Double.init), abs(number) <= 1e15 else { continue }
            sum += number
        }
        return sum
    }

    /// A text on one line, cut to `longestText`.
    static func bounded(_ text: String) -> String { ForeignText.excerpt(text, limit: longestText) }
}
