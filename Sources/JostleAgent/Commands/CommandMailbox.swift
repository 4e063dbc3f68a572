internal import LinuxSystem
internal import MosquittoClient
internal import MotionKit
internal import Synchronization

/// Commands on their way from the network thread, which must not wait for what they do, to the main thread.
final class CommandMailbox: Sendable {
    /// Messages that wait at most; whoever sends more of them than the main thread can take in gets no answer.
    static let capacity = 1000

    /// Bytes of their topics and payloads that wait at most.
    static let capacityBytes = 1 << 18

    /// Bytes of a payload that are kept: more than any reader takes, so that a longer one is refused for its length.
    static let keptBytes = 4097

    private struct Content {
        var messages: [MQTTMessage] = []
        var bytes = 0
        var leftOut = 0
    }

    private let content = Mutex(Content())
    private let bell: WakeSignal

    /// Makes a mailbox that rings `bell` where something comes.
    init(bell: WakeSignal) {
        self.bell = bell
    }

    /// Puts a message in, or counts it where the mailbox is full.
    func post(_ message: MQTTMessage) {
        var message = message
        if message.payload.count > CommandMailbox.keptBytes {
            message.payload = Array(message.payload.prefix(CommandMailbox.keptBytes))
        }
        content.withLock { content in
            let bytes = content.bytes + message.payload.count + message.topic.utf8.count
            if content.messages.count < CommandMailbox.capacity, bytes <= CommandMailbox.capacityBytes {
                content.messages.append(message)
                content.bytes = bytes
            } else {
                content.leftOut += 1
            }
        }
        bell.ring()
    }

    /// Takes everything out, in the order in which it came.
    func takeAll() -> [MQTTMessage] {
        content.withLock { content in
            defer {
                content.messages = []
                content.bytes = 0
            }
            return content.messages
        }
    }

    /// Messages that found no room since the last call of `takeLeftOut`.
    var leftOut: Int { content.withLock { $0.leftOut } }

    /// Begins to count anew.
    func takeLeftOut() -> Int {
        content.withLock { content in
            defer { content.leftOut = 0 }
            return content.leftOut
        }
    }
}
