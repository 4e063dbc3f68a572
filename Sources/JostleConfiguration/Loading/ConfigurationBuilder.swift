package import Documents
internal import MotionCore

/// Settings built from layers, each of which overrides the ones before: defaults, a file, arguments, messages.
///
/// If a value is refused, the previous one stays in force and the problem is added to `problems`; the caller decides
/// whether that is fatal.
package struct ConfigurationBuilder: Sendable {
    private var reader = SectionReader(ConfigurationSchema.root)

    /// The rules with `run` or `post` that the configuration below has switched off. What comes above it is from MQTT, and
    /// must not switch them on.
    private var lockedRules: [String] = []

    /// The settings in force so far.
    package var settings: JostleSettings { reader.value }

    /// Which layer set each key.
    package var provenance: Provenance { reader.provenance }

    /// The refused values in the order in which they were read; at most a hundred.
    package var problems: [DocumentProblem] { reader.problems }

    /// Creates a builder with the built-in defaults.
    package init() {}

    /// Creates a builder that continues from a valid configuration.
    package init(_ loaded: LoadedConfiguration) {
        reader.value = loaded.settings
        reader.provenance = loaded.provenance
        lockedRules = loaded.settings.actions.compactMap { $0.reachesOut && !$0.isEnabled ? $0.name : nil }
    }

    /// Creates a builder for a patch that is checked without the device that it is for: every rule that it switches exists.
    init(forRulesOf patch: JSONValue) {
        for name in (patch["actions"]?.members ?? []).map(\.name) where JostleSettings.Device.isID(name) {
            var rule = JostleSettings.Action()
            rule.name = name
            reader.value.actions.append(rule)
        }
    }

    /// Applies a layer. Relative paths in it refer to `directory`, or to the working directory if that is `nil`.
    package mutating func apply(_ layer: JSONValue, directory: String? = nil) {
        reader.read(layer, directory: directory)
    }

    /// Applies a merge patch (RFC 7396): the values replace those of the layers below, and `null` restores a default.
    ///
    /// - Returns: the keys that the patch sets or restores, and the unknown ones that it left out.
    mutating func apply(patch: JSONValue, _ rules: PatchRules) -> (patched: [String], ignored: [String]) {
        reader.read(patch, patch: rules)
        return (reader.patched, reader.ignored)
    }

    /// Applies an argument `key=value`; the value is text, or a YAML flow collection or quoted scalar.
    package mutating func apply(override argument: String) {
        do { apply(try Override.parse(argument)) } catch { report(error) }
    }

    /// Adds a problem found elsewhere, for example while reading a layer.
    package mutating func report(_ problem: DocumentProblem) { reader.report(problem) }

    /// The configuration, if no value was refused and the values fit together; `files` are those that were applied.
    package func finish(_ files: [String] = []) throws(ConfigurationErrors) -> LoadedConfiguration {
        let all = problems + contradictions
        guard all.isEmpty else { throw .invalid(all) }
        return LoadedConfiguration(
            settings: settings.withDefaultsOfSignedFleet(provenance), provenance: provenance, files: files)
    }

    /// Combinations of values that are valid one by one but not together.
    package var contradictions: [DocumentProblem] {
        let mqtt = settings.mqtt
        var problems: [DocumentProblem] = []
        func require(_ other: String, for path: String, unless isGiven: Bool) {
            guard !isGiven, let position = provenance[path] else { return }
            problems.append(DocumentProblem(at: position, path: path, "needs \(other) as well"))
        }
        if mqtt.certificateFile != nil {
            require("mqtt.key_file", for: "mqtt.certificate_file", unless: mqtt.keyFile != nil)
        }
        if mqtt.keyFile != nil {
            require("mqtt.certificate_file", for: "mqtt.key_file", unless: mqtt.certificateFile != nil)
        }
        if mqtt.passwordFile != nil {
            // MQTT 3.1.1 has no password without a user name, [MQTT-3.1.2-22].
            let hasUser = mqtt.username != nil || mqtt.usernameFile != nil
            require("mqtt.username or mqtt.username_file", for: "mqtt.password_file", unless: hasUser)
        }
        if settings.imu.assumedIdentity != nil {
            // A user who vouches for a chip's identity must also name its family.
            var isNamed = false
            if case .family = settings.sensor.driver { isNamed = true }
            require("a family of chips as sensor.driver", for: "sensor.identity", unless: isNamed)
        }
        if settings.imu.connectsMagnetometer {
            require("sensor.gyroscope: true", for: "sensor.magnetometer", unless: settings.imu.readsGyroscope)
        }
        return problems + contradictoryGates + learnedFaults + unknownGestures + forbiddenTopics + repeatedRuleNames
            + repeatedKeys + unlockedRules
    }
}

extension JostleSettings {
    /// What may be done over MQTT without a signature although the fleet's documents need one; `nil` if nothing of
    /// consequence.
    package var unsignedAccess: String? {
        guard !fleet.trustedKeys.isEmpty else { return nil }
        let commands = commands.allow.filter { ![.ping, .getState].contains($0) }.map(\.rawValue)
        let lists = [("settings.allow", settings.allow), ("commands.allow", commands)].filter { !$0.1.isEmpty }
        guard !lists.isEmpty else { return nil }
        let texts = lists.map { "\($0.0) (\($0.1.joined(separator: ", ")))" }.joined(separator: " and ")
        return "fleet.trusted_keys is set, but no signature is needed for what \(texts) permits"
    }

