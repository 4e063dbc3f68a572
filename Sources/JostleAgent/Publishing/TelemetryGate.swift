package import MotionCore

/// Decides when to publish a continuously changing quantity.
///
/// At most `rate` messages per second are published. A message is due when the quantity has left the dead band around
/// the last published value, or when the heartbeat interval has elapsed. It has no clock: the caller passes the time.
package struct TelemetryGate: Sendable {
    /// The minimum time between messages, s; `nil` publishes nothing.
    private let interval: Double?
    private let heartbeat: Double
    private var nextSlot: Timestamp?
    private var lastSent: Timestamp?

    /// - Parameters:
    /// - rate: the maximum number of messages per second, Hz; 0 publishes nothing.
    /// - heartbeat: seconds after which a message is published without a change; 0 disables this.
    package init(rate: Double, heartbeat: Double) {
        interval = rate > 0 ? 1 / rate : nil
        self.heartbeat = heartbeat
    }

    /// Whether a message is due at `now`. `hasChanged` returns whether the quantity has left the dead band.
    ///
    /// The due times lie on a grid, so that the mean rate is kept although samples do not fall on the grid.
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

    /// Makes the next message due at once, for a new listener.
    package mutating func reset() {
        nextSlot = nil
        lastSent = nil
    }
}
