/// A merge patch (RFC 7396) over the configuration below it.
package struct ConfigurationPatch: Equatable, Sendable {
    /// The keys and values; `null` restores a key's built-in default, or those of a whole section.
    package var tree: ConfigurationNode

    /// Whether keys that this program does not know are left out instead of refused.
    package var ignoresUnknownKeys: Bool

    package init(_ tree: ConfigurationNode, ignoresUnknownKeys: Bool = false) {
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
    package var problems: [[ConfigurationProblem]] = []

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
