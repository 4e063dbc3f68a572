/// Settings made of layers, each of which overrides the ones before it: defaults, a file, arguments, messages.
///
/// A value that is refused leaves the one below it in force and is remembered in `problems`; whoever builds decides
/// whether that is fatal.
public struct ConfigurationBuilder: Sendable {
    /// What is in force so far.
    public private(set) var settings = JostleSettings()

    /// Which layer set what.
    public private(set) var provenance = Provenance()

    /// What was refused, in the order in which it was read; at most a hundred problems.
    public private(set) var problems: [ConfigurationProblem] = []

    private static let maximumProblems = 100

    /// Makes a builder with the built-in defaults.
    public init() {}

    /// Applies a layer; relative paths in it belong to `directory`, or without one to the working directory.
    public mutating func apply(_ layer: ConfigurationNode, directory: String? = nil) {
        read(layer, as: ConfigurationSchema.root, path: "", directory: directory)
    }

    /// Applies an argument `key=value`; the value is text, or a YAML flow collection or quoted scalar.
    public mutating func apply(override argument: String) {
        do throws(ConfigurationProblem) {
            apply(try Override.parse(argument))
        } catch {
            report(error)
        }
    }

    /// Remembers a problem that was found elsewhere, in reading a layer for example.
    public mutating func report(_ problem: ConfigurationProblem) {
        if problems.count < Self.maximumProblems { problems.append(problem) }
    }

    /// The configuration, if nothing was refused and its values fit together.
    public func finish() throws(ConfigurationErrors) -> LoadedConfiguration {
        let all = problems + contradictions
        guard all.isEmpty else { throw .invalid(all) }
        return LoadedConfiguration(settings: settings, provenance: provenance)
    }

    /// What is wrong with values that are right by themselves.
    public var contradictions: [ConfigurationProblem] {
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
            require("mqtt.username", for: "mqtt.password_file", unless: mqtt.username != nil)
        }
        return problems
    }
}

extension ConfigurationBuilder {
    private mutating func read(_ node: ConfigurationNode, as section: Section, path: String, directory: String?) {
        switch node.value {
        case .null:
            // All its keys are commented out.
            return
        case .mapping(let entries):
            for entry in entries {
                let inner = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                switch section.member(entry.key) {
                case .section(let section): read(entry.node, as: section, path: inner, directory: directory)
                case .setting(let setting): read(entry.node, as: setting, path: inner, directory: directory)
                // Finding a suggestion takes time: not for what nobody will read.
                case nil where problems.count == Self.maximumProblems: continue
                case nil: report(Self.unknownKey(entry, in: section, path: inner))
                }
            }
        case .scalar, .sequence:
            report(
                ConfigurationProblem(
                    at: node.position, path: path, found: node.text, "is not a mapping of keys to values",
                    allowed: section.members.map { "\($0.name): …" }.joined(separator: ", ")))
        }
    }

    private mutating func read(_ node: ConfigurationNode, as setting: Setting, path: String, directory: String?) {
        do throws(ValueRefusal) {
            try setting.read(node, directory, &settings)
            provenance[path] = node.position
        } catch {
            report(
                ConfigurationProblem(
                    at: error.position ?? node.position, path: path, found: error.found ?? node.text, error.reason,
                    allowed: setting.allowed))
        }
    }

    /// A problem that suggests the nearest key of the section, or else the key of that name elsewhere.
    private static func unknownKey(
        _ entry: ConfigurationNode.Entry, in section: Section, path: String
    ) -> ConfigurationProblem {
        let names = section.members.map(\.name)
        let elsewhere = ConfigurationSchema.root.settings().map(\.path).filter { $0.hasSuffix(".\(entry.key)") }
        var reason = "unknown key"
        var allowed: String?
        if let near = EditDistance.nearest(to: entry.key, among: names) {
            reason += "; did you mean \"\(near)\"?"
        } else if !elsewhere.isEmpty {
            reason += "; did you mean \(elsewhere.map { "\"\($0)\"" }.joined(separator: " or "))?"
        } else {
            allowed = names.joined(separator: ", ")
        }
        return ConfigurationProblem(
            at: entry.keyPosition, path: ConfigurationProblem.escaped(path), reason, allowed: allowed)
    }
}
