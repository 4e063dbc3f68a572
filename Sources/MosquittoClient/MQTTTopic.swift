internal import CMosquitto

/// The rules for topic names and filters (MQTT 5.0, section 4.7).
package enum MQTTTopic {
    /// The longest name or filter, bytes of UTF-8.
    package static let maximumLength = 65_535

    /// Checks a name that a message is published under.
    ///
    /// - Throws: `MQTTError.invalidTopic`.
    package static func validate(name: String) throws(MQTTError) {
        try validateText(name)
        if name.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }) {
            throw .invalidTopic(name, .wildcardInName)
        }
    }

    /// Whether a message can be published under a name.
    package static func isValid(name: String) -> Bool {
        do throws(MQTTError) {
            try validate(name: name)
            return true
        } catch {
            return false
        }
    }

    /// Checks a filter that is subscribed to: `+` stands for a whole level, `#` for the whole rest.
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

    /// Whether a message under `name` is delivered to a subscription of `filter` (`mosquitto_topic_matches_sub`).
    package static func matches(_ name: String, filter: String) -> Bool {
        var result = false
        return mosquitto_topic_matches_sub(filter, name, &result) == MOSQ_ERR_SUCCESS.rawValue && result
    }

    /// What names and filters have in common. A Swift string is valid Unicode by itself.
    private static func validateText(_ text: String) throws(MQTTError) {
        if text.isEmpty { throw .invalidTopic(text, .empty) }
        if text.utf8.count > maximumLength { throw .invalidTopic(String(text.prefix(80)) + "…", .tooLong) }
        // Brokers may close the connection over these (section 1.5.4), and libmosquitto refuses them.
        let isControl = { (scalar: Unicode.Scalar) in
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.properties.isNoncharacterCodePoint
        }
        if text.unicodeScalars.contains(where: isControl) { throw .invalidTopic(text, .controlCharacter) }
    }

    /// What is wrong with a name or a filter.
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
            case .wildcardInName: "a name holds neither '+' nor '#'"
            case .misplacedWildcard: "'+' stands for a whole level, and '#' for the whole rest"
            }
        }
    }
}
