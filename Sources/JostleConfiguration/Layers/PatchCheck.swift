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
    package let problems: [ConfigurationProblem]

    package init(_ patch: ConfigurationPatch) {
        var builder = ConfigurationBuilder(forRulesOf: patch.tree)
        let rules = PatchRules(keys: .anyLayer, ignoresUnknownKeys: patch.ignoresUnknownKeys)
        let (patched, ignored) = builder.apply(patch: patch.tree, rules)
        // Other contradictions may be resolved by the board's own configuration.
        problems = builder.problems + builder.contradictions.filter { $0.path.hasPrefix("gestures.") }
        ignoredKeys = ignored
        let (settings, provenance) = (builder.settings, builder.provenance)
        values = patched.map { key in
            Value(
                key: key,
                value: provenance[key] == nil ? nil : ConfigurationSchema.setting(key)?.write(settings) ?? .null)
        }
    }
}

extension RemoteKeys {
    /// Whether a board that reports these patterns as its `fleet.remote` lets its fleet set a key.
    package static func allows(_ key: String, patterns: [String]) -> Bool {
        RemoteKeys(patterns: patterns, setting: "fleet.remote").allows(key)
    }
}
