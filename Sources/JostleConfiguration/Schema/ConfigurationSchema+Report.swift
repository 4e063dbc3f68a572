extension ConfigurationSchema {
    /// The description of a key, for documentation and reports.
    package struct KeyDescription: Equatable, Sendable {
        /// The key's path: `sensor.rate`.
        package var path: String

        /// Meaning, unit, and what smaller and larger do.
        package var summary: String

        /// The values allowed, with an example.
        package var allowed: String

        /// The built-in default in the form in which it is written; null if there is none.
        package var defaultValue: JSONValue

        /// Whether the key may have no value.
        package var isOptional: Bool
    }

    /// Every key, in the order of the documentation.
    package static let keys: [KeyDescription] = {
        let defaults = JostleSettings()
        return root.settings().map { path, setting in
            KeyDescription(
                path: path, summary: setting.summary, allowed: setting.allowed,
                defaultValue: setting.write(defaults), isOptional: setting.isOptional)
        }
    }()

    /// The settings as a tree of keys and values in the form in which they are written: `{"sensor": {"rate": "200 Hz",
    /// …}, …}`.
    package static func values(of settings: JostleSettings) -> JSONValue { values(of: root, settings) }

    /// The value of a key in the form in which it is written; `nil` if there is no such key.
    package static func value(of key: String, in settings: JostleSettings) -> JSONValue? {
        if let rule = RuleSwitch(key: key), !settings.ruleNames.contains(rule.name) { return nil }
        return setting(key)?.write(settings)
    }

    /// The settings as a YAML file that loads as the same settings; `withOrigins`, a comment names the origin of each
    /// value. The comment of a key in `notes` ends with its note.
    package static func describe(
        _ settings: JostleSettings, _ provenance: Provenance, withOrigins: Bool = true, notes: [String: String] = [:]
    ) -> String {
        var lines: [String] = []
        describe(root, path: "", indentation: "", settings, withOrigins ? provenance : nil, notes, into: &lines)
        return lines.joined(separator: "\n") + "\n"
    }

    /// The rules that something other than their list switched.
    private static func switched(_ settings: JostleSettings, _ provenance: Provenance) -> String {
        settings.ruleNames.compactMap { name in
            provenance[RuleSwitch(name).key].map {
                "; \(name) \(settings[isRuleEnabled: name] ? "on" : "off"): \($0)"
            }
        }.joined()
    }

    private static func values(of section: Section, _ settings: JostleSettings) -> JSONValue {
        .object(
            section.members.map { member in
                switch member {
                case .section(let section): .init(section.name, values(of: section, settings))
                case .setting(let setting): .init(setting.name, setting.write(settings))
                }
            })
    }

    /// The keys of a list's element that differ from their defaults. A section with a required key is written if that
    /// key is set.
    static func deviations<Root>(of section: SectionOf<Root>, _ value: Root) -> [JSONValue.Member] {
        let defaults = Root()
        return section.members.compactMap { member in
            switch member {
            case .section(let inner):
                let members = deviations(of: inner, value)
                return members.isEmpty ? nil : .init(inner.name, .object(members))
            case .setting(let setting):
                let written = setting.write(value)
                guard section.required.contains(setting.name) ? written != .null : written != setting.write(defaults)
                else { return nil }
                return .init(setting.name, written)
            }
        }
    }

    private static func describe(
        _ section: Section, path: String, indentation: String, _ settings: JostleSettings, _ provenance: Provenance?,
        _ notes: [String: String], into lines: inout [String]
    ) {
        for member in section.members {
            let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
            switch member {
            case .section(let section):
                lines.append("\(indentation)\(section.name):")
                describe(
                    section, path: inner, indentation: indentation + "  ", settings, provenance, notes, into: &lines)
            case .setting(let setting):
                let comment = provenance.map { provenance in
                    let origin = provenance[inner].map { "\($0)" } ?? "built-in default"
                    let switched = inner == "actions" ? Self.switched(settings, provenance) : ""
                    let note = notes[inner].map { "; \($0)" } ?? ""
                    return "  # \(ConfigurationProblem.escaped(origin + switched + note))"
                }
                let value = YAMLText.flow(setting.write(settings))
                lines.append("\(indentation)\(setting.name): \(value)\(comment ?? "")")
            }
        }
    }
}
