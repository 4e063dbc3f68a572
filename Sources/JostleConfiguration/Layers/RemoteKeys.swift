/// The keys that may be set over MQTT while the agent runs: those that cannot make the board unreachable.
///
/// An authorised client can use them to make a device publish too much or too little, and can undo that. The keys that
/// decide how the board is reached, which sensor it reads and under which names it publishes can be set only in the
/// file.
package struct RemoteKeys: Equatable, Sendable {
    /// The sections whose keys may be set.
    package let sections: [String]

    /// The keys that may be set on the device's `set` topics.
    package static let local = RemoteKeys(sections: ["gestures", "attitude", "publish"])

    /// The longest path that is looked up, bytes.
    static let longest = 128

    /// Throws if a key may not be set.
    func check(_ key: String, at position: ConfigurationPosition) throws(ConfigurationProblem) {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard key.utf8.count <= RemoteKeys.longest, let section = names.first, sections.contains(section) else {
            throw ConfigurationProblem(
                at: position, path: key, "cannot be set over MQTT",
                allowed: "keys of \(ValueFormat<String>.list(sections))")
        }
        if ConfigurationSchema.setting(key) != nil { return }
        if ConfigurationSchema.isSection(names) {
            throw ConfigurationProblem(at: position, path: key, "is a group of keys; set one of them")
        }
        // The builder suggests the nearest valid key.
        var builder = ConfigurationBuilder()
        builder.apply(ConfigurationLayer.Entry(key: key, value: .null).tree(at: position))
        throw builder.problems.first ?? ConfigurationProblem(at: position, path: key, "unknown key")
    }
}

extension ConfigurationSchema {
    private static let settingsByPath = Dictionary(
        root.settings().map { ($0.path, $0.setting) }, uniquingKeysWith: { first, _ in first })

    /// The setting at a path.
    static func setting(_ path: String) -> Setting? { settingsByPath[path] }

    /// Whether a section is at a path.
    static func isSection(_ names: [String]) -> Bool {
        var section = root
        for name in names {
            guard case .section(let inner) = section.member(name) else { return false }
            section = inner
        }
        return true
    }
}
