internal import MotionCore
internal import Synchronization

/// The handlers of the motion state, each with its own interval.
final class MotionHandlers: Sendable {
    private struct Entry {
        let id: Int
        /// Seconds between two calls; `nil` for the manager's `updateInterval`.
        let interval: Double?
        var schedule = UpdateSchedule()
        let handler: @Sendable (MotionState) -> Void
    }

    private struct State {
        var entries: [Entry] = []
        var lastID = 0
        /// The manager's `updateInterval`, seconds.
        var usualInterval = 0.0
        /// Seconds between two states that arrive here.
        var arrivalInterval = 0.0
    }

    private let state = Mutex(State())

    /// Adds a handler.
    ///
    /// - Parameters:
    ///   - interval: seconds between two calls; `nil` for the manager's `updateInterval`.
    ///   - onRemove: called after the handler was removed.
    ///   - handler: called on the delivery thread.
    /// - Returns: a token that removes the handler.
    func add(
        interval: Double?, onRemove: @escaping @Sendable () -> Void,
        _ handler: @escaping @Sendable (MotionState) -> Void
    ) -> HandlerToken {
        let id = state.withLock { state in
            state.lastID += 1
            state.entries.append(
                Entry(id: state.lastID, interval: interval.map(MotionHandlers.usable), handler: handler))
            return state.lastID
        }
        return HandlerToken {
            self.state.withLock { state in state.entries.removeAll { $0.id == id } }
            onRemove()
        }
    }

    /// The shortest interval that a handler asks for, seconds, and from now on the one at which states arrive. At rest they
    /// arrive more rarely if `resting` says so and all handlers have the usual interval.
    func takeIntervals(usual: Double, resting: Double) -> UpdateIntervals {
        state.withLock { state in
            let usual = MotionHandlers.usable(usual)
            let shortest = state.entries.map { $0.interval ?? usual }.min() ?? usual
            state.usualInterval = usual
            state.arrivalInterval = shortest
            let areUsual = state.entries.allSatisfy { $0.interval == nil }
            return UpdateIntervals(moving: shortest, resting: areUsual ? max(shortest, resting) : shortest)
        }
    }

    /// An interval that can be added to an instant: 0 for not-a-number and negative ones, at most a million seconds.
    private static func usable(_ interval: Double) -> Double { interval > 0 ? min(interval, 1e6) : 0 }

    /// Whether a handler wants the state after every sample.
    var wantsEveryState: Bool { state.withLock { $0.arrivalInterval <= 0 } }

    /// Calls the handlers that are due.
    ///
    /// - Parameters:
    ///   - motion: the state.
    ///   - isNewest: whether no newer state is waiting. Only handlers without an interval are called for the others.
    func notify(_ motion: MotionState, isNewest: Bool) {
        let ids = state.withLock { $0.entries.map(\.id) }
        for id in ids {
            let handler = state.withLock { state -> (@Sendable (MotionState) -> Void)? in
                guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return nil }
                let interval = state.entries[index].interval ?? state.usualInterval
                // What arrives at this very interval is on the sensor thread's grid already.
                if interval <= state.arrivalInterval {
                    return interval <= 0 || isNewest ? state.entries[index].handler : nil
                }
                guard isNewest else { return nil }
                let tolerance = 0.5 * state.arrivalInterval
                guard
                    state.entries[index].schedule.isDue(
                        at: motion.timestamp, interval: interval, tolerance: tolerance)
                else { return nil }
                return state.entries[index].handler
            }
            handler?(motion)
        }
    }
}

/// How often states are sent, seconds: while something moves, and in a rest with long pauses between two polls.
struct UpdateIntervals: Sendable, Equatable, BitwiseCopyable {
    var moving: Double
    var resting: Double
}

/// A grid of instants at which something is due, so that a rate of 10 Hz stays one whatever the sample rate.
struct UpdateSchedule: Sendable, BitwiseCopyable {
    private var next = Timestamp(nanoseconds: .min)

    /// Whether the instant has reached the grid's next point, which it then advances by `interval` seconds.
    mutating func isDue(at time: Timestamp, interval: Double, tolerance: Double = 0) -> Bool {
        guard time >= next || next.seconds(since: time) <= tolerance else { return false }
        let following = next.nanoseconds == .min ? time : next.advanced(bySeconds: interval)
        next = following > time ? following : time.advanced(bySeconds: interval)
        return true
    }
}
