internal import JostleMessages

/// What announcements say of the device beside its settings.
struct DiscoveryFacts: Equatable, Sendable {
    /// The device's name in topics.
    var id: String
    var topics: Topics
    /// The program's version.
    var version: String
    /// The sensor in a few words: `MPU-6050 at 0x68 on /dev/i2c-1`; `nil` where it was not looked for.
    var sensor: String?
    /// Without a gyroscope there are no turns, and no heading.
    var hasGyroscope: Bool
    var board: BoardFacts
    /// The names of the commands that the device takes.
    var commands: [String]
}

/// One announcement.
struct DiscoveryMessage: Equatable, Sendable {
    var topic: String
    var payload: String

    /// What the topic of every announcement ends with.
    static let topicEnd = "/config"

    /// The device that an announcement's topic names.
    static func device(ofTopic topic: String) -> String? {
        let parts = topic.split(separator: "/")
        return topic.hasSuffix(topicEnd) && parts.count >= 4 ? String(parts[parts.count - 3]) : nil
    }
}
