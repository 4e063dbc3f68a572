/// Settings made of layers, each of which overrides the ones before it: defaults, a file, arguments, messages.
///
/// A value that is refused leaves the one below it in force and is remembered in `problems`; whoever builds decides
/// whether that is fatal.
package struct ConfigurationBuilder: Sendable {
    /// What is in force so far.
    package private(set) var settings = JostleSettings()

    /// Which layer set what.
    package private(set) var provenance = Provenance()

    /// What was refused, in the order in which it was read; at most a hundred problems.
    package private(set) var problems: [ConfigurationProblem] = []

    /// Makes a builder with the built-in defaults.
    package init() {}

    /// Makes a builder that goes on from a configuration that is in order.
    package init(_ loaded: LoadedConfiguration) {
        settings = loaded.settings
        provenance = loaded.provenance
    }

    /// Applies a layer; relative paths in it belong to `directory`, or without one to the working directory.
    package mutating func apply(_ layer: ConfigurationNode, directory: String? = nil) {
        var reader = SectionReader(settings, provenance, problems, directory: directory)
        reader.read(layer, as: ConfigurationSchema.root)
        (settings, provenance, problems) = (reader.value, reader.provenance, reader.problems)
    }

    /// Applies an argument `key=value`; the value is text, or a YAML flow collection or quoted scalar.
    package mutating func apply(override argument: String) {
        do throws(ConfigurationProblem) {
            apply(try Override.parse(argument))
        } catch {
            report(error)
        }
    }

    /// Remembers a problem that was found elsewhere, in reading a layer for example.
    package mutating func report(_ problem: ConfigurationProblem) {
        if problems.count < ConfigurationProblem.maximumCount { problems.append(problem) }
    }

    /// The configuration, if nothing was refused and its values fit together.
    package func finish() throws(ConfigurationErrors) -> LoadedConfiguration {
        let all = problems + contradictions
        guard all.isEmpty else { throw .invalid(all) }
        return LoadedConfiguration(settings: settings, provenance: provenance)
    }

    /// What is wrong with values that are right by themselves.
    package var contradictions: [ConfigurationProblem] {
        let mqtt = settings.mqtt
        var problems: [ConfigurationProblem] = []
        func require(_ other: String, for path: String, unless isGiven: Bool) {
            guard !isGiven, let position = provenance[path] else { return }
            problems.append(ConfigurationProblem(at: position, path: path, "needs \(other) as well"))
        }
        if mqtt.certificateFile != nil {
            require("mqtt.key_file", for: "mqtt.certificate_file", unless: mqtt.keyFile != nil)
        }
        if mqtt.keyFile != nil {
            require("mqtt.certificate_file", for: "mqtt.key_file", unless: mqtt.certificateFile != nil)
        }
        if mqtt.passwordFile != nil {
            // MQTT 3.1.1 has no password without a user's name, [MQTT-3.1.2-22].
            let hasUser = mqtt.username != nil || mqtt.usernameFile != nil
            require("mqtt.username or mqtt.username_file", for: "mqtt.password_file", unless: hasUser)
        }
        if settings.imu.assumedIdentity != nil {
            // Whoever vouches for a chip knows what it is a copy of.
            var isNamed = false
            if case .family = settings.sensor.driver { isNamed = true }
            require("a family of chips as sensor.driver", for: "sensor.identity", unless: isNamed)
        }
        return problems + closedGates + forbiddenTopics
    }
}

extension ConfigurationBuilder {
    /// Gates that no tilt opens.
    private var closedGates: [ConfigurationProblem] {
        GestureNames.gestures.compactMap { name, gesture in
            let gate = settings.motion.gestures[gesture].gate
            let paths = ["tilt_above", "tilt_below"].map { "gestures.\(name).when.\($0)" }
            guard gate.tiltAbove > gate.tiltBelow, let path = paths.first(where: { provenance[$0] != nil }),
                let position = provenance[path]
            else { return nil }
            return ConfigurationProblem(
                at: position, path: path, "leaves no tilt: tilt_above is larger than tilt_below")
        }
    }

    /// Actions that would publish where only the device itself or its fleet may: what it says of itself must be true, and
    /// a gesture that sent it commands could go on for ever.
    private var forbiddenTopics: [ConfigurationProblem] {
        settings.actions.enumerated().compactMap { index, action in
            let path = "actions[\(index)].publish.topic"
            guard let topic = action.publish.topic, let position = provenance[path] ?? provenance["actions"],
                ActionTopics(prefix: settings.mqtt.prefix, id: settings.device.id).forbid(topic)
            else { return nil }
            return ConfigurationProblem(
                at: position, path: path, found: topic.source,
                "lies under \(settings.mqtt.prefix)/, where only the device itself and its fleet publish")
        }
    }
}
