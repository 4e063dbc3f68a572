extension ConfigurationSchema {
    /// The JSON Schema (draft 2020-12) of a configuration file, for editors: `config/jostle.schema.json`.
    ///
    /// It defines keys, defaults and limits. The limits of a text with a unit, such as `500 Hz`, cannot be expressed in
    /// JSON Schema; only the program checks them.
    package static var jsonSchema: String {
        guard case .object(let members) = schema(of: root) else { return "" }
        let head: [JSONValue.Member] = [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"), .init("title", "jostle.yaml"),
        ]
        return JSONValue.object(head + members).indentedText() + "\n"
    }

    /// The schema of a section, which is an object. The format of a list calls it for the elements' section.
    static func schema<Root>(of section: SectionOf<Root>) -> JSONValue {
        // If all keys of a section are commented out, its value is null.
        let type: JSONValue = section.required.isEmpty ? ["object", "null"] : "object"
        var members: [JSONValue.Member] = [
            .init("description", .string(section.summary)), .init("type", type), .init("additionalProperties", false),
        ]
        if !section.required.isEmpty {
            members.append(.init("required", .array(section.required.map { .string($0) })))
        }
        let properties = section.members.map { member in
            switch member {
            case .section(let section): JSONValue.Member(section.name, schema(of: section))
            case .setting(let setting): JSONValue.Member(setting.name, schema(of: setting))
            }
        }
        return .object(members + [.init("properties", .object(properties))])
    }

    /// The mapping by names that may stand in place of a list. The names are those of another file, so any is accepted.
    private static func alternative<Root>(to setting: SettingOf<Root>) -> JSONValue? {
        guard setting.elements != nil else { return nil }
        return [
            "description": "Switches rules of another file by their names.", "type": "object", "minProperties": 1,
            "propertyNames": .object(ValueFormat<String>.ruleName.constraints),
            "additionalProperties": schema(of: Section("", "A rule with a name.", [.setting(RuleSwitch("").setting)])),
        ]
    }

    private static func schema<Root>(of setting: SettingOf<Root>) -> JSONValue {
        let defaultValue = setting.write(Root())
        let description = JSONValue.Member("description", .string(setting.summary))
        if let alternative = alternative(to: setting) {
            return .object([
                description, .init("default", .null),
                .init("anyOf", [.object(setting.constraints), alternative, ["type": "null"]]),
            ])
        }
        guard setting.isOptional else {
            return .object([description, .init("default", defaultValue)] + setting.constraints)
        }
        return .object([
            description, .init("default", .null),
            .init("anyOf", [.object(setting.constraints), ["type": "null"]]),
        ])
    }
}
