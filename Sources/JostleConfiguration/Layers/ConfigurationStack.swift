package import Documents
package import MotionCore

/// A loaded configuration, layers of single values above it, and the fleet's patches above those. Each layer overrides
/// those below.
///
/// If a single value is refused, alone or in combination with others, the value below it stays in force. The problem is
/// kept for the report: a stored layer may have been valid for an earlier version of the file. A patch is refused as a
/// whole.
package struct ConfigurationStack: Equatable, Sendable {
    /// The result of all layers.
    package struct Resolution: Equatable, Sendable {
        /// The settings in force.
        @ByReference package var settings: JostleSettings

        /// Which layer set each key.
        package var provenance: Provenance

        /// The values in a layer that are not in force, and why.
        package var refused: [DocumentProblem] = []

        /// What became of the fleet's layers, in their order.
        package var outcomes: [PatchOutcome] = []

        /// The fleet's layers of which another patch, or none, was in force before.
        fileprivate func outcomes(worseThan before: Resolution) -> [PatchOutcome] {
            zip(outcomes, before.outcomes).filter { new, old in
                old.chosen.map { (new.chosen ?? .max) > $0 } ?? false
            }.map(\.0)
        }
    }

    /// The configuration below the layers.
    package let base: LoadedConfiguration

    /// The layers of single values, lowest first.
    package private(set) var layers: [ConfigurationLayer]

    /// The fleet's layers, lowest first.
    package private(set) var patches: [PatchLayer]

    /// The result of the layers.
    package private(set) var resolution: Resolution

    /// The number of resolutions so far, each of which takes milliseconds on a board: one, plus one for each `set` and each
    /// change of the patches.
    private(set) var resolutionCount = 1

    /// Stacks layers and patches, lowest first, on a configuration. Its settings `settings.allow` and `fleet.remote`
    /// limit which keys they may set.
    package init(_ base: LoadedConfiguration, layers: [ConfigurationLayer], patches: [PatchLayer] = []) {
        self.base = base
        self.layers = layers
        self.patches = patches
        resolution = ConfigurationStack.resolve(base, layers, patches)
    }

    /// Whether both have the same layers on the same base, whatever their history.
    package static func == (one: ConfigurationStack, other: ConfigurationStack) -> Bool {
        one.base == other.base && one.layers == other.layers && one.patches == other.patches
            && one.resolution == other.resolution
    }

    /// Sets a key of a layer, or removes it if `value` is `nil`.
    ///
    /// A template comes only of the device's own samples, if it is `learned`.
    ///
    /// - Throws: why the value is refused; the stack is then unchanged.
    package mutating func set(
        _ key: String, to value: JSONValue?, in name: String, isLearned: Bool = false
    ) throws(DocumentProblem) {
        let position = DocumentPosition(.layer(name))
        if ConfigurationSchema.isTemplate(key), !isLearned {
            throw DocumentProblem(
                at: position, path: key, "cannot be set: use jostle learn, a file, or a layer of the fleet")
        }
        try check(key, isRemoved: value == nil, at: position)
        guard let index = layers.firstIndex(where: { $0.name == name }) else { return }
        var changed = layers
        if let value {
            changed[index][key] = try canonical(value, of: key, at: position)
        } else {
            changed[index][key] = nil
        }
        let result = resolve(changed, patches)
        // Removing a key is always possible; values that no longer fit together are reported as refused.
        if value != nil, let problem = result.refused.first(where: { !resolution.refused.contains($0) }) {
            throw problem.attributed(to: key)
        }
        if value != nil, let outcome = result.outcomes(worseThan: resolution).first {
            let reason = outcome.problems.last?.first.map { ": \($0.path) \($0.reason)" } ?? ""
            throw DocumentProblem(
                at: position, path: key, "conflicts with the fleet's layer \(outcome.name)\(reason)")
        }
        layers = changed
        resolution = result
    }

    /// - Throws: why a key may not be set or removed.
    private func check(_ key: String, isRemoved: Bool = false, at position: DocumentPosition) throws(DocumentProblem) {
        if let problem = RemoteKeys.home(base.settings).problem(of: key, at: position) { throw problem }
        if !isRemoved, let layer = layer(governing: key) {
            throw DocumentProblem(at: position, path: key, "is set by the fleet's layer \(layer)")
        }
    }

    /// - Throws: why a gesture of this name that the device learns could not be kept in a layer.
    package func checkRoom(for name: GestureName, in layer: String) throws(DocumentProblem) {
        let position = DocumentPosition(.layer(layer))
        try check(GestureKind(.learned, name).templateKey, at: position)
        let known = resolution.settings.learned
        guard known[name] == nil, known.count >= LearnedGestureSettings.mostGestures else { return }
        throw DocumentProblem(
            at: position, path: "gestures.learned", "has \(known.count) gestures already",
            allowed: "at most \(LearnedGestureSettings.mostGestures)")
    }

    /// Removes all that a layer has of a learned gesture; returns whether there was anything.
    package mutating func forget(_ name: GestureName, in layer: String) -> Bool {
        guard let index = layers.firstIndex(where: { $0.name == layer }) else { return false }
        let section = "\(GestureKind(.learned, name).section)."
        var changed = layers
        for entry in layers[index].entries where entry.key.hasPrefix(section) { changed[index][entry.key] = nil }
        guard changed != layers else { return false }
        resolution = resolve(changed, patches)
        layers = changed
        return true
    }

    /// Replaces the fleet's layers.
    package mutating func setPatches(_ patches: [PatchLayer]) {
        guard patches != self.patches else { return }
        resolution = resolve(layers, patches)
        self.patches = patches
    }

    /// The value in force of a key in the form in which it is written; `nil` if there is no such key.
    package func value(of key: String) -> JSONValue? { ConfigurationSchema.value(of: key, in: resolution.settings) }

    /// The highest of the fleet's layers that sets a key; `nil` if none does.
    package func layer(governing key: String) -> String? {
        resolution.outcomes.last { $0.keys.contains(key) }?.name
    }

    /// The value in the form in which a report writes it, so that the stored layer does not depend on the sender's
    /// notation.
    ///
    /// - Throws: if the value is not valid for the key.
    private func canonical(
        _ value: JSONValue, of key: String, at position: DocumentPosition
    ) throws(DocumentProblem) -> JSONValue {
        guard let setting = ConfigurationSchema.setting(key) else { return value }
        // Which rules there are depends on the configuration below.
        var builder = RuleSwitch(key: key) == nil ? ConfigurationBuilder() : ConfigurationBuilder(base)
        builder.apply(ConfigurationLayer.Entry(key: key, value: value).tree(at: position))
        if let problem = builder.problems.last { throw problem.attributed(to: key) }
        return setting.write(builder.settings)
    }

    private mutating func resolve(_ layers: [ConfigurationLayer], _ patches: [PatchLayer]) -> Resolution {
        resolutionCount += 1
        return ConfigurationStack.resolve(base, layers, patches)
    }

    private static func resolve(
        _ base: LoadedConfiguration, _ layers: [ConfigurationLayer], _ patches: [PatchLayer]
    ) -> Resolution {
        let keys = RemoteKeys.home(base.settings)
        var builder = ConfigurationBuilder(base)
        var refused: [DocumentProblem] = []
        for layer in layers {
            // Try all entries together first: a combination may be valid although each value alone conflicts with lower
            // layers.
            guard builder.add(layer.entries, of: layer.name, keys) != nil else { continue }
            refused += layer.entries.compactMap { builder.add([$0], of: layer.name, keys) }
        }
        let fleetKeys = RemoteKeys.fleet(base.settings)
        let outcomes = patches.map { builder.apply($0, fleetKeys) }
        return Resolution(
            settings: builder.settings, provenance: builder.provenance, refused: refused, outcomes: outcomes)
    }
}

