extension ConfigurationSchema {
    /// The JSON Schema (draft 2020-12) of a configuration file, for editors: `config/jostle.schema.json`.
    ///
    /// It names keys, defaults and bounds. Units make bounds a matter of arithmetic, so that those of a text such as
    /// `500 Hz` are checked by the program alone.
    public static var jsonSchema: String {
        guard case .object(let members) = schema(of: root) else { return "" }
        let head: [JSONValue.Member] = [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"), .init("title", "jostle.yaml"),
        ]
        return JSONValue.object(head + members).indentedText() + "\n"
    }

    private static func schema(of section: Section) -> JSONValue {
        [
            "description": .string(section.summary),
            // A section whose keys are all commented out is null.
            "type": ["object", "null"], "additionalProperties": false,
            "properties": .object(
                section.members.map { member in
                    switch member {
                    case .section(let section): .init(section.name, schema(of: section))
                    case .setting(let setting): .init(setting.name, schema(of: setting))
                    }
                }),
        ]
    }

    private static func schema(of setting: Setting) -> JSONValue {
        let defaultValue = setting.write(JostleSettings())
        let description = JSONValue.Member("description", .string(setting.summary))
        guard setting.isOptional else {
            return .object([description, .init("default", defaultValue)] + setting.constraints)
        }
        return .object([
            description, .init("default", .null),
            .init("anyOf", [.object(setting.constraints), ["type": "null"]]),
        ])
    }
}
