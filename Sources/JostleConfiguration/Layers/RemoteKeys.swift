/// The keys that may be set from outside while the agent runs: those that cannot cut the board off.
///
/// Whoever is let in by the broker can make a device tell too much or too little with them, and undo that again. What
/// decides whether it can be reached, reads its sensor, and publishes under other names is the file's.
package struct RemoteKeys: Equatable, Sendable {
    /// The sections whose keys they are.
    package let sections: [String]

    /// The keys that a home may set.
    package static let local = RemoteKeys(sections: ["gestures", "attitude", "publish"])

    /// The longest path of a key, bytes: longer ones are not worth a look.
    static let longest = 128

    /// Says why a key may not be set, where it may not.
    func check(_ key: String, at position: ConfigurationPosition) throws(ConfigurationProblem) {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard key.utf8.count <= RemoteKeys.longest, let section = names.first, sections.contains(section) else {
            throw ConfigurationProblem(
                at: position, path: key, "may not be set from outside",
                allowed: "keys of \(ValueFormat<String>.list(sections))")
        }
        if ConfigurationSchema.setting(key) != nil { return }
        if ConfigurationSchema.isSection(names) {
            throw ConfigurationProblem(at: position, path: key, "is a group of keys; set one of them")
        }
        // The builder knows what may have been meant.
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
