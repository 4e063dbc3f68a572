internal import CMosquitto

/// The rules for topic names and filters (MQTT 5.0, section 4.7).
package enum MQTTTopic {
    /// The longest name or filter, bytes of UTF-8.
    package static let maximumLength = 65_535

    /// Checks a topic name for publishing.
    ///
    /// - Throws: `MQTTError.invalidTopic`.
    package static func validate(name: String) throws(MQTTError) {
        if isPlain(name) { return }
        try validateText(name)
        if name.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }) {
            throw .invalidTopic(name, .wildcardInName)
        }
    }

    /// Whether a name is ASCII without control characters and wildcards, as nearly all are: found out without the tables of
    /// Unicode.
    private static func isPlain(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            (1...maximumLength).contains(bytes.count)
                && bytes.allSatisfy { byte in
                    (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "+") && byte != UInt8(ascii: "#")
                }
        }
    }

    /// Whether a topic name is valid for publishing.
    package static func isValid(name: String) -> Bool {
        do {
            try validate(name: name)
            return true
        } catch {
            return false
        }
    }

    /// Checks a filter for subscribing: `+` stands for one level, `#` for all remaining levels.
    ///
    /// - Throws: `MQTTError.invalidTopic`.
    package static func validate(filter: String) throws(MQTTError) {
        try validateText(filter)
        let levels = filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (position, level) in levels.enumerated() {
            let hasPlus = level.contains(UInt8(ascii: "+"))
            let hasHash = level.contains(UInt8(ascii: "#"))
            let isMisplaced = (hasPlus || hasHash) && level.count > 1 || hasHash && position != levels.count - 1
            if isMisplaced { throw .invalidTopic(filter, .misplacedWildcard) }
        }
    }

    /// Whether a message on topic `name` matches `filter` (`mosquitto_topic_matches_sub`).
    package static func matches(_ name: String, filter: String) -> Bool {
        var result = false
        return mosquitto_topic_matches_sub(filter, name, &result) == MOSQ_ERR_SUCCESS.rawValue && result
    }

    /// Checks the rules common to names and filters. A Swift string is always valid Unicode.
    private static func validateText(_ text: String) throws(MQTTError) {
        if text.isEmpty { throw .invalidTopic(text, .empty) }
        if text.utf8.count > maximumLength { throw .invalidTopic(String(text.prefix(80)) + "…", .tooLong) }
        // Brokers may close the connection because of these (section 1.5.4), and libmosquitto refuses them.
        let isControl = { (scalar: Unicode.Scalar) in
            // The table is only asked about what is not ASCII.
            if scalar.value < 0x7F { return scalar.value < 0x20 }
            return scalar.value <= 0x9F || scalar.properties.isNoncharacterCodePoint
        }
        if text.unicodeScalars.contains(where: isControl) { throw .invalidTopic(text, .controlCharacter) }
    }

    /// A fault in a name or filter.
    package enum Fault: Equatable, Sendable, CustomStringConvertible {
        case empty
        case tooLong
        case controlCharacter
        case wildcardInName
        case misplacedWildcard

        package var description: String {
            switch self {
            case .empty: "it is empty"
            case .tooLong: "it is longer than \(maximumLength) bytes"
            case .controlCharacter: "it contains a control character"
            case .wildcardInName: "a topic name must not contain '+' or '#'"
            case .misplacedWildcard: "'+' must be a whole level, and '#' the last level"
            }
        }
    }
}

/// The options of a subscription.
package struct MQTTSubscription: Equatable, Sendable {
    var qos: MQTTQoS
    var keepsRetainFlag = false

    /// Whether the connection is of use without it. Optional filters are requested last, one at a time, and left out on
    /// the next connection if the broker ends this one instead of answering.
    var isOptional = false
}
