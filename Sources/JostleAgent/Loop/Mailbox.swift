internal import LinuxSystem
internal import Synchronization

/// How a mailbox treats an event, so that no sender can fill it.
enum MailboxKind: Sendable {
    /// Bounded by its source: connections, acknowledgements of the messages in flight, answers of the agent's own threads.
    case essential
    /// Sent by strangers, of so many bytes: beyond the limits it is left out and counted.
    case foreign(bytes: Int)
    /// A gesture or what an action makes of it: beyond the limit it is left out and counted.
    case gesture
    /// Only the newest one counts: it takes the place of one that still waits.
    case newest
}

/// An event that goes through a mailbox.
protocol MailboxEvent: Sendable {
    var kind: MailboxKind { get }
}

/// Events on their way from other threads to the agent's loop. Bounded; posting never waits for more than the copying.
final class Mailbox<Event: MailboxEvent>: Sendable {
    /// How much may wait.
    struct Limits: Sendable {
        /// Messages of strangers, and bytes of their topics and payloads.
        var foreignCount = 1000
        var foreignBytes = 1 << 20
        var gestures = 10_000
    }

    /// What found no room.
    struct Losses: Equatable, Sendable {
        var foreign = 0
        var gestures = 0
    }

    private struct Content {
        var events: [Event] = []
        var foreignCount = 0
        var foreignBytes = 0
        var gestures = 0
        var newest: Int?
        var losses = Losses()
    }

    private let limits: Limits
    private let content = Mutex(Content())
    /// Rung when something comes.
    let wake: WakeSignal

    init(wake: WakeSignal, limits: Limits = Limits()) {
        self.wake = wake
        self.limits = limits
    }

    /// Puts an event in. Any thread may call it.
    func post(_ event: Event) {
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
            case .foreign(let bytes):
                guard content.foreignCount < limits.foreignCount, content.foreignBytes + bytes <= limits.foreignBytes
                else {
                    content.losses.foreign += 1
                    return
                }
                content.foreignCount += 1
                content.foreignBytes += bytes
            case .gesture:
                guard content.gestures < limits.gestures else {
                    content.losses.gestures += 1
                    return
                }
                content.gestures += 1
            }
            content.events.append(event)
        }
        wake.signal()
    }

    /// Takes everything out, in the order in which it came, and what found no room since the last time.
    func takeAll() -> (events: [Event], losses: Losses) {
        content.withLock { content in
            let taken = content
            content = Content()
            return (taken.events, taken.losses)
        }
    }
}
