internal import MosquittoClient
internal import MotionKit
internal import Synchronization

/// Commands on their way from the network thread, which must not wait for what they do, to the main thread.
final class CommandMailbox: Sendable {
    /// Messages that wait at most; whoever sends more of them than the main thread can take in gets no answer.
    static let capacity = 32

    private let messages = Mutex<[MQTTMessage]>([])
    private let bell: WakeSignal

    /// Makes a mailbox that rings `bell` where something comes.
    init(bell: WakeSignal) {
        self.bell = bell
    }

    /// Puts a message in, unless the mailbox is full.
    func post(_ message: MQTTMessage) {
        let isTaken = messages.withLock { messages in
            guard messages.count < CommandMailbox.capacity else { return false }
            messages.append(message)
            return true
        }
        if isTaken { bell.ring() }
    }

    /// Takes everything out, in the order in which it came.
    func takeAll() -> [MQTTMessage] {
        messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}
