internal import JostleConfiguration

/// The Home Assistant discovery messages of a device, derived from settings and facts alone.
///
/// Each entity and trigger has its own topic, `<prefix>/<component>/<id>/<object>/config`, which every version
/// supports. Neither `object_id` nor its successor is sent: versions before 2025.10 support only the former, versions
/// from 2026.4 only the latter, and all versions derive the same ids from the names of device and entity.
struct DiscoverySet: Equatable, Sendable {
    /// The messages, in the order in which they are sent.
    private(set) var messages: [DiscoveryMessage] = []

    let settings: JostleSettings
    let facts: DiscoveryFacts
    private let device: JSONValue
    private let origin: JSONValue

    /// The name in `origin`, by which our own messages are recognised.
    static let originName = "Jostle"

    /// Builds the messages; none if discovery is off.
    init(_ settings: JostleSettings, _ facts: DiscoveryFacts) {
        self.settings = settings
        self.facts = facts
        device = DiscoverySet.device(settings, facts)
        origin = ["name": .string(DiscoverySet.originName), "sw_version": .string(facts.version)]
        guard settings.homeAssistant.discovery else { return }
        addGestures()
        addSensors()
        addDiagnostics()
        addConfiguration()
        addControls()
    }

    /// The device object, which every message repeats.
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

    /// Adds an entity. `object` is its name in the topic and in its unique id, `name` is its display name.
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

    /// Adds a device trigger.
    mutating func addTrigger(_ object: String, _ fields: [JSONValue.Member]) {
        let rest: [JSONValue.Member] = [.init("device", device), .init("origin", origin)]
        add("device_automation", object, [.init("automation_type", "trigger")] + fields + rest)
    }

    private mutating func add(_ component: String, _ object: String, _ fields: [JSONValue.Member]) {
        let topic = "\(settings.homeAssistant.prefix)/\(component)/\(facts.id)/\(object)/config"
        messages.append(DiscoveryMessage(topic: topic, payload: JSONValue.object(fields).compactText))
    }
}
