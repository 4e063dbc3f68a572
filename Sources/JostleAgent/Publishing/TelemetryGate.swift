package import MotionCore

/// Decides when a quantity that changes all the time is worth a message.
///
/// At most `rate` messages a second; between them only a change beyond the dead band, since the last message, is sent,
/// or anything at all once the heartbeat's time is over. A pure rule: time is what the caller says.
package struct TelemetryGate: Sendable {
    /// Seconds between two messages at least; `nil` sends nothing.
    private let interval: Double?
    private let heartbeat: Double
    private var nextSlot: Timestamp?
    private var lastSent: Timestamp?

    /// - Parameters:
    ///   - rate: messages a second at most, Hz; 0 sends nothing.
    ///   - heartbeat: seconds after which a message is sent although nothing changed; 0 waits for ever.
    package init(rate: Double, heartbeat: Double) {
        interval = rate > 0 ? 1 / rate : nil
        self.heartbeat = heartbeat
    }

    /// Whether a message is due at `now`, given whether the quantity left the dead band since the last one.
    ///
    /// Slots lie on a grid, so that a rate of 10 Hz stays one although samples do not fall on it.
    package mutating func isDue(at now: Timestamp, hasChanged: () -> Bool) -> Bool {
        guard let interval else { return false }
        if let nextSlot, now < nextSlot { return false }
        let isLate = heartbeat > 0 && (lastSent.map { now.seconds(since: $0) >= heartbeat } ?? true)
        guard lastSent == nil || isLate || hasChanged() else { return false }
        let onGrid = (nextSlot ?? now).advanced(bySeconds: interval)
        nextSlot = onGrid > now ? onGrid : now.advanced(bySeconds: interval)
        lastSent = now
        return true
    }

    /// Makes the next message due at once: somebody new may be listening.
    package mutating func reset() {
        nextSlot = nil
        lastSent = nil
    }
}
