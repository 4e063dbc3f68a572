internal import JostleConfiguration

/// Everything that Home Assistant is told of a device, drawn up from settings and facts alone.
///
/// One topic for each entity and trigger: `<prefix>/<component>/<id>/<object>/config`, which every version knows. Neither
/// `object_id` nor its successor is sent: versions before 2025.10 know only the one, versions from 2026.4 only the other, and
/// the names of device and entity make the same ids in all of them.
struct DiscoverySet: Equatable, Sendable {
    /// The announcements, in the order in which they are sent.
    private(set) var messages: [DiscoveryMessage] = []

    let settings: JostleSettings
    let facts: DiscoveryFacts
    private let device: JSONValue
    private let origin: JSONValue

    /// Who says so: by this word an announcement is known for one of ours.
    static let originName = "Jostle"

    /// Draws up the announcements; none where they are switched off.
    init(_ settings: JostleSettings, _ facts: DiscoveryFacts) {
        self.settings = settings
        self.facts = facts
        device = DiscoverySet.device(settings, facts)
        origin = ["name": .string(DiscoverySet.originName), "sw_version": .string(facts.version)]
        guard settings.homeAssistant.discovery else { return }
        addGestures()
        addSensors()
        addDiagnostics()
        addControls()
    }

    /// The device, as each announcement repeats it.
    private static func device(_ settings: JostleSettings, _ facts: DiscoveryFacts) -> JSONValue {
        let chip = facts.sensor.map { sensor in
            let end = sensor.firstRange(of: " at ") ?? sensor.firstRange(of: " (")
            return String(sensor[..<(end?.lowerBound ?? sensor.endIndex)])
        }
        let model = [facts.board.model, chip].compactMap { $0 }
        let fields: [(name: String, text: String?)] = [
            ("name", settings.device.name ?? facts.id),
            ("manufacturer", originName),
            ("model", model.isEmpty ? nil : model.joined(separator: " with ")),
            ("hw_version", facts.sensor),
            ("serial_number", facts.board.serial),
            ("sw_version", facts.version),
            ("suggested_area", settings.device.area),
            ("configuration_url", settings.device.configurationURL),
        ]
        return .object(
            [.init("identifiers", [.string("jostle_\(facts.id)")])]
                + fields.compactMap { field in field.text.map { JSONValue.Member(field.name, .string($0)) } })
    }

    // MARK: For the extensions

    /// Announces an entity; `object` is its name in topic and unique id, `name` that for people.
    mutating func addEntity(_ component: String, _ object: String, _ name: String, _ fields: [JSONValue.Member]) {
        let common: [JSONValue.Member] = [
            .init("name", .string(name)), .init("unique_id", .string("jostle_\(facts.id)_\(object)")),
        ]
        let rest: [JSONValue.Member] = [
            .init("availability", [["topic": .string(facts.topics.availability)]]), .init("device", device),
            .init("origin", origin),
        ]
        add(component, object, common + fields + rest)
    }

    /// Announces a trigger for automations.
    mutating func addTrigger(_ object: String, _ fields: [JSONValue.Member]) {
        let rest: [JSONValue.Member] = [.init("device", device), .init("origin", origin)]
        add("device_automation", object, [.init("automation_type", "trigger")] + fields + rest)
    }

    private mutating func add(_ component: String, _ object: String, _ fields: [JSONValue.Member]) {
        let topic = "\(settings.homeAssistant.prefix)/\(component)/\(facts.id)/\(object)/config"
        messages.append(DiscoveryMessage(topic: topic, payload: JSONValue.object(fields).compactText))
    }
}
