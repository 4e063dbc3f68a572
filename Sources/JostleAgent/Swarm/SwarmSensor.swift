internal import IMUDrivers
internal import MotionCore

/// Stands in for the sensor that a virtual board does not have: it lies still and counts samples, until it dies.
struct SwarmSensor: Equatable, Sendable {
    /// Samples per second.
    private let rate: Double
    private let start: Timestamp
    /// When it stopped delivering; `nil` while it delivers.
    private var end: Timestamp?

    init(rate: Double, isDead: Bool, at now: Timestamp) {
        self.rate = rate
        start = now
        end = isDead ? now : nil
    }

    /// Whether it delivers samples.
    var delivers: Bool { end == nil }

    /// From now on it delivers nothing.
    mutating func die(at now: Timestamp) { end = end ?? now }

    /// The samples that it has delivered since the board's start.
    func samples(at now: Timestamp) -> UInt64 { UInt64(max(0, (end ?? now).seconds(since: start) * rate)) }

    /// The driver's state and counters.
    func status(at now: Timestamp) -> IMUStatus {
        var status = IMUStatus()
        status.state = end == nil ? .streaming : .recovering
        status.samples = samples(at: now)
        status.period = 1 / rate
        return status
    }

    /// The state of a board that lies still.
    static func stillState(at now: Timestamp) -> MotionState {
        var state = MotionState()
        state.timestamp = now
        return state
    }
}
