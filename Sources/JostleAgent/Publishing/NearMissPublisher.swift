internal import JostleMessages
internal import JostleRuntime
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Publishes movements that were almost gestures, while somebody wants them. Used on the loop's thread; the messages
/// leave from the delivery thread.
///
/// The manager explains movements only while it has a handler for that, which costs the sensor thread time. So the
/// handler is there only while it is wanted.
final class NearMissPublisher {
    /// Who wants near misses.
    enum Wish: Hashable {
        /// The configuration: `publish.near_misses`.
        case configuration
        /// A stream that asked for them.
        case stream
    }

    private let manager: MotionManager
    private let sender: NearMissSender
    private var wishes: Set<Wish> = []
    private var token: HandlerToken?

    init(manager: MotionManager, output: StreamOutput, isSimulated: Bool) {
        self.manager = manager
        sender = NearMissSender(output: output, isSimulated: isSimulated)
    }

    deinit {
        token?.remove()
    }

    /// Whether near misses are published.
    var isActive: Bool { token != nil }

    /// Records whether somebody wants near misses.
    func set(_ wish: Wish, to isWanted: Bool) {
        if isWanted { wishes.insert(wish) } else { wishes.remove(wish) }
        if wishes.isEmpty {
            token?.remove()
            token = nil
        } else if token == nil {
            let sender = self.sender
            token = manager.addNearMissHandler { sender.send($0) }
        }
    }
}

/// Turns near misses into messages, on the delivery thread.
final class NearMissSender: Sendable {
    private let output: StreamOutput
    private let isSimulated: Bool
    private let budget = Mutex(Budget())

    /// How many are published: a board that is carried about comes near a gesture many times a second.
    private struct Budget {
        /// Five at once, then five a second.
        var total = TokenBucket(capacity: 5, rate: 5)
        /// Of each gesture two at once, then one a second, so that the swings of a shake that are almost impacts do not
        /// keep the shake itself away.
        var each = Gesture.allCases.map { _ in TokenBucket(capacity: 2, rate: 1) }

        mutating func spend(on gesture: Gesture, at now: Timestamp) -> Bool {
            each[Int(gesture.rawValue)].spend(at: now) && total.spend(at: now)
        }
    }

    init(output: StreamOutput, isSimulated: Bool) {
        self.output = output
        self.isSimulated = isSimulated
    }

    /// Publishes a near miss, unless there were too many in the last second.
    func send(_ miss: NearMiss) {
        guard budget.withLock({ $0.spend(on: miss.gesture, at: miss.timestamp) }) else { return }
        let time = WallClock.milliseconds(at: miss.timestamp)
        _ = output.publish(Payloads.nearMiss(miss, at: time, isSimulated: isSimulated).bytes)
    }
}
