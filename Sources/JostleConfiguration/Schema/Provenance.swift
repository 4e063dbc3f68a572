package import Documents

/// Which layer set each key.
package struct Provenance: Equatable, Sendable {
    private var positions: [String: DocumentPosition] = [:]
    /// The paths that have or had keys below them.
    private var parents: Set<Substring> = []

    /// Creates the provenance of the built-in defaults: no key is set.
    package init() {}

    /// The position at which the key with this path was set; `nil` if the built-in default is in force.
    package internal(set) subscript(path: String) -> DocumentPosition? {
        get { positions[path] }
        set {
            positions[path] = newValue
            var parent = path[...]
            while let end = parent.utf8.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }) {
                parent = parent[..<end]
                guard parents.insert(parent).inserted else { return }
            }
        }
    }

    /// The position of a key at or below a path: the first by name.
    func position(below path: String) -> DocumentPosition? {
        guard parents.contains(path[...]) else { return positions[path] }
        return positions.filter { $0.key == path || $0.key.hasPrefix("\(path).") }.min { $0.key < $1.key }?.value
    }

    package static func == (one: Provenance, other: Provenance) -> Bool { one.positions == other.positions }

    /// Removes the keys of a list's elements, also those by their names, before another list replaces them.
    private mutating func forget(below path: String) {
        guard parents.contains(path[...]) else { return }
        positions = positions.filter { !$0.key.hasPrefix("\(path)[") && !$0.key.hasPrefix("\(path).") }
    }

    /// Removes a key or a section, and the keys below it.
    mutating func forget(_ path: String) {
        forget(below: path)
        positions[path] = nil
    }

    /// Records the position of a value and, for a list of mappings, of each of their keys: `actions[0].publish.topic`.
    mutating func note(_ node: JSONValue, at path: String) {
        forget(below: path)
        self[path] = node.position
        guard let elements = node.elements else { return }
        for (index, element) in elements.enumerated() { noteKeys(of: element, at: "\(path)[\(index)]") }
    }

    private mutating func noteKeys(of node: JSONValue, at path: String) {
        guard let entries = node.members else { return }
        self[path] = node.position
        for entry in entries {
            self["\(path).\(entry.name)"] = entry.value.position
            noteKeys(of: entry.value, at: "\(path).\(entry.name)")
        }
    }
}
