internal import IMUDrivers
internal import JostleConfiguration
package import MosquittoClient
internal import MotionCore

/// An event that another thread posts to the agent's loop. Indirect, because it is passed on several times, and some are large.
indirect enum AgentEvent: MailboxEvent {
    /// From the network thread.
    case mqtt(MQTTEvent)
    /// From the delivery thread.
    case motion(MotionState)
    case gesture(GestureEvent)
    case action(JostleSettings.Action, GestureEvent)
    case sensor(SensorEvent)
    case machine(MachineReport)
    /// From the thread of an action: a program has ended, or an event was posted.
    case actionEnded(ActionQueue.Lane, ActionOutcome)
    /// From the writer's thread and those of commands.
    case device(DeviceEvent)
    /// From the writer's thread: the storage faults changed.
    case storageChanged
    /// From the thread that read the configuration files again.
    case configuration(Result<LoadedConfiguration, ConfigurationErrors>)

    var kind: MailboxKind {
        switch self {
        case .mqtt(.message(let message)): .external(bytes: message.payload.count + message.topic.utf8.count)
        case .mqtt, .sensor, .machine, .actionEnded, .device, .storageChanged, .configuration: .essential
        case .motion: .newest
        case .gesture, .action: .gesture
        }
    }
}

extension MQTTEvent {
    /// Payload bytes that are kept of a received message. It exceeds the largest reader's limit by one, so that a longer
    /// payload is still refused for its length.
    private static let maximumPayload = 65_537

    /// The event, with a payload that is no longer than any reader accepts.
    package var truncated: MQTTEvent {
        guard case .message(var message) = self, message.payload.count > MQTTEvent.maximumPayload else { return self }
        message.payload = Array(message.payload.prefix(MQTTEvent.maximumPayload))
        return .message(message)
    }

    /// The event as an observer of the connection sees it.
    var connectionChange: Agent.ConnectionChange? {
        switch self {
        case .connected(let connection): .connected(connection)
        case .disconnected(let end):
            end.retryAfter == nil ? nil : .notConnected(end.broker, end.failure)
        default: nil
        }
    }
}
