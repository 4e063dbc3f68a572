/// Changes one key in the text of a YAML file and leaves everything else as it is: comments, order, layout.
///
/// The edit is made at the position that the reader reports, and the result is read again. An edit that did not have
/// exactly the intended effect is refused, so that an unusual layout leads to an error, never to a damaged
/// configuration.
package struct ConfigurationEdit: Sendable {
    private let path: [String]
    private let value: String
    private let source: ConfigurationSource

    /// Returns `text` with the key at `path`, for example `gestures.shake.sensitivity`, set to the plain scalar
    /// `value`.
    ///
    /// - Throws: if the text is not valid YAML, or if the key has to be set by hand.
    package static func set(
        _ path: String, to value: String, in text: String, source: ConfigurationSource
    ) throws(ConfigurationProblem) -> String {
        let edit = ConfigurationEdit(path: path.split(separator: ".").map(String.init), value: value, source: source)
        let tree = try YAMLReader.read(Array(text.utf8), source: source)
        guard let edited = edit.applied(to: text, tree) else { throw edit.refusal(at: tree.position) }
        do throws(ConfigurationProblem) {
            let result = try YAMLReader.read(Array(edited.utf8), source: source)
            guard result.plainText == edit.setting(in: tree).plainText else { throw edit.refusal(at: tree.position) }
        } catch {
            throw edit.refusal(at: tree.position)
        }
        return edited
    }

    private func refusal(at position: ConfigurationPosition) -> ConfigurationProblem {
        let key = path.joined(separator: ".")
        return ConfigurationProblem(
            at: position, path: key, "cannot be written into this layout; set it to \(value) by hand")
    }

    // MARK: Editing the tree

    /// The tree after the edit.
    private func setting(in tree: ConfigurationNode) -> ConfigurationNode {
        ConfigurationEdit.setting(path[...], to: value, in: tree)
    }

    private static func setting(
        _ path: ArraySlice<String>, to value: String, in node: ConfigurationNode
    ) -> ConfigurationNode {
        guard let key = path.first else { return ConfigurationNode(.scalar(value, .plain), at: node.position) }
        var entries: [ConfigurationNode.Entry] = []
        if case .mapping(let old) = node.value { entries = old }
        let index = entries.firstIndex { $0.key == key }
        let child = index.map { entries[$0].node } ?? ConfigurationNode(.null, at: node.position)
        let entry = ConfigurationNode.Entry(
            key: key, at: node.position, setting(path.dropFirst(), to: value, in: child))
        if let index { entries[index] = entry } else { entries.append(entry) }
        return ConfigurationNode(.mapping(entries), at: node.position)
    }

    // MARK: Editing the text

    /// The text with the edit at the deepest existing part of the path; `nil` if it cannot be edited there.
    private func applied(to text: String, _ tree: ConfigurationNode) -> String? {
        var node = tree
        var found: ConfigurationNode.Entry?
        var depth = 0
        while depth < path.count, case .mapping(let entries) = node.value,
            let entry = entries.first(where: { $0.key == path[depth] })
        {
            found = entry
            node = entry.node
            depth += 1
        }
        var lines = TextLines(text)
        let missing = path[depth...]
        switch node.value {
        case .scalar(let old, let style):
            guard missing.isEmpty, lines.replace(old, style, at: node.position, with: value) else { return nil }
        case .mapping(let entries) where !missing.isEmpty:
            guard let first = entries.first else { return nil }
            if lines.character(at: node.position) == "{" {
                lines.insert(flow(missing) + ", ", after: node.position)
            } else {
                lines.insert(block(missing, indentation: first.keyPosition.column - 1), before: first.keyPosition.line)
            }
        case .null:
            guard let found else {
                // An empty file, or one that has only comments.
                lines.append(block(missing, indentation: 0))
                break
            }
            guard lines.isEmptyAfter(found.key, at: found.keyPosition) else { return nil }
            if missing.isEmpty {
                lines.insert(" \(value)", afterColonOf: found.key, at: found.keyPosition)
            } else {
                let indentation = found.keyPosition.column + 1
                lines.insert(block(missing, indentation: indentation), before: found.keyPosition.line + 1)
            }
        default:
            return nil
        }
        return lines.text
    }

    /// The lines of a nested key in block style.
    private func block(_ keys: ArraySlice<String>, indentation: Int) -> [String] {
        keys.enumerated().map { index, key in
            let isLast = index == keys.count - 1
            return String(repeating: " ", count: indentation + 2 * index) + "\(key):" + (isLast ? " \(value)" : "")
        }
    }

    /// A nested key in flow style.
    private func flow(_ keys: ArraySlice<String>) -> String {
        guard let key = keys.first else { return value }
        let rest = keys.dropFirst()
        return rest.isEmpty ? "\(key): \(value)" : "\(key): { \(flow(rest)) }"
    }
}

