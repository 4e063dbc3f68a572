@testable import MotionCore

/// An arbiter, its near misses, and its events.
struct ArbiterRig: ~Copyable {
    var arbiter: GestureArbiter
    var misses = NearMisses()
    var events: [GestureEvent] = []
    var undecided: GestureSet = []
    var held: GestureSet = []
    private var cells = 0

    init(_ settings: GestureSettings = GestureSettings()) {
        arbiter = GestureArbiter(settings: settings)
        misses.isEnabled = true
    }

    mutating func propose(_ gesture: Gesture, _ phase: GesturePhase, at seconds: Double, duration: Double? = nil) {
        var event = GestureEvent(gesture, phase, at: Timestamp(seconds: seconds))
        event.duration = duration
        var new: [GestureEvent] = []
        arbiter.propose(event, undecided: undecided, held: held, &misses) { new.append($0) }
        events += new
    }

    mutating func release(at seconds: Double) {
        var new: [GestureEvent] = []
        arbiter.release(at: Timestamp(seconds: seconds), undecided: undecided, held: held, &misses) { new.append($0) }
        events += new
    }

    mutating func cancelAll(_ reason: CancellationReason, at seconds: Double) {
        var new: [GestureEvent] = []
        arbiter.cancelAll(reason, at: Timestamp(seconds: seconds)) { new.append($0) }
        events += new
    }

    mutating func apply(_ settings: GestureSettings, at seconds: Double) {
        var new: [GestureEvent] = []
        arbiter.apply(settings, at: Timestamp(seconds: seconds)) { new.append($0) }
        events += new
    }

    /// Adds cells of a body that is held with `up` pointing up.
    mutating func hold(_ up: Vector3, moving: Bool, seconds: Double, referenceUp: Vector3 = Vector3(0, 0, 1)) {
        for _ in 0..<Int((seconds / CellGrid.cell).rounded()) {
            cells += 1
            let time = Double(cells) * CellGrid.cell
            var sample = GestureSample(
                timestamp: Timestamp(seconds: time), interval: CellGrid.cell, acceleration: up * standardGravity)
            sample.gravity = up * standardGravity
            sample.referenceUp = referenceUp
            sample.isMoving = moving
            arbiter.update(
                GestureCell(
                    time: time, acceleration: sample.acceleration, rotationRate: .zero, nearest: sample.acceleration,
                    sample: sample))
        }
    }

    /// "shake began", …
    var words: [String] { events.map { "\($0.gesture) \($0.phase)" } }

    mutating func missReasons() -> [NearMiss.Reason] {
        var reasons: [NearMiss.Reason] = []
        while let miss = misses.take() { reasons.append(miss.reason) }
        return reasons
    }
}
