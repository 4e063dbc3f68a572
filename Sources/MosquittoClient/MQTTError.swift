internal import LinuxSystem

/// Why a call on a client was turned down, at once and without a look at the network.
package enum MQTTError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no connection: keep the message, and publish it after `MQTTEvent.connected`.
    case notConnected
    /// As many messages wait as may: the network or the broker is slower than the publisher.
    case queueFull
    /// The client was stopped, or is stopping.
    case stopped
    /// `start` was called before.
    case alreadyStarted
    case invalidTopic(String, MQTTTopic.Fault)
    /// A payload or a property is larger than allowed, in bytes.
    case tooLarge(String, size: Int, limit: Int)
    /// A setting that cannot work: its name, and why.
    case invalidOption(String, String)
    /// A system call failed: its name and the errno.
    case system(String, code: Int32)

    package var description: String {
        switch self {
        case .notConnected: "not connected to a broker"
        case .queueFull: "too many messages wait to be sent"
        case .stopped: "the MQTT client was stopped"
        case .alreadyStarted: "the MQTT client was started before"
        case .invalidTopic(let topic, let fault): "'\(topic)' is no valid topic: \(fault)"
        case .tooLarge(let part, let size, let limit): "the \(part) has \(size) bytes, more than the limit of \(limit)"
        case .invalidOption(let name, let reason): "\(name): \(reason)"
        case .system(let call, let code): "\(call) failed: \(systemMessage(code))"
        }
    }
}
