package import Documents

/// A merge patch (RFC 7396) over the configuration below it.
package struct ConfigurationPatch: Equatable, Sendable {
    /// The keys and values; `null` restores a key's built-in default, or those of a whole section.
    package var tree: JSONValue

    /// Whether keys that this program does not know are left out instead of refused.
    package var ignoresUnknownKeys: Bool

    package init(_ tree: JSONValue, ignoresUnknownKeys: Bool = false) {
        self.tree = tree
        self.ignoresUnknownKeys = ignoresUnknownKeys
    }
}

/// A layer of the fleet: the first of its patches that is valid over the layers below is in force.
package struct PatchLayer: Equatable, Sendable {
    /// The name in reports: `all`, `group:laundry` or `device`.
    package var name: String

    /// The patches, the preferred one first.
    package var patches: [ConfigurationPatch]

    package init(_ name: String, _ patches: [ConfigurationPatch]) {
        self.name = name
        self.patches = patches
    }
}

/// Which patch of a layer is in force.
package struct PatchOutcome: Equatable, Sendable {
    /// The layer's name.
    package var name: String

    /// The index of the patch in force; `nil` if none is valid.
    package var chosen: Int?

    /// Why each patch before the chosen one is not in force.
    package var problems: [[DocumentProblem]] = []

    /// The keys that the patch in force sets or restores.
    package var keys: [String] = []

    /// The unknown keys that it left out.
    package var ignoredKeys: [String] = []
}

extension ConfigurationBuilder {
    /// Applies the first valid patch of a layer.
    mutating func apply(_ layer: PatchLayer, _ keys: RemoteKeys) -> PatchOutcome {
        var outcome = PatchOutcome(name: layer.name)
        let contradictionsBefore = contradictions
        for (index, patch) in layer.patches.enumerated() {
            var trial = self
            let result = trial.apply(
                patch: patch.tree, PatchRules(keys: keys, ignoresUnknownKeys: patch.ignoresUnknownKeys))
            let problems =
                trial.problems.dropFirst(self.problems.count)
                + trial.contradictions.filter { !contradictionsBefore.contains($0) }
            guard problems.isEmpty else {
                outcome.problems.append(Array(problems))
                continue
            }
            self = trial
            outcome.chosen = index
            outcome.keys = result.patched
            outcome.ignoredKeys = result.ignored
            return outcome
        }
        return outcome
    }
}

/// What a fleet's layer sets, checked without the boards that it is for.
///
/// A board may still refuse the layer: its own `fleet.remote` may be narrower, and a value may contradict another one of
/// the board.
package struct PatchCheck: Equatable, Sendable {
    /// A key that the layer sets.
    package struct Value: Equatable, Sendable {
        package var key: String
        /// The value in the form in which boards report it; `nil` if the layer restores the built-in default.
        package var value: JSONValue?
    }

    /// The keys in the order of the layer. A section that is null counts as all its keys.
    package let values: [Value]

    /// The keys that this program does not know and that are left out.
    package let ignoredKeys: [String]

    /// Why boards would refuse the layer.
    package let problems: [DocumentProblem]

    package init(_ patch: ConfigurationPatch) {
        var builder = ConfigurationBuilder(forRulesOf: patch.tree)
        let rules = PatchRules(keys: .anyLayer, ignoresUnknownKeys: patch.ignoresUnknownKeys)
        let (patched, ignored) = builder.apply(patch: patch.tree, rules)
        // Other contradictions may be resolved by the board's own configuration.
        problems =
            builder.problems
            + builder.contradictions.filter {
                $0.path.hasPrefix("gestures.") && !$0.path.hasPrefix("gestures.learned.")
            }
        ignoredKeys = ignored
        let (settings, provenance) = (builder.settings, builder.provenance)
        values = patched.map { key in
            Value(
                key: key,
                value: provenance[key] == nil ? nil : ConfigurationSchema.setting(key)?.shown(settings) ?? .null)
        }
    }
}

extension RemoteKeys {
    /// Whether a board that reports these patterns as its `fleet.remote` lets its fleet set a key.
    package static func allows(_ key: String, patterns: [String]) -> Bool {
        RemoteKeys(patterns: patterns, setting: "fleet.remote").allows(key)
    }
}
