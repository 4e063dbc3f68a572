internal import LinuxSystem
internal import Synchronization

/// How a mailbox treats an event, so that no sender can fill it.
enum MailboxKind: Sendable {
    /// Bounded by its source: connection changes, acknowledgements of messages in flight, results of the agent's own
    /// threads.
    case essential
    /// A message from the network. Beyond the limits it is discarded and counted.
    case external(bytes: Int)
    /// A gesture, or an action that it triggers. Beyond the limit it is discarded and counted.
    case gesture
    /// Replaces the previous event of this kind if that is still waiting.
    case newest
}

/// An event that a mailbox can hold.
protocol MailboxEvent: Sendable {
    var kind: MailboxKind { get }
}

/// A bounded queue of events from other threads to the agent's loop. Posting copies the event and never blocks for
/// longer.
final class Mailbox<Event: MailboxEvent>: Sendable {
    /// The capacity of a mailbox.
    struct Limits: Sendable {
        /// Messages from the network, and the total bytes of their topics and payloads.
        var externalCount = 1000
        var externalBytes = 1 << 20
        var gestures = 10_000
    }

    /// The numbers of discarded events.
    struct Losses: Equatable, Sendable {
        var external = 0
        var gestures = 0
    }

    private struct Content {
        var events: [Event] = []
        var externalCount = 0
        var externalBytes = 0
        var gestures = 0
        var newest: Int?
        var losses = Losses()
    }

    private let limits: Limits
    private let content = Mutex(Content())
    /// Signalled when an event is posted.
    let wake: WakeSignal

    init(wake: WakeSignal, limits: Limits = Limits()) {
        self.wake = wake
        self.limits = limits
    }

    /// Posts an event, from any thread. Unless it wakes the loop, it waits until something else does.
    func post(_ event: Event, wakes: Bool = true) {
        let limits = self.limits
        content.withLock { content in
            switch event.kind {
            case .essential: break
            case .newest:
                if let place = content.newest {
                    content.events[place] = event
                    return
                }
                content.newest = content.events.count
            case .external(let bytes):
                guard content.externalCount < limits.externalCount,
                    content.externalBytes + bytes <= limits.externalBytes
                else {
                    content.losses.external += 1
                    return
                }
                content.externalCount += 1
                content.externalBytes += bytes
            case .gesture:
                guard content.gestures < limits.gestures else {
                    content.losses.gestures += 1
                    return
                }
                content.gestures += 1
            }
            content.events.append(event)
        }
        if wakes { wake.signal() }
    }

    /// Removes and returns all events, in the order in which they were posted, and the losses since the last call.
    func takeAll() -> (events: [Event], losses: Losses) {
        content.withLock { content in
            let taken = content
            content = Content()
            return (taken.events, taken.losses)
        }
    }
}