extension ConfigurationBuilder {
    /// Applies some entries of a layer, unless they cause a problem.
    ///
    /// - Returns: the first problem.
    fileprivate mutating func add(
        _ entries: [ConfigurationLayer.Entry], of layer: String, _ keys: RemoteKeys
    ) -> DocumentProblem? {
        let position = DocumentPosition(.layer(layer))
        let contradictionsBefore = contradictions
        var result = self
        for entry in entries {
            if let problem = keys.problem(of: entry.key, at: position) { return problem }
            result.apply(entry.tree(at: position))
            if let problem = result.problems.last { return problem }
        }
        let isNew = { (problem: DocumentProblem) in !contradictionsBefore.contains(problem) }
        if let contradiction = result.contradictions.first(where: isNew) {
            return contradiction.attributed(to: entries.last?.key ?? contradiction.path)
        }
        self = result
        return nil
    }
}

extension DocumentProblem {
    /// The problem reported for the key that caused it, which may differ from the key that it names.
    fileprivate func attributed(to key: String) -> DocumentProblem {
        guard path != key else { return self }
        var problem = self
        problem.found = nil
        problem.reason = "conflicts with another value: \(path) \(reason)"
        problem.path = key
        return problem
    }
}

// MARK: Reporting

extension ConfigurationStack {
    /// The values in force as a tree of keys; without the section `mqtt`, because login data stay on the device.
    package var values: JSONValue {
        guard let members = ConfigurationSchema.values(of: resolution.settings).members else { return .null }
        return .object(members.filter { $0.name != "mqtt" && $0.name != "page" })
    }

    /// The keys whose values differ between two settings.
    package static func changedKeys(_ one: JostleSettings, _ other: JostleSettings) -> [ConfigurationChange] {
        guard one != other else { return [] }
        var changes = ConfigurationSchema.allSettings.compactMap { path, setting -> ConfigurationChange? in
            if path == "actions", one.actionsSwitchedOn == other.actionsSwitchedOn { return nil }
            return change(of: path, setting, one, other)
        }
        for name in Set(one.learned.keys).union(other.learned.keys).sorted() {
            let settings = ConfigurationSchema.learned(name).settings(under: "gestures.learned.\(name)")
            changes += settings.compactMap { change(of: $0.path, $0.setting, one, other) }
        }
        let known = Set(one.ruleNames)
        return changes
            + other.ruleNames.filter(known.contains).compactMap { name in
                change(of: RuleSwitch(name).key, RuleSwitch(name).setting, one, other)
            }
    }

