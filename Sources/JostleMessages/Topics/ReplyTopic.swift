package import JostleConfiguration

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