/// A text as lines, addressed by positions.
private struct TextLines {
    private var lines: [[Character]]

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
    }

    var text: String { lines.map { String($0) }.joined(separator: "\n") }

    func character(at position: ConfigurationPosition) -> Character? {
        let line = lines[position.line - 1]
        return position.column <= line.count ? line[position.column - 1] : nil
    }

    /// Replaces a scalar that is on one line; returns false if it is not.
    mutating func replace(
        _ old: String, _ style: ConfigurationNode.Style, at position: ConfigurationPosition, with new: String
    ) -> Bool {
        let line = lines[position.line - 1]
        let start = position.column - 1
        // A quoted scalar without escapes takes two more characters, its quotes.
        let length = old.count + (style == .quoted ? 2 : 0)
        guard start + length <= line.count else { return false }
        let written = line[start..<(start + length)]
        guard String(style == .quoted ? written.dropFirst().dropLast() : written) == old else { return false }
        lines[position.line - 1].replaceSubrange(start..<(start + length), with: Array(new))
        return true
    }

    mutating func insert(_ text: String, after position: ConfigurationPosition) {
        lines[position.line - 1].insert(contentsOf: Array(text), at: position.column)
    }

    mutating func insert(_ new: [String], before line: Int) {
        lines.insert(contentsOf: new.map(Array.init), at: min(line - 1, lines.count))
    }

    /// Appends lines; the text still ends with a line feed.
    mutating func append(_ new: [String]) {
        while lines.last?.isEmpty == true { lines.removeLast() }
        lines += new.map(Array.init) + [[]]
    }

    /// Whether only a comment, if anything, follows a key and its colon.
    func isEmptyAfter(_ key: String, at position: ConfigurationPosition) -> Bool {
        guard let rest = afterColon(of: key, at: position) else { return false }
        let text = lines[position.line - 1][rest...].drop { $0 == " " }
        return text.isEmpty || text.first == "#"
    }

    mutating func insert(_ text: String, afterColonOf key: String, at position: ConfigurationPosition) {
        guard let index = afterColon(of: key, at: position) else { return }
        lines[position.line - 1].insert(contentsOf: Array(text), at: index)
    }

    /// The index after a key's colon; `nil` if the colon does not follow the key immediately.
    private func afterColon(of key: String, at position: ConfigurationPosition) -> Int? {
        let line = lines[position.line - 1]
        let index = position.column - 1 + key.count
        return index < line.count && line[index] == ":" ? index + 1 : nil
    }
}

extension ConfigurationNode {
    /// The tree without positions, mappings sorted by key: equal if two texts have the same meaning.
    fileprivate var plainText: String {
        switch value {
        case .null: return "~"
        case .scalar(let text, let style): return style == .plain ? "p:\(text)" : "q:\(text)"
        case .sequence(let nodes): return "[" + nodes.map { $0.plainText }.joined(separator: "\u{0}") + "]"
        case .mapping(let entries):
            let parts = entries.map { "\($0.key)\u{1}\($0.node.plainText)" }.sorted()
            return "{" + parts.joined(separator: "\u{0}") + "}"
        }
    }
}
