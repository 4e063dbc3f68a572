/// The agent's own mark of a message, by which the message's fate is reported.
public struct MQTTToken: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
