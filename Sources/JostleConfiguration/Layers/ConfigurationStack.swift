/// A loaded configuration and layers of single values above it, of which each overrides those before it.
///
/// A value that is refused, by itself or together with others, leaves the one below it in force and is remembered: a layer
/// that is kept may have been right for a file that was changed since.
package struct ConfigurationStack: Equatable, Sendable {
    /// What came of all layers.
    package struct Resolution: Equatable, Sendable {
        /// What is in force.
        package var settings: JostleSettings

        /// Which layer set what.
        package var provenance: Provenance

        /// What is in a layer and not in force, and why.
        package var refused: [ConfigurationProblem] = []
    }

    /// What the layers stand upon.
    package let base: LoadedConfiguration
    private let keys: RemoteKeys

    /// The layers, lowest first.
    package private(set) var layers: [ConfigurationLayer]

    /// What came of them.
    package private(set) var resolution: Resolution

    /// How often the layers were resolved, which takes milliseconds on a board: once, and once more for each `set`.
    private(set) var resolutionCount = 1

    /// Puts layers, lowest first, upon a configuration; they may have the keys of `keys`.
    package init(_ base: LoadedConfiguration, layers: [ConfigurationLayer], keys: RemoteKeys = .local) {
        self.base = base
        self.keys = keys
        self.layers = layers
        resolution = ConfigurationStack.resolve(base, layers, keys)
    }

    /// Whether both have the same layers on the same base, however they came about.
    package static func == (one: ConfigurationStack, other: ConfigurationStack) -> Bool {
        one.base == other.base && one.keys == other.keys && one.layers == other.layers
            && one.resolution == other.resolution
    }

    /// Sets a key of a layer to a value, or takes it out where there is none.
    ///
    /// - Throws: why the value is refused; then everything is as it was.
    package mutating func set(
        _ key: String, to value: JSONValue?, in name: String
    ) throws(ConfigurationProblem) {
        let position = ConfigurationPosition(.layer(name))
        try keys.check(key, at: position)
        guard let index = layers.firstIndex(where: { $0.name == name }) else { return }
        var changed = layers
        if let value {
            changed[index][key] = try ConfigurationStack.canonical(value, of: key, at: position)
        } else {
            changed[index][key] = nil
        }
        let result = resolve(changed)
        // Taking a key out is always possible; what then no longer fits is reported as such.
        if value != nil, let problem = result.refused.first(where: { !resolution.refused.contains($0) }) {
            throw problem.told(of: key)
        }
        layers = changed
        resolution = result
    }

    /// The value as a report would write it, so that what is kept does not depend on how it was said.
    ///
    /// - Throws: why no such value can be.
    private static func canonical(
        _ value: JSONValue, of key: String, at position: ConfigurationPosition
    ) throws(ConfigurationProblem) -> JSONValue {
        guard let setting = ConfigurationSchema.setting(key) else { return value }
        var builder = ConfigurationBuilder()
        builder.apply(ConfigurationLayer.Entry(key: key, value: value).tree(at: position))
        if let problem = builder.problems.last { throw problem.told(of: key) }
        return setting.write(builder.settings)
    }

    private mutating func resolve(_ layers: [ConfigurationLayer]) -> Resolution {
        resolutionCount += 1
        return ConfigurationStack.resolve(base, layers, keys)
    }

    private static func resolve(
        _ base: LoadedConfiguration, _ layers: [ConfigurationLayer], _ keys: RemoteKeys
    ) -> Resolution {
        var builder = ConfigurationBuilder(base)
        var refused: [ConfigurationProblem] = []
        for layer in layers {
            // All at once first: values may fit together that contradict those below one by one.
            do throws(ConfigurationProblem) {
                builder = try builder.adding(layer.entries, of: layer.name, keys)
            } catch {
                for entry in layer.entries {
                    do throws(ConfigurationProblem) {
                        builder = try builder.adding([entry], of: layer.name, keys)
                    } catch {
                        refused.append(error)
                    }
                }
            }
        }
        return Resolution(settings: builder.settings, provenance: builder.provenance, refused: refused)
    }
}

extension ConfigurationBuilder {
    /// The builder with some entries of a layer applied.
    ///
    /// - Throws: the first thing that is wrong with them.
    fileprivate func adding(
        _ entries: [ConfigurationLayer.Entry], of layer: String, _ keys: RemoteKeys
    ) throws(ConfigurationProblem) -> ConfigurationBuilder {
        let position = ConfigurationPosition(.layer(layer))
        let contradictionsBefore = contradictions
        var result = self
        for entry in entries {
            try keys.check(entry.key, at: position)
            result.apply(entry.tree(at: position))
            if let problem = result.problems.last { throw problem }
        }
        let isNew = { (problem: ConfigurationProblem) in !contradictionsBefore.contains(problem) }
        guard let contradiction = result.contradictions.first(where: isNew) else { return result }
        throw contradiction.told(of: entries.last?.key ?? contradiction.path)
    }
}

extension ConfigurationProblem {
    /// The problem as one of the key that brought it about, which may be another than the one that it names.
    fileprivate func told(of key: String) -> ConfigurationProblem {
        guard path != key else { return self }
        var problem = self
        problem.found = nil
        problem.reason = "does not fit: \(path) \(reason)"
        problem.path = key
        return problem
    }
}

// MARK: Telling it

extension ConfigurationStack {
    /// The values in force as a tree of keys; without the section `mqtt`: how a device gets in is its own affair.
    package var values: JSONValue {
        guard case .object(let members) = ConfigurationSchema.values(of: resolution.settings) else { return .null }
        return .object(members.filter { $0.name != "mqtt" })
    }

    /// The layer that each key comes from, except those with their built-in defaults: `{"sensor.rate": "file"}`.
    package var origins: JSONValue {
        .object(
            ConfigurationSchema.keys.compactMap { key in
                guard !key.path.hasPrefix("mqtt."), let position = resolution.provenance[key.path] else { return nil }
                return JSONValue.Member(key.path, .string(position.source.layerName))
            })
    }
}

extension ConfigurationSource {
    /// What reports call the layer that it belongs to.
    package var layerName: String {
        switch self {
        case .file: "file"
        case .argument: "argument"
        case .message: "message"
        case .layer(let name): name
        }
    }
}
