/// Which layer set each key.
package struct Provenance: Equatable, Sendable {
    private var positions: [String: ConfigurationPosition] = [:]

    /// Makes the provenance of the built-in defaults: no key was set.
    package init() {}

    /// Where the key with this path was set; `nil` where the built-in default is in force.
    package internal(set) subscript(path: String) -> ConfigurationPosition? {
        get { positions[path] }
        set { positions[path] = newValue }
    }

    /// Forgets the keys of the elements of a list, which another list replaces.
    mutating func forget(below path: String) {
        positions = positions.filter { !$0.key.hasPrefix("\(path)[") }
    }
}
