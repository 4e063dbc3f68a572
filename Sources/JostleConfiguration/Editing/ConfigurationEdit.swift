package import Documents

/// Changes one key in the text of a YAML file and leaves everything else as it is: comments, order, layout.
///
/// The edit is made at the position that the reader reports, and the result is read again. An edit that did not have
/// exactly the intended effect is refused, so that an unusual layout leads to an error, never to a damaged
/// configuration.
package struct ConfigurationEdit: Sendable {
    private let path: [String]
    private let value: String

    /// Returns `text` with the key at `path`, for example `gestures.shake.sensitivity`, set to the plain scalar
    /// `value`.
    ///
    /// - Throws: if the text is not valid YAML, or if the key has to be set by hand.
    package static func set(
        _ path: String, to value: String, in text: String, source: DocumentSource
    ) throws -> String {
        let edit = ConfigurationEdit(path: path.split(separator: ".").map(String.init), value: value)
        let tree = try YAMLReader.read(Array(text.utf8), source: source)
        guard let edited = edit.applied(to: text, tree) else { throw edit.refusal(at: tree.position) }
        let wanted = ConfigurationEdit.setting(edit.path[...], to: value, in: tree)
        // The order of keys does not matter.
        guard let result = try? YAMLReader.read(Array(edited.utf8), source: source),
            result.text(.canonical) == wanted.text(.canonical)
        else { throw edit.refusal(at: tree.position) }
        return edited
    }

    private func refusal(at position: DocumentPosition) -> DocumentProblem {
        let key = path.joined(separator: ".")
        return DocumentProblem(
            at: position, path: key, "cannot be written into this layout; set it to \(value) by hand")
    }

    // MARK: Editing the tree

    /// The tree after the edit.
    private static func setting(
        _ path: ArraySlice<String>, to value: String, in node: JSONValue
    ) -> JSONValue {
        guard let key = path.first else { return JSONValue(plain: value, at: node.position) }
        var members = node.members ?? []
        let index = members.firstIndex { $0.name == key }
        let child = index.map { members[$0].value } ?? .null
        let member = JSONValue.Member(key, setting(path.dropFirst(), to: value, in: child))
        if let index { members[index] = member } else { members.append(member) }
        return .object(members)
    }

    // MARK: Editing the text

    /// The text with the edit at the deepest existing part of the path; `nil` if it cannot be edited there.
    private func applied(to text: String, _ tree: JSONValue) -> String? {
        var node = tree
        var found: JSONValue.Member?
        var depth = 0
        while depth < path.count, let entries = node.members,
            let entry = entries.first(where: { $0.name == path[depth] })
        {
            found = entry
            node = entry.value
            depth += 1
        }
        var lines = TextLines(text)
        let missing = path[depth...]
        switch node.content {
        case .string, .number, .bool:
            guard missing.isEmpty, lines.replace(node.text ?? "", at: node.position, with: value) else { return nil }
        case .object(let members) where !missing.isEmpty:
            guard let first = members.first else { return nil }
            if lines.character(at: node.position) == "{" {
                lines.insert(flow(missing) + ", ", after: node.position)
            } else {
                lines.insert(block(missing, indentation: first.position.column - 1), before: first.position.line)
            }
        case .null:
            guard let found else {
                // An empty file, or one that has only comments.
                lines.append(block(missing, indentation: 0))
                break
            }
            guard lines.isEmptyAfter(found.name, at: found.position) else { return nil }
            if missing.isEmpty {
                lines.insert(" \(value)", afterColonOf: found.name, at: found.position)
            } else {
                let indentation = found.position.column + 1
                lines.insert(block(missing, indentation: indentation), before: found.position.line + 1)
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

    func character(at position: DocumentPosition) -> Character? {
        let line = lines[position.line - 1]
        return position.column <= line.count ? line[position.column - 1] : nil
    }

    /// Replaces a scalar that is on one line; returns false if it is not.
    mutating func replace(_ old: String, at position: DocumentPosition, with new: String) -> Bool {
        let line = lines[position.line - 1]
        let start = position.column - 1
        // A quoted scalar without escapes takes two more characters, its quotes.
        let isQuoted = character(at: position).map { "\"'".contains($0) } ?? false
        let length = old.count + (isQuoted ? 2 : 0)
        guard start + length <= line.count else { return false }
        let written = line[start..<(start + length)]
        guard String(isQuoted ? written.dropFirst().dropLast() : written) == old else { return false }
        lines[position.line - 1].replaceSubrange(start..<(start + length), with: Array(new))
        return true
    }

    mutating func insert(_ text: String, after position: DocumentPosition) {
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
    func isEmptyAfter(_ key: String, at position: DocumentPosition) -> Bool {
        guard let rest = afterColon(of: key, at: position) else { return false }
        let text = lines[position.line - 1][rest...].drop { $0 == " " }
        return text.isEmpty || text.first == "#"
    }

    mutating func insert(_ text: String, afterColonOf key: String, at position: DocumentPosition) {
        guard let index = afterColon(of: key, at: position) else { return }
        lines[position.line - 1].insert(contentsOf: Array(text), at: index)
    }

    /// The index after a key's colon; `nil` if the colon does not follow the key immediately.
    private func afterColon(of key: String, at position: DocumentPosition) -> Int? {
        let line = lines[position.line - 1]
        let index = position.column - 1 + key.count
        return index < line.count && line[index] == ":" ? index + 1 : nil
    }
}