    /// With trusted keys, a broker that somebody broke into must not control the device without a signature either: what
    /// the configuration does not say is narrower.
    fileprivate func withDefaultsOfSignedFleet(_ provenance: Provenance) -> JostleSettings {
        guard !fleet.trustedKeys.isEmpty else { return self }
        var settings = self
        if provenance["settings.allow"] == nil { settings.settings.allow = [] }
        if provenance["commands.allow"] == nil { settings.commands.allow = [.ping, .getState] }
        return settings
    }
}

extension ConfigurationBuilder {
    /// Trusted keys with the same name.
    private var repeatedKeys: [DocumentProblem] {
        let path = "fleet.trusted_keys"
        let names = settings.fleet.trustedKeys.map(\.name)
        guard let position = provenance[path], let name = names.first(where: { name in names.count { $0 == name } > 1 })
        else { return [] }
        return [DocumentProblem(at: position, path: path, found: name, "names two different keys")]
    }

    /// Gates that no tilt can satisfy.
    private var contradictoryGates: [DocumentProblem] {
        settings.gestureKinds.compactMap { kind in
            let paths = ["tilt_above", "tilt_below"].map { "\(kind.section).when.\($0)" }
            guard let gate = settings[kind]?.gate, gate.tiltAbove > gate.tiltBelow,
                let path = paths.first(where: { provenance[$0] != nil }),
                let position = provenance[path]
            else { return nil }
            return DocumentProblem(
                at: position, path: path, "can never be met: tilt_above is larger than tilt_below")
        }
    }

    /// Gestures that are named, but that there are not. What the command `learn` may bring need not be there yet.
    private var unknownGestures: [DocumentProblem] {
        let mayLearn = settings.commands.allow.contains(.learn)
        let rules = settings.actions.enumerated().map { ("actions[\($0)].on", $1.on) }
        return (rules + settings.recorder.gestures.map { ("recorder.on", $0) }).compactMap { path, kind in
            guard settings[kind] == nil, !(mayLearn && kind.name != nil),
                let position = provenance[path] ?? provenance["actions"]
            else { return nil }
            let words = settings.gestureKinds.map(\.word)
            return DocumentProblem(
                at: position, path: path, found: kind.word,
                "is unknown\(EditDistance.suggestion(for: kind.word, among: words))", allowed: words.listed())
        }
    }

    /// Actions that would publish on a topic reserved for the device or its fleet. The device's own reports must be
    /// true, and a gesture that sent a command to its own device could start an endless loop.
    private var forbiddenTopics: [DocumentProblem] {
        settings.actions.enumerated().compactMap { index, action in
            let path = "actions[\(index)].publish.topic"
            guard let topic = action.publish.topic, let position = provenance[path] ?? provenance["actions"],
                ActionTopics(prefix: settings.mqtt.prefix, id: settings.device.id).isReserved(topic)
            else { return nil }
            return DocumentProblem(
                at: position, path: path, found: topic.source,
                "is under \(settings.mqtt.prefix)/, where only the device itself and its fleet may publish")
        }
    }

    /// Rules that only the board's own files may switch on.
    private var unlockedRules: [DocumentProblem] {
        lockedRules.compactMap { name in
            let path = RuleSwitch(name).key
            guard settings[isRuleEnabled: name], let position = provenance[path] ?? provenance["actions"] else {
                return nil
            }
            return DocumentProblem(
                at: position, path: path,
                "cannot be switched on over MQTT: the rule runs a program or calls a webhook, and is off in the "
                    + "configuration of the board", allowed: "false")
        }
    }

    /// Rules with the same name.
    private var repeatedRuleNames: [DocumentProblem] {
        let names = settings.actions.map(\.name)
        return names.enumerated().compactMap { index, name in
            guard let name, names[..<index].contains(name),
                let position = provenance["actions[\(index)].name"] ?? provenance["actions"]
            else { return nil }
            return DocumentProblem(
                at: position, path: "actions[\(index)].name", found: name, "is the name of another rule as well")
        }
    }
}

extension ConfigurationBuilder {
    /// What is wrong with the learned gestures as a whole: without a template, too many, too long.
    private var learnedFaults: [DocumentProblem] {
        let learned = settings.learned
        let position = { (path: String) in self.provenance.position(below: path) ?? DocumentPosition(.argument(path)) }
        var problems = learned.keys.filter { learned[$0]?.template == nil }.map { name in
            let path = GestureKind(.learned, name).section
            return DocumentProblem(
                at: position(path), path: path, "has no template",
                allowed: "gestures with a template: what jostle learn \(name) wrote, or the path of its file")
        }
        let path = "gestures.learned"
        if learned.count > LearnedGestureSettings.mostGestures {
            problems.append(
                DocumentProblem(
                    at: position(path), path: path, found: "\(learned.count)", "are too many gestures",
                    allowed: "at most \(LearnedGestureSettings.mostGestures)"))
        }
        let frames = learned.values.reduce(0) { sum, one in
            sum + (one.template?.gesture.examples.reduce(0) { $0 + $1.count } ?? 0)
        }
        if frames > LearnedGestureSettings.mostFrames {
            problems.append(
                DocumentProblem(
                    at: position(path), path: path, found: "\(frames / Int(MotionFrame.rate)) s",
                    "have too long examples: each is compared with every movement",
                    allowed:
                        "at most \(LearnedGestureSettings.mostFrames / Int(MotionFrame.rate)) s of all examples together"
                ))
        }
        return problems.sorted { $0.path < $1.path }
    }
}
