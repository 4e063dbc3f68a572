package import Documents

/// Which layer set each key.
package struct Provenance: Equatable, Sendable {
    private var positions: [String: DocumentPosition] = [:]

    /// Creates the provenance of the built-in defaults: no key is set.
    package init() {}

    /// The position at which the key with this path was set; `nil` if the built-in default is in force.
    package internal(set) subscript(path: String) -> DocumentPosition? {
        get { positions[path] }
        set { positions[path] = newValue }
    }

    /// Removes the keys of a list's elements, also those by their names, before another list replaces them.
    mutating func forget(below path: String) {
        positions = positions.filter { !$0.key.hasPrefix("\(path)[") && !$0.key.hasPrefix("\(path).") }
    }

    /// Removes the keys of a section, and the section itself if it is a list.
    mutating func forget(section name: String) {
        positions = positions.filter { key, _ in
            key != name && !key.hasPrefix("\(name).") && !key.hasPrefix("\(name)[")
        }
    }
}
