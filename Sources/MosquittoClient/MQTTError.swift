package import LinuxSystem

/// Why a call on a client failed. These errors are immediate and do not depend on the network.
package enum MQTTError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no connection. Keep the message and publish it after `MQTTEvent.connected`.
    case notConnected
    /// The queue is full: the network or the broker is slower than the publisher.
    case queueFull
    /// The client has stopped or is stopping.
    case stopped
    /// `start` has already been called.
    case alreadyStarted
    case invalidTopic(String, MQTTTopic.Fault)
    /// A payload or a property exceeds its size limit, bytes.
    case tooLarge(String, size: Int, limit: Int)
    /// An invalid setting: its name, and the reason.
    case invalidOption(String, String)
    /// A system call failed: its name, and the errno.
    case system(String, code: Int32)

    package var description: String {
        switch self {
        case .notConnected: "not connected to a broker"
        case .queueFull: "too many messages are waiting to be sent"
        case .stopped: "the MQTT client was stopped"
        case .alreadyStarted: "the MQTT client has already been started"
        case .invalidTopic(let topic, let fault): "'\(topic)' is not a valid topic: \(fault)"
        case .tooLarge(let part, let size, let limit): "the \(part) has \(size) bytes, more than the limit of \(limit)"
        case .invalidOption(let name, let reason): "\(name): \(reason)"
        case .system(let call, let code): "\(call) failed: \(systemMessage(code))"
        }
    }
}

extension MQTTError: FailureConvertible {
    /// The configuration leads to options that cannot be used.
    package var failure: Failure { Failure(.configuration, description) }
}
