internal import JostleMessages

/// What discovery messages say about the device, apart from its settings.
struct DiscoveryFacts: Equatable, Sendable {
    /// The device's id in topics.
    var id: String
    var topics: Topics
    var version: String
    /// A short description of the sensor, `MPU-6050 at 0x68 on /dev/i2c-1`; `nil` if the agent did not look for one.
    var sensor: String?
    /// Without a gyroscope there are no turns and there is no heading.
    var hasGyroscope: Bool
    var board: BoardFacts
    /// The names of the commands that the device accepts.
    var commands: [String]
}

/// A discovery message.
struct DiscoveryMessage: Equatable, Sendable {
    var topic: String
    var payload: String

    /// The last level of every discovery topic.
    static let topicEnd = "/config"

    /// The device id in a discovery topic.
    static func device(ofTopic topic: String) -> String? {
        let parts = topic.split(separator: "/")
        return topic.hasSuffix(topicEnd) && parts.count >= 4 ? String(parts[parts.count - 3]) : nil
    }
}
