internal import JostleConfiguration
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

    /// Whether a discovery message is one of Jostle's. Another program may use the same id for its device.
    static func isOurs(_ payload: [UInt8]) -> Bool {
        var limits = ReaderLimits()
        limits.bytes = 65_536
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(payload, source: .message("announcement"), limits: limits)
            return tree["origin"]?["name"]?.text == DiscoverySet.originName
        } catch {
            return false
        }
    }

    /// The device id in a discovery topic.
    static func device(ofTopic topic: String) -> String? {
        let parts = topic.split(separator: "/")
        return topic.hasSuffix(topicEnd) && parts.count >= 4 ? String(parts[parts.count - 3]) : nil
    }
}
