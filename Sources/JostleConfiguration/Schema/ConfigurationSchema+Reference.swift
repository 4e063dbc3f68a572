extension ConfigurationSchema {
    /// The reference of all keys in Markdown: the generated part of `docs/configuration.md`.
    package static var keyReference: String {
        root.members.map { member in
            switch member {
            case .section(let section): reference(of: section)
            case .setting(let setting): reference(ofList: setting)
            }
        }.joined(separator: "\n")
    }

    private static func reference(of section: Section) -> String {
        let rows =
            section.name == "gestures"
            ? rowsOfGestures(in: section)
            : section.settings(under: section.name).map { row(of: $0.setting, path: $0.path) }
        return chapter(section.name, section.summary, rows)
    }

    /// A key that is a list of mappings. `actions` is the only one: its elements have keys of their own.
    private static func reference(ofList setting: Setting) -> String {
        let path = "\(setting.name)[]"
        let required = requiredKeys(of: action, under: path)
        let rows = action.settings(under: path).map { path, setting in
            var row = row(of: setting, path: path)
            if required.contains(path) { row.defaultValue = "required" }
            return row
        }
        return chapter(setting.name, "A list of rules. \(setting.summary)", rows)
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
    private static func rowsOfGestures(in section: Section) -> [Row] {
        var gestures: [[Row]] = []
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

    private static func chapter(_ name: String, _ summary: String, _ rows: [Row]) -> String {
        let head = ["### \(name)", "", summary, "", "| key | type | default | allowed | meaning |"]
        let lines = head + ["| --- | --- | --- | --- | --- |"] + rows.map(\.markdown)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row<Root>(of setting: SettingOf<Root>, path: String) -> Row {
        let written = YAMLText.flow(setting.write(Root()))
        // The example in `allowed` is the default, which has a column of its own.
        let example = ", for example \(written)"
        let allowed = setting.isOptional ? setting.allowed : setting.allowed.removing(suffix: example)
        return Row(
            path: path, kind: kinds(setting.constraints).joined(separator: " or "),
            defaultValue: setting.isOptional ? "none" : "`\(written)`",
            allowed: allowed, meaning: setting.summary)
    }

    /// The line of one key.
    private struct Row: Equatable {
        var path: String
        var kind: String
        var defaultValue: String
        var allowed: String
        var meaning: String

        func under(_ prefix: String) -> Row {
            var row = self
            row.path = "\(prefix).\(path)"
            return row
        }

        var markdown: String {
            let cells = ["`\(path)`", kind, defaultValue, allowed, meaning]
            return "| \(cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |"
        }
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

extension String {
    fileprivate func removing(prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }

    fileprivate func removing(suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
