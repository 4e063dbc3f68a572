internal import Documents

/// The keys that may be changed over MQTT while the agent runs.
///
/// An authorised client can use them to make a device publish too much or too little, and can undo that. The keys that
/// decide how the board is reached, under which names it publishes, and who may change what can be set only on the
/// device itself.
package struct RemoteKeys: Equatable, Sendable {
    /// The sections and keys that may be changed; `*` stands for any characters of a key's name.
    package let patterns: [String]

    /// The setting that lists the patterns.
    let setting: String

    /// The sections and keys that no message may change, whatever the patterns are.
    private static let localOnly = ["mqtt", "device", "fleet", "settings", "commands", "recorder", "actions", "page"]

    /// The only one of these keys that a fleet can set, if the device's own file lists it in `fleet.remote`: what is
    /// installed is signed by the device's apt repository.
    static let version = "device.version"

    /// The longest path that is looked up, bytes.
    static let longest = 128

    /// The keys that may be set on the device's `set` topics.
    package static func home(_ settings: JostleSettings) -> RemoteKeys {
        RemoteKeys(patterns: settings.settings.allow, setting: "settings.allow")
    }

    /// The keys that the fleet's layers may set.
    package static func fleet(_ settings: JostleSettings) -> RemoteKeys {
        RemoteKeys(patterns: settings.fleet.remote, setting: "fleet.remote")
    }

    /// The keys that a fleet's layer may set on a device whose `fleet.remote` narrows nothing.
    static let anyLayer = RemoteKeys(patterns: ["*"], setting: "fleet.remote")

    /// Whether a key may be set only on the device itself.
    static func isLocalOnly(_ key: String) -> Bool {
        localOnly.contains { matches($0, key) } && key != version && RuleSwitch(key: key) == nil
    }

    /// Whether a pattern names a key or a section that contains it.
    static func matches(_ pattern: String, _ key: String) -> Bool {
        var (pattern, key) = (pattern, key)
        return pattern.withUTF8 { pattern in key.withUTF8 { isMatch(pattern[...], $0[...]) } }
    }

    private static func isMatch(
        _ pattern: UnsafeBufferPointer<UInt8>.SubSequence, _ key: UnsafeBufferPointer<UInt8>.SubSequence
    ) -> Bool {
        let dot = UInt8(ascii: ".")
        var (pattern, key) = (pattern, key)
        // What follows the last `*`, and where in the key it was tried. Earlier ones need not be tried again: what they left
        // can as well be a part of the last one.
        var star: (rest: UnsafeBufferPointer<UInt8>.SubSequence, from: UnsafeBufferPointer<UInt8>.SubSequence)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern.removeFirst()
                star = (pattern, key)
            } else if let wanted = pattern.first, wanted == key.first {
                pattern.removeFirst()
                key.removeFirst()
            } else if pattern.isEmpty, key.isEmpty || key.first == dot {
                return true
            } else {
                // The last one stands for one more character of its level.
                guard let last = star, let found = last.from.first, found != dot else { return false }
                (pattern, key) = (last.rest, last.from.dropFirst())
                star = (pattern, key)
            }
        }
    }

    /// Whether a key may be changed.
    func allows(_ key: String) -> Bool {
        guard key.utf8.count <= RemoteKeys.longest, !RemoteKeys.isLocalOnly(key) else { return false }
        if key == RemoteKeys.version, self != RemoteKeys.anyLayer { return patterns.contains(key) }
        return patterns.contains { RemoteKeys.matches($0, key) }
    }

    /// Whether any key of a section may be changed.
    func allowsKey(in section: String) -> Bool {
        allows(section) || ConfigurationSchema.paths.contains { $0.hasPrefix("\(section).") && allows($0) }
    }

    /// Why a key may not be changed.
    func refusal(_ key: String, at position: DocumentPosition) -> DocumentProblem {
        if self == RemoteKeys.anyLayer {
            return DocumentProblem(
                at: position, path: key, "cannot be set over MQTT",
                allowed: "every key except those of \(RemoteKeys.localOnly.listed())")
        }
        let list = patterns.listed()
        return DocumentProblem(
            at: position, path: key, "cannot be set over MQTT",
            allowed: patterns.isEmpty ? "no key (\(setting) is empty)" : "keys of \(list) (\(setting))")
    }
}

extension ConfigurationSchema {
    /// All settings with their paths, in the order of the documentation.
    static let allSettings = root.settings()

    private static let settingsByPath = Dictionary(
        allSettings.map { ($0.path, $0.setting) }, uniquingKeysWith: { first, _ in first })

    /// The paths of all keys, in the same order.
    static let paths = allSettings.map { $0.path }

    /// The setting at a path. The switch of a rule has one whether there is such a rule or not.
    static func setting(_ path: String) -> Setting? {
        settingsByPath[path] ?? RuleSwitch(key: path)?.setting ?? learnedSetting(path)
    }

    /// The paths of all keys of these settings, in the order of the documentation.
    static func paths(of settings: JostleSettings) -> [String] {
        settings.learned.isEmpty ? paths : root.settings(in: settings).map(\.path)
    }

    /// Whether a key, such as `gestures.shake`, is that of a section. The empty one is that of the whole configuration.
    package static func hasSection(_ key: String) -> Bool { isSection(key.split(separator: ".").map(String.init)) }

    /// Whether a key is either on or off.
    package static func isSwitch(_ key: String) -> Bool {
        setting(key)?.constraints.contains(.init("type", "boolean")) ?? false
    }

    /// Whether a key is the template of a learned gesture.
    package static func isTemplate(_ key: String) -> Bool { setting(key)?.isLong ?? false }

    /// Whether a key may stand above the switches of rules: `actions`, or `actions.lamp`.
    package static func isAboveRuleSwitch(_ key: String) -> Bool {
        key == "actions" || RuleSwitch(key: "\(key).enabled") != nil
    }

    /// Whether a section is at a path.
    static func isSection(_ names: [String]) -> Bool {
        var section = root
        var rest = names[...]
        while let name = rest.popFirst() {
            switch section.member(name) {
            case .section(let inner): section = inner
            case .table(_, _, let elements):
                guard let name = rest.popFirst() else { return true }
                guard let inner = elements.section(name, JostleSettings()) else { return false }
                section = inner
            case .setting, nil: return false
            }
        }
        return true
    }
}
