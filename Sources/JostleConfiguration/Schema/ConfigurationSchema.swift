package import Documents
internal import LinuxSystem
internal import MotionCore

/// The description of every key. From it follow: reading and checking files and messages, suggestions for misspelt
/// keys, the JSON Schema for editors, and the report of the values in force.
///
/// A new setting needs a field of `JostleSettings`, a key here and in `config/jostle.reference.yaml`, a regenerated schema file,
/// and examples of accepted and refused values; tests check for all but the field. A list of mappings is one key with
/// the format `list(of:faults:)` and a section for its elements: see `actions`.
package enum ConfigurationSchema {
    /// The whole configuration.
    static let root = Section(
        "", "The configuration of Jostle, an MQTT edge agent for motion sensing.",
        [
            .section(device), .section(sensor), .section(attitude), .section(motion), .section(gestures), actions,
            .section(publish), .section(settings), .section(commands), .section(recorder), .section(fleet),
            .section(mqtt), .section(homeAssistant), .section(page), .section(log),
        ])

    private static let device = Section(
        "device", "The device's identity.",
        [
            .key(
                "id", optional: \.device.id, .deviceID, example: "washer-1",
                "The device's name in topics. Without it, one is made from the host name and the board's serial number."
            ),
            .key(
                "name", optional: \.device.name, .text(maximum: 128), example: "Washing machine",
                "The device's name for people. Without it, the id is shown."),
            .key(
                "area", optional: \.device.area, .text(maximum: 128), example: "Laundry",
                "The device's location, which Home Assistant suggests as its area."),
            .key(
                "groups", \.device.groups, .anyNumber(of: .groupName, atMost: JostleSettings.Device.maximumGroups),
                "The groups whose configuration the device takes over MQTT, lowest first. The fleet's registry may replace "
                    + "them."),
            .key(
                "configuration_url", optional: \.device.configurationURL, .webAddress,
                example: "http://washer-1.local/", "A web page about the device, to which Home Assistant links."),
            .key(
                "version", optional: \.device.version, .packageVersion, example: "0.5.0-1",
                "The version of the Debian package that jostle-upgrade.service installs. Without it, nothing is upgraded."
            ),
        ])

    private static let sensor = Section(
        "sensor", "Which sensor is read, and how it is configured.",
        [
            .key(
                "enabled", \.sensor.isEnabled, .boolean,
                "Whether the sensor is read from the start; false waits for the command start.", effect: .agentRestart),
            .key(
                "driver", \.sensor.driver, .driver,
                """
                The chip's driver: auto takes the preferred chip among those found, or else a kernel driver's device; iio \
                accepts only a kernel driver's device; virtual simulates a chip.
                """, effect: .agentRestart),
            .key(
                "bus", \.sensor.bus, .bus, "The I2C bus; auto searches all of them.", effect: .agentRestart),
            .key(
                "address", \.sensor.address, .address,
                "The chip's 7-bit address on the bus; auto tries all addresses that it can have.", effect: .agentRestart
            ),
            .key(
                "identity", \.imu.assumedIdentity, .identity,
                "The identity to assume for a chip with a number unknown to the driver, such as a copy; needs driver.",
                effect: .agentRestart),
            .key(
                "device", \.sensor.device, .kernelDevice,
                "The kernel driver's device (IIO); auto takes the preferred one, and a name implies driver iio.",
                effect: .agentRestart),
            .key(
                "rate", \.imu.rate, .quantity(.frequency, 4...4000),
                "Samples per second (Hz), as far as chip and bus allow. Smaller saves power, larger catches shorter movements."
            ),
            .key(
                "accelerometer_range", \.imu.accelerometerRange,
                .oneOf([2, 4, 8, 16].map { ($0, $0 * standardGravity) }, .accelerationRange),
                "Full scale of the accelerometer (±g). Smaller resolves finer, larger survives harder shakes."),
            .key(
                "gyroscope_range", \.imu.gyroscopeRange,
                .oneOf([250, 500, 1000, 2000].map { ($0, $0 * .pi / 180) }, .rotationRange),
                "Full scale of the gyroscope (±°/s). Smaller resolves finer, larger survives faster turns."),
            .key(
                "gyroscope", \.imu.readsGyroscope, .boolean,
                """
                Whether the gyroscope is read. Without it, some chips measure vibration at up to 4000 Hz, and there are no turns \
                and no heading.
                """, effect: .agentRestart),
            .key(
                "batch", \.imu.batchInterval, .auto(or: .quantity(.duration, 0.001...1)),
                "Time between two reads of the chip's memory (s). Smaller reduces the latency, larger the CPU load; auto is 20 ms "
                    + "in motion, up to 90 ms at rest."),
            .key(
                "magnetometer", \.imu.connectsMagnetometer, .boolean,
                "Whether the chip's magnetometer is read, for a heading that does not drift. Calibrate it first."),
            .group(
                "interrupt",
                "The GPIO line to which the chip's data-ready pin is wired: its edges then time the samples.",
                [
                    .key(
                        "chip", optional: \.sensor.interrupt.chip, .gpioChip, example: "gpiochip0",
                        "The GPIO chip. Without it, gpiochip0, or any that has a line with this name."),
                    .key(
                        "line", optional: \.sensor.interrupt.line, .gpioLine, example: "17",
                        "The line's number or name, such as GPIO17. Without it, samples are timed by the fill level of the FIFO."
                    ),
                ], effect: .agentRestart),
            .key(
                "mount_matrix", \.motion.mount, .rotationMatrix,
                "How the sensor is mounted: the rotation from its axes to the device's, row by row."),
            .key(
                "trajectory", \.sensor.trajectory, .nameOrPath,
                "The virtual sensor's movement: demo (turns and shakes), rest, or a recording to play back.",
                effect: .agentRestart),
        ], effect: .sensorRestart)

    private static let attitude = Section(
        "attitude", "How the attitude is filtered, and its zero.",
        [
            .key(
                "low_pass", \.motion.attitudeLowPass, .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published attitude (Hz). Smaller is smoother but slower; 0 is off."),
            .key(
                "reference", \.motion.reference, .choice(["none": .none, "start": .start, "stored": .stored]),
                "The attitude published as zero: none, the one at the first rest after each start, or the one stored by the "
                    + "last tare."),
        ])

    private static let motion = Section(
        "motion", "How acceleration and rotation are filtered.",
        [
            .key(
                "acceleration_low_pass", \.motion.accelerationLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published acceleration (Hz). Smaller is smoother but slower; 0 is off."),
            .key(
                "rotation_low_pass", \.motion.rotationRateLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published rotation (Hz). Smaller is smoother but slower; 0 is off."),
        ])

    private static let commands = Section(
        "commands", "Which commands the device accepts over MQTT.",
        [
            .key(
                "allow", \.commands.allow,
                .anyNumber(of: .choice(JostleSettings.Command.allCases.map { ($0.rawValue, $0) })),
                "The allowed commands; the others are refused. An empty list allows none.")
        ], effect: .agentRestart)

    private static let recorder = Section(
        "recorder", "What is kept of the last seconds, and when.",
        [
            .key(
                "seconds", \.recorder.seconds, .quantity(.duration, 1...60, zeroIsOff: true),
                "Time of which the samples are in memory (s). Larger takes more: 16.6 kB a second at 200 Hz. 0 is off."),
            .key(
                "on", \.recorder.gestures, .anyNumber(of: .gestureKind),
                "The gestures that are kept as a recording when they begin or are recognised."),
            .key(
                "max_files", \.recorder.maximumFiles, .integer(1...500),
                "The most recordings in the state directory. The oldest are deleted first, those with a label last."),
            .key(
                "max_bytes", \.recorder.maximumBytes, .integer(1_000_000...1_000_000_000),
                "The most bytes of these recordings. 15 s at 200 Hz are about 230 kB."),
        ], effect: .agentRestart)

    private static let settings = Section(
        "settings", "Which keys a home may set over MQTT.",
        [
            .key(
                "allow", \.settings.allow, .anyNumber(of: .keyPattern(allowsVersion: false)),
                "The sections and keys that may be set on the device's set topics; an empty list allows none.")
        ], effect: .agentRestart)

    private static let fleet = Section(
        "fleet", "The configuration of a fleet over MQTT.",
        [
            .key(
                "remote", \.fleet.remote, .anyNumber(of: .keyPattern(allowsVersion: true)),
                "The sections and keys that the fleet's layers may set; an empty list allows none."),
            .key(
                "probation", \.fleet.probation, .quantity(.duration, 10...3600),
                "Time for which a new revision is watched, and undone if the device works no longer (s). Larger notices "
                    + "slower faults."),
            .key(
                "trusted_keys", \.fleet.trustedKeys, .anyNumber(of: .trustedKey, atMost: 16),
                "The keys whose signature the fleet's documents need; without any, they need none. With keys, the defaults "
                    + "of settings.allow and commands.allow are [] and [ping, get-state]."),
        ], effect: .agentRestart)

    private static let log = Section(
        "log", "What is logged.",
        [
            .key(
                "level", \.log.level,
                .choice(["error": .error, "warning": .warning, "info": .info, "debug": .debug]),
                "The least severe messages that are logged.")
        ], effect: .agentRestart)
}

extension ConfigurationSchema {
    /// The JSON Schema (draft 2020-12) of a configuration file, for editors: `config/jostle.schema.json`.
    ///
    /// It defines keys, defaults and limits. The limits of a text with a unit, such as `500 Hz`, cannot be expressed in
    /// JSON Schema; only the program checks them.
    package static var jsonSchema: String {
        guard let members = schema(of: root).members else { return "" }
        let head: [JSONValue.Member] = [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"), .init("title", "jostle.yaml"),
        ]
        return JSONValue.object(head + members).indentedText() + "\n"
    }

    /// The schema of a section, which is an object. The format of a list calls it for the elements' section.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
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
            case .table(let name, let summary, let elements): JSONValue.Member(name, schema(of: elements, summary))
            }
        }
        return .object(members + [.init("properties", .object(properties))])
    }

    private static func schema<Root>(of elements: NamedElements<Root>, _ summary: String) -> JSONValue {
        // Any name will do for an example.
        let section = elements.section("name", Root())
        return .object([
            .init("description", .string(summary)), .init("type", ["object", "null"]),
            .init("propertyNames", ["pattern": .string(GestureName.pattern)]),
            .init("maxProperties", .number("\(LearnedGestureSettings.mostGestures)")),
            .init("additionalProperties", section.map { schema(of: $0) } ?? false),
        ])
    }

    /// The mapping by names that may stand in place of a list. The names are those of another file, so any is accepted.
    private static func alternatives<Root>(to setting: SettingOf<Root>) -> [JSONValue] {
        guard setting.elements != nil else { return [] }
        return [
            [
                "description": "Switches rules of another file by their names.", "type": "object", "minProperties": 1,
                "propertyNames": .object(ValueFormat<String>.ruleName.constraints),
                "additionalProperties": schema(
                    of: Section("", "A rule with a name.", [.setting(RuleSwitch("").setting)])),
            ]
        ]
    }

    private static func schema<Root>(of setting: SettingOf<Root>) -> JSONValue {
        let description = JSONValue.Member("description", .string(setting.summary))
        guard setting.isOptional else {
            return .object([description, .init("default", setting.write(Root()))] + setting.constraints)
        }
        let choices = [.object(setting.constraints)] + alternatives(to: setting) + [["type": "null"]]
        return .object([description, .init("default", .null), .init("anyOf", .array(choices))])
    }
}

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
        return setting(key)?.shown(settings)
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
                case .setting(let setting): .init(setting.name, setting.shown(settings))
                case .table(let name, _, let elements):
                    .init(
                        name,
                        .object(
                            elements.names(settings).compactMap { name in
                                elements.section(name, settings).map { .init(name, values(of: $0, settings)) }
                            }))
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
            case .table: return nil
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
                    return "  # \(DocumentProblem.escaped(origin + switched + note))"
                }
                let value = YAMLText.flow(setting.write(settings))
                lines.append("\(indentation)\(setting.name): \(value)\(comment ?? "")")
            case .table(let name, _, let elements):
                let names = elements.names(settings)
                lines.append("\(indentation)\(name):\(names.isEmpty ? " {}" : "")")
                for name in names {
                    guard let section = elements.section(name, settings) else { continue }
                    lines.append("\(indentation)  \(name):")
                    describe(
                        section, path: "\(inner).\(name)", indentation: indentation + "    ", settings, provenance,
                        notes, into: &lines)
                }
            }
        }
    }
}

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
        root.members.compactMap { member in
            switch member {
            case .section(let section): reference(of: section)
            case .table: nil
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
            switch (constraint.name, constraint.value.content) {
            case ("type", .string("boolean")): return ["true", "false"]
            case ("enum", .array(let values)):
                return values.compactMap(\.string)
            case ("anyOf", .array(let alternatives)):
                return alternatives.flatMap { choices($0.members ?? []) }
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
        let learned = GestureName("name").map { Self.learned($0).settings() } ?? []
        rows += learned.map { row(of: $0.setting, path: $0.path) }.filter { !shared.contains($0) }.map {
            $0.under("\(section.name).learned.<name>")
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
            switch (constraint.name, constraint.value.content) {
            case ("enum", _): add("choice")
            case ("type", .string(let name)): add(word(of: name))
            case ("type", .array): add("text")
            case ("anyOf", .array(let alternatives)):
                if let dimension = dimension(in: alternatives) {
                    add(dimension)
                    continue
                }
                for members in alternatives.compactMap(\.members) { Self.kinds(members).forEach(add) }
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
        for members in alternatives.compactMap(\.members) {
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
