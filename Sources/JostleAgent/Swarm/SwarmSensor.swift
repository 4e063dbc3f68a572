internal import IMUDrivers
internal import MotionCore

/// Stands in for the sensor that a virtual board does not have: it lies still and counts samples, until it dies.
struct SwarmSensor: Equatable, Sendable {
    /// Samples per second.
    private let rate: Double
    /// The samples before it last began to deliver.
    private var earlierSamples = 0.0
    /// Since when it delivers; `nil` while it does not.
    private var start: Timestamp?
    private var isDead: Bool
    private var isDefective = false

    init(rate: Double, isDead: Bool, at now: Timestamp) {
        self.rate = rate
        self.isDead = isDead
        start = isDead ? nil : now
    }

    /// Whether it delivers samples.
    var delivers: Bool { start != nil }

    /// From now on it delivers nothing.
    mutating func die(at now: Timestamp) {
        isDead = true
        update(at: now)
    }

    /// It delivers nothing for as long as a defect lasts.
    mutating func setDefective(_ isDefective: Bool, at now: Timestamp) {
        self.isDefective = isDefective
        update(at: now)
    }

    private mutating func update(at now: Timestamp) {
        let delivers = !isDead && !isDefective
        guard delivers != self.delivers else { return }
        earlierSamples = sampleCount(at: now)
        start = delivers ? now : nil
    }

    private func sampleCount(at now: Timestamp) -> Double {
        earlierSamples + (start.map { max(0, now.seconds(since: $0) * rate) } ?? 0)
    }

    /// The samples that it has delivered since the board's start.
    func samples(at now: Timestamp) -> UInt64 { UInt64(sampleCount(at: now)) }

    /// The driver's state and counters.
    func status(at now: Timestamp) -> IMUStatus {
        var status = IMUStatus()
        status.state = delivers ? .streaming : .recovering
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