    private static func change(
        of path: String, _ setting: Setting, _ one: JostleSettings, _ other: JostleSettings
    ) -> ConfigurationChange? {
        guard setting.write(one) != setting.write(other) else { return nil }
        let (old, new) = (setting.shown(one), setting.shown(other))
        return ConfigurationChange(
            key: path, old: old, new: new, effect: setting.effect, touchesNetwork: setting.touchesNetwork)
    }

    /// The keys of the settings in force, with those of the rules that have names.
    package var keys: [String] {
        ConfigurationSchema.paths(of: resolution.settings) + resolution.settings.ruleNames.map { RuleSwitch($0).key }
    }

    /// The layer that each key comes from, except those with their built-in defaults: `{"sensor.rate": "file"}`.
    package var origins: JSONValue {
        let paths = ConfigurationSchema.paths(of: resolution.settings).filter { !$0.hasPrefix("mqtt.") }
        let origins = paths.map { ($0, resolution.provenance[$0]) } + originsOfRules
        return .object(
            origins.compactMap { path, position in
                position.map { JSONValue.Member(path, .string($0.source.layerName)) }
            })
    }

    /// Where it comes from whether a rule acts: a switch, or the list of rules itself.
    private var originsOfRules: [(String, DocumentPosition?)] {
        resolution.settings.actions.enumerated().compactMap { index, action in
            action.name.map { name in
                let key = RuleSwitch(name).key
                return (key, resolution.provenance[key] ?? resolution.provenance["actions[\(index)].enabled"])
            }
        }
    }
}

extension DocumentSource {
    /// The layer's name in reports.
    package var layerName: String {
        switch self {
        case .file: "file"
        case .argument: "argument"
        case .message: "message"
        case .layer(let name): name
        }
    }
}

/// A key whose value changed.
package struct ConfigurationChange: Equatable, Sendable {
    package var key: String
    /// The values in the form in which they are written; null if there is none.
    package var old: JSONValue
    package var new: JSONValue
    /// What the change takes to become effective.
    package var effect: SettingEffect
    /// Whether it can affect the connection to the broker.
    package var touchesNetwork: Bool
}

extension ConfigurationStack {
    /// The same layers over a configuration that was read again while the agent runs.
    ///
    /// Keys that are only read at the start keep the values in force. The rest is taken over as a whole: if the values of
    /// these keys and the new ones do not fit together, nothing is.
    ///
    /// - Returns: the stack, and the keys that take effect at the next start.
    package func reloading(_ loaded: LoadedConfiguration) -> (stack: ConfigurationStack, pending: [String]) {
        var mixed = loaded
        var held: [String] = []
        var all: [String] = []
        for (path, setting) in ConfigurationSchema.allSettings
        where setting.write(base.settings) != setting.write(loaded.settings) {
            all.append(path)
            guard Self.isReadAtStart(path, setting) else { continue }
            held.append(path)
            setting.copy(base.settings, &mixed.settings)
            mixed.provenance[path] = base.provenance[path]
        }
        guard ConfigurationBuilder(mixed).contradictions.isEmpty else { return (self, all) }
        return (ConfigurationStack(mixed, layers: layers, patches: patches), held)
    }

    /// Whether a key is only read at the start. The device's identity, its broker and its permissions are, whoever changes
    /// them.
    private static func isReadAtStart(_ path: String, _ setting: Setting) -> Bool {
        guard path != "actions" else { return false }
        return setting.effect == .agentRestart || RemoteKeys.isLocalOnly(path)
    }
}

extension RemoteKeys {
    /// Why a key may not be changed, or that it does not exist; `nil` if it may be changed.
    func problem(of key: String, at position: DocumentPosition) -> DocumentProblem? {
        // A template in a layer of single values is the device's own, whatever others may set.
        if ConfigurationSchema.isTemplate(key) { return nil }
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard key.utf8.count <= RemoteKeys.longest, let section = names.first,
            allows(key) || !RemoteKeys.isLocalOnly(section) && allowsKey(in: section)
        else { return refusal(key, at: position) }
        if ConfigurationSchema.setting(key) != nil {
            return allows(key) ? nil : refusal(key, at: position)
        }
        if ConfigurationSchema.isSection(names) {
            return DocumentProblem(at: position, path: key, "is a group of keys; set one of them")
        }
        // The builder suggests the nearest valid key.
        var builder = ConfigurationBuilder()
        builder.apply(ConfigurationLayer.Entry(key: key, value: .null).tree(at: position))
        return builder.problems.first ?? DocumentProblem(at: position, path: key, "unknown key")
    }
}
