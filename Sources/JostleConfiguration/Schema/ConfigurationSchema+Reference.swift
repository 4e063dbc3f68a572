extension ConfigurationSchema {
    /// The keys of a section of the configuration.
    package struct ReferenceChapter: Sendable {
        package var name: String
        package var summary: String
        package var rows: [ReferenceRow]
    }

    /// What a person must know about a key.
    package struct ReferenceRow: Equatable, Sendable {
        package var path: String
        package var kind: String
        /// As it is written; `nil` if the key has none.
        package var defaultValue: String?
        /// Whether it must be given wherever its section is.
        package var isRequired = false
        package var allowed: String
        package var meaning: String
    }

    /// The reference of all keys.
    package static var reference: [ReferenceChapter] {
        root.members.map { member in
            switch member {
            case .section(let section): reference(of: section)
            case .setting(let setting): reference(ofList: setting)
            }
        }
    }

    /// The reference of all keys in Markdown: the generated part of `docs/configuration.md`.
    package static var keyReference: String { reference.map(\.markdown).joined(separator: "\n") }

    /// The words that a key allows; none if it allows anything else.
    package static func choices(of key: String) -> [String] {
        setting(key).map { choices($0.constraints) } ?? []
    }

    private static func choices(_ constraints: [JSONValue.Member]) -> [String] {
        for constraint in constraints {
            switch (constraint.name, constraint.value) {
            case ("type", .string("boolean")): return ["true", "false"]
            case ("enum", .array(let values)):
                return values.compactMap { value -> String? in
                    guard case .string(let word) = value else { return nil }
                    return word
                }
            case ("anyOf", .array(let alternatives)):
                return alternatives.flatMap { alternative -> [String] in
                    guard case .object(let members) = alternative else { return [] }
                    return choices(members)
                }
            default: break
            }
        }
        return []
    }

    private static func reference(of section: Section) -> ReferenceChapter {
        let rows =
            section.name == "gestures"
            ? rowsOfGestures(in: section)
            : section.settings(under: section.name).map { row(of: $0.setting, path: $0.path) }
        return ReferenceChapter(name: section.name, summary: section.summary, rows: rows)
    }

    /// A key that is a list of mappings. `actions` is the only one: its elements have keys of their own.
    private static func reference(ofList setting: Setting) -> ReferenceChapter {
        let path = "\(setting.name)[]"
        let required = requiredKeys(of: action, under: path)
        let rows = action.settings(under: path).map { path, setting in
            var row = row(of: setting, path: path)
            row.isRequired = required.contains(path)
            return row
        }
        return ReferenceChapter(name: setting.name, summary: "A list of rules. \(setting.summary)", rows: rows)
    }

    /// The paths of the keys without which an element of a list is refused.
    private static func requiredKeys<Root>(of section: SectionOf<Root>, under path: String) -> [String] {
        let own = section.required.map { "\(path).\($0)" }
        return section.members.reduce(own) { keys, member in
            guard case .section(let inner) = member else { return keys }
            return keys + requiredKeys(of: inner, under: "\(path).\(inner.name)")
        }
    }

    /// The rows of all gestures. A key that is the same for every gesture has one row.
    private static func rowsOfGestures(in section: Section) -> [ReferenceRow] {
        var gestures: [[ReferenceRow]] = []
        for case .section(let gesture) in section.members {
            gestures.append(gesture.settings().map { row(of: $0.setting, path: $0.path) })
        }
        let shared = gestures.first?.filter { row in gestures.allSatisfy { $0.contains(row) } } ?? []
        var rows = shared.map { $0.under("\(section.name).<gesture>") }
        for (member, gesture) in zip(section.members, gestures) {
            rows += gesture.filter { !shared.contains($0) }.map { $0.under("\(section.name).\(member.name)") }
        }
        return rows
    }

    private static func row<Root>(of setting: SettingOf<Root>, path: String) -> ReferenceRow {
        let written = YAMLText.flow(setting.write(Root()))
        // The example in `allowed` is the default, which has a column of its own.
        let example = ", for example \(written)"
        let allowed = setting.isOptional ? setting.allowed : setting.allowed.removing(suffix: example)
        return ReferenceRow(
            path: path, kind: kinds(setting.constraints).joined(separator: " or "),
            defaultValue: setting.isOptional ? nil : written, allowed: allowed, meaning: setting.summary)
    }

    /// The types that the constraints of a JSON schema permit, in words: `duration (s)`, `text`, `list`.
    private static func kinds(_ constraints: [JSONValue.Member]) -> [String] {
        var kinds: [String] = []
        func add(_ kind: String) {
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        for constraint in constraints {
            switch (constraint.name, constraint.value) {
            case ("enum", _): add("choice")
            case ("type", .string(let name)): add(word(of: name))
            case ("type", .array): add("text")
            case ("anyOf", .array(let alternatives)):
                if let dimension = dimension(in: alternatives) {
                    add(dimension)
                    continue
                }
                for case .object(let members) in alternatives { Self.kinds(members).forEach(add) }
            default: break
            }
        }
        return kinds
    }

    private static func word(of type: String) -> String {
        switch type {
        case "integer": "whole number"
        case "string": "text"
        case "array": "list"
        default: type
        }
    }

    /// The quantity that one of the alternatives is a pattern for, with its default unit.
    private static func dimension(in alternatives: [JSONValue]) -> String? {
        let dimensions: [Dimension] = [
            .frequency, .duration, .angle, .acceleration, .accelerationRange, .rotationRange,
        ]
        for case .object(let members) in alternatives {
            for dimension in dimensions where members.contains(.init("pattern", .string(dimension.pattern))) {
                let name = dimension.name.removing(prefix: "an ").removing(prefix: "a ")
                return "\(name) (\(dimension.defaultUnit.symbol))"
            }
        }
        return nil
    }
}

extension ConfigurationSchema.ReferenceChapter {
    fileprivate var markdown: String {
        let head = ["### \(name)", "", summary, "", "| key | type | default | allowed | meaning |"]
        let lines = head + ["| --- | --- | --- | --- | --- |"] + rows.map(\.markdown)
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ConfigurationSchema.ReferenceRow {
    fileprivate func under(_ prefix: String) -> Self {
        var row = self
        row.path = "\(prefix).\(path)"
        return row
    }

    fileprivate var markdown: String {
        let standard = isRequired ? "required" : defaultValue.map { "`\($0)`" } ?? "none"
        let cells = ["`\(path)`", kind, standard, allowed, meaning]
        return "| \(cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |"
    }
}

extension String {
    fileprivate func removing(prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }

    fileprivate func removing(suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
