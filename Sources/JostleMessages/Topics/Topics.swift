package import Documents
package import JostleConfiguration

/// The topics of one device: see docs/mqtt.md.
package struct Topics: Equatable, Sendable {
    /// The beginning of all topics: prefix and device.
    package let root: String

    /// The topics of the device `id` under `prefix`.
    package init(prefix: String, id: String) {
        self.init(root: "\(prefix)/\(id)")
    }

    /// The topics of the device whose prefix and id are `root`: `jostle/washer-1`.
    package init(root: String) {
        self.root = root
    }

    /// The device's id: the last level of the root.
    package var device: String { String(root[(root.lastIndex(of: "/").map(root.index(after:)) ?? root.startIndex)...]) }

    /// A value as plain text.
    package func plain(_ value: PlainValue) -> String { "\(root)/plain/\(value.rawValue)" }
    /// The last phase of a gesture as plain text. One with the name of a value has another topic.
    package func plain(_ gesture: GestureKind) -> String {
        "\(root)/plain/\(gesture.word)\(PlainValue(rawValue: gesture.word) == nil ? "" : "_event")"
    }
    /// The topics of plain values with retained messages.
    package var retainedPlain: [String] { PlainValue.allCases.filter(\.isRetained).map(plain) }

    /// The topics with retained messages.
    package var retained: [String] { [availability, state, machine, health, reported] }

    /// The filter for the availability of every device with the same prefix.
    package var everyAvailability: String { "\(root.dropLast(device.count))+/availability" }

    /// `online` or `offline`; retained.
    package var availability: String { "\(root)/availability" }
    /// The attitude, published as it changes.
    package var attitude: String { "\(root)/attitude" }
    /// Acceleration, gravity and rotation rate, published as they change.
    package var motion: String { "\(root)/motion" }
    /// The device state; retained.
    package var state: String { "\(root)/state" }
    /// How the machine is that carries the board; retained.
    package var machine: String { "\(root)/machine" }
    /// Every sample, while a client has requested the stream.
    package var stream: String { "\(root)/stream" }
    /// Movements that were almost gestures, while somebody wants them.
    package var nearMiss: String { "\(root)/near-miss" }
    /// The health report; retained.
    package var health: String { "\(root)/health" }
    /// The configuration in force and what was refused; retained.
    package var reported: String { "\(root)/config/reported" }
    /// The topic that accepts a value for `key`.
    package func set(_ key: String) -> String { "\(root)/set/\(key)" }
    /// The topic that accepts a document with the values of several keys.
    package var setDocument: String { "\(root)/set" }
    /// The phases of a gesture.
    package func event(_ gesture: GestureKind) -> String { "\(events)\(gesture.word)" }
    /// That the machine deviates from its earlier runs, or does no more.
    package var machineEvent: String { events + Topics.machineEventName }
    package static let machineEventName = "machine"
    /// The common beginning of the gesture topics.
    package var events: String { "\(root)/event/" }
    /// The topic that accepts a command.
    package func command(_ name: String) -> String { "\(root)/command/\(name)" }
    /// The topic on which a command is answered.
    package func result(of command: String) -> String { "\(root)/command/\(command)/result" }
}

/// The topic on which a program receives the answer to its command: `<prefix>/_reply/<requester>/<run>`.
///
/// The requester is the user of the broker, so that access rules can let each user read its own answers only. The run
/// is random, so that nobody but the device that was asked knows where an answer is expected.
package enum ReplyTopic {
    /// The longest requester in a topic, in bytes. Agents ignore response topics of more than 256 bytes.
    private static let longestRequester = 128

    /// The topic for one run of a requester.
    package static func make(prefix: String, requester: String, run: String) -> String {
        "\(prefix)/_reply/\(level(requester))/\(run)"
    }

    /// The text with an underscore for every character that a level of a topic must not contain.
    ///
    /// A user whose name has such a character has no rights under mosquitto's patterns anyway.
    private static func level(_ text: String) -> String {
        var level = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let fitting: Unicode.Scalar = isControl || ["+", "#", "/"].contains(scalar) ? "_" : scalar
            guard level.utf8.count + UTF8.width(fitting) <= longestRequester else { break }
            level.unicodeScalars.append(fitting)
        }
        return level.isEmpty ? "_" : level
    }
}

extension JostleSettings {
    /// Who asks, in reply topics: the user, else the device that is configured here, else this machine.
    ///
    /// A board that authenticates with a certificate has no user name in its configuration. To the broker, its user name
    /// is the certificate's common name: its id.
    package func requester(userName: String?) -> String {
        userName ?? device.id ?? DeviceName.hostName()
    }
}

/// The random name of one start of a program. It makes event ids and MQTT client ids unique.
package enum RunName {
    /// Generates a name: 64 random bits, hexadecimal.
    package static func new() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// A value that is also published as plain text; the raw value is its name there and in the JSON payload.
package enum PlainValue: String, CaseIterable, Sendable {
    case roll
    case pitch
    case yaw
    case moving
    case side
    case tilt
    case vibrating
    case temperature

    /// Whether the broker keeps it, as it does the state that it is a part of.
    package var isRetained: Bool {
        switch self {
        case .moving, .side, .tilt, .vibrating: true
        case .roll, .pitch, .yaw, .temperature: false
        }
    }

    /// The values of a payload, with their texts there.
    package static func values(in payload: JSONObject) -> [(value: PlainValue, text: String)] {
        guard let tree = try? JSONReader.read(payload.bytes, source: .message("payload")) else { return [] }
        return allCases.compactMap { value in tree[value.rawValue]?.text.map { (value, $0) } }
    }
}
