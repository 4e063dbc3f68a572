internal import CMotionMath

/// Recognises turns in the mode `free`: any deliberate rotation about an axis of the body.
///
/// Rotation about each body axis is followed from rest. A turn begins when the rotation has gone far enough, was fast
/// enough and has lasted longer than the jerk of a flick or the swing of a shake; among several axes, the one with the
/// largest angle counts. It ends when the rate about this axis stays low, or when the rotation reverses, which may
/// begin the next turn. The angle includes the rotation before the turn was recognised and while it came to rest.
struct FreeTurnRecognizer: ~Copyable {
    // First, because Swift 6.3.1 with -sanitize=thread takes the first value of the struct for the pointer.
    private let axes: UnsafeMutablePointer<AxisRotation>
    /// The settings; change them with `apply(_:)`.
    private(set) var settings: TurnSettings

    /// The factor by which sensitivity divides the needed angle and rate.
    private var gain: Double
    /// The attitude integrated from the rates alone: corrections of the vertical are not turns.
    private var attitude = Quaternion.identity
    /// Whether nothing is rotating and nothing has for a while.
    private var isIdle = false
    /// Whether it has rested since the start: a rotation that was there before is no turn.
    private var hasRested = false
    /// The axis of the turn in progress.
    private var turning: Int?
    private var turn = Turn()

    /// A turn in progress.
    private struct Turn {
        var angle = 0.0
        /// The largest angle, and the attitude and time at which it was reached.
        var farthest = 0.0
        var attitudeThere = Quaternion.identity
        var timeThere = 0.0
        /// The rate, and the one with the largest magnitude so far, rad/s.
        var rate = 0.0
        var peak = 0.0
        /// Seconds for which the rate has been low.
        var slow = 0.0
        var reportedAngle = 0.0
        var reportedAt = 0.0
        var beganAt = 0.0
    }

    init(settings: TurnSettings) {
        self.settings = settings
        gain = settings.gain
        axes = .allocate(capacity: 3)
        axes.initialize(to: AxisRotation(axis: .x))
        (axes + 1).initialize(to: AxisRotation(axis: .y))
        (axes + 2).initialize(to: AxisRotation(axis: .z))
    }

    deinit {
        axes.deallocate()
    }

    /// Whether a turn is in progress.
    var isTurning: Bool { turning != nil }

    /// Whether a rotation has covered half of a turn's smallest angle and may still become a turn.
    var isUndecided: Bool {
        guard turning == nil, !isIdle else { return false }
        let half = 0.5 * settings.minimumAngle / gain
        return abs(axes[0].integral) > half || abs(axes[1].integral) > half || abs(axes[2].integral) > half
    }

    /// Applies new settings; a turn in progress continues.
    mutating func apply(_ settings: TurnSettings) {
        self.settings = settings
        gain = settings.gain
    }

    /// Resets the recognizer without an event; the caller cancels a turn in progress.
    mutating func reset() {
        turning = nil
        isIdle = false
        hasRested = false
        attitude = .identity
        for axis in 0..<3 { axes[axis].reset() }
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        guard cell.sample.hasRotationRate else {
            guard turning != nil else { return nil }
            let last = close(.cancelled, .interrupted, at: cell)
            reset()
            return last
        }
        let rates = cell.rotationRate
        if turning == nil {
            // At rest, which is most of the time, there is nothing to follow.
            let rests = max(abs(rates.x), max(abs(rates.y), abs(rates.z))) < AxisRotation.restRate
            hasRested = hasRested || rests
            guard hasRested else { return nil }
            if isIdle {
                if rests { return nil }
                restartAll(at: cell.time - CellGrid.cell)
            }
            isIdle = rests && axes[0].isResting && axes[1].isResting && axes[2].isResting
        }
        let before = attitude
        attitude = before.turned(by: rates * CellGrid.cell)
        for axis in 0..<3 { axes[axis].countSwings(rate: rates[axis], at: cell.time) }
        for axis in 0..<3 where axis != turning {
            let candidate = axes[axis]
            axes[axis].update(rate: rates[axis], before: before, at: cell.time)
            if misses.isEnabled, turning == nil, axes[axis].start > candidate.start {
                noteMiss(candidate, at: cell.timestamp, &misses)
            }
        }
        guard let turning else { return begin(at: cell) }
        return follow(turning, rate: rates[turning], cell)
    }
}

extension FreeTurnRecognizer {
    private enum Rule {
        /// Rate below which a turn has come to rest, rad/s, at most half of the needed rate; and for how many seconds.
        static let restRate = 10 * radiansPerDegree
        static let restTime = 0.16
        /// How far a turn may go back before it counts as reversed, rad.
        static let backlash = 4 * radiansPerDegree
        /// The share of the needed angle that makes a near miss.
        static let nearly = 0.6
    }

    /// Returns an event if one of the rotations has become a turn.
    private mutating func begin(at cell: GestureCell) -> GestureEvent? {
        var best = 0
        for axis in 1..<3 where abs(axes[axis].integral) > abs(axes[best].integral) { best = axis }
        let rotation = axes[best]
        guard abs(rotation.integral) * gain > 0.5 * settings.minimumAngle,
            rotation.duration >= neededDuration(rotation) - 1e-9
        else { return nil }
        let angle = rotation.angle(to: attitude, near: rotation.integral)
        guard abs(angle) * gain >= settings.minimumAngle, rotation.peak * gain >= settings.minimumRate else {
            return nil
        }
        turning = best
        turn = Turn()
        turn.angle = angle
        turn.farthest = angle
        turn.attitudeThere = attitude
        turn.timeThere = cell.time
        turn.beganAt = cell.time
        turn.rate = cell.rotationRate[best]
        turn.peak = rotation.peak * rotation.sign
        return report(.began, at: cell)
    }

    /// The time that a rotation must last, s: longer than a swing if the body swings to and fro.
    private func neededDuration(_ rotation: AxisRotation) -> Double {
        let isSwinging = rotation.swings(at: rotation.start) >= settings.swings
        return isSwinging ? max(settings.minimumDuration, AxisRotation.swingTime) : settings.minimumDuration
    }

    /// Follows a turn in progress.
    private mutating func follow(_ axis: Int, rate: Double, _ cell: GestureCell) -> GestureEvent? {
        let rotation = axes[axis]
        turn.rate = rate
        if abs(rate) > abs(turn.peak) { turn.peak = rate }
        turn.angle = rotation.angle(to: attitude, near: turn.angle + rate * CellGrid.cell)
        if (turn.angle - turn.farthest) * rotation.sign > 0 {
            turn.farthest = turn.angle
            turn.attitudeThere = attitude
            turn.timeThere = cell.time
        }
        let limit = min(Rule.restRate, 0.5 * settings.minimumRate / gain)
        turn.slow = abs(rate) < limit ? turn.slow + CellGrid.cell : 0
        let isBack = (turn.farthest - turn.angle) * rotation.sign > Rule.backlash
        if isBack { turn.angle = turn.farthest }
        if isBack || turn.slow >= Rule.restTime {
            let last = close(.ended, nil, at: cell)
            restartAll(at: cell.time)
            if isBack {
                axes[axis].restart(
                    from: turn.attitudeThere, at: turn.timeThere, sign: -rotation.sign, to: attitude, rate: rate,
                    now: cell.time)
            }
            return last
        }
        if cell.time - turn.beganAt > settings.maximumDuration {
            let last = close(.cancelled, .tooLong, at: cell)
            restartAll(at: cell.time)
            return last
        }
        guard abs(turn.angle - turn.reportedAngle) >= settings.changeAngle,
            cell.time - turn.reportedAt >= settings.changeInterval - 1e-9
        else { return nil }
        return report(.changed, at: cell)
    }

    /// Restarts all axes: their rotation so far belonged to the turn that is over.
    private func restartAll(at time: Double) {
        for axis in 0..<3 { axes[axis].restart(from: attitude, at: time, sign: axes[axis].sign) }
    }

    /// Records a near miss for a rotation that stopped or reversed and was almost a turn.
    private func noteMiss(_ rotation: AxisRotation, at timestamp: Timestamp, _ misses: inout NearMisses) {
        guard abs(rotation.integral) * gain >= Rule.nearly * settings.minimumAngle else { return }
        if abs(rotation.integral) * gain < settings.minimumAngle {
            misses.add(
                NearMiss(
                    .turn, .tooSmallAngle, at: timestamp, value: abs(rotation.integral),
                    limit: settings.minimumAngle / gain))
        } else if rotation.peak * gain < settings.minimumRate {
            misses.add(
                NearMiss(
                    .turn, .tooWeak, at: timestamp, value: rotation.peak, limit: settings.minimumRate / gain,
                    unit: .rate))
        } else {
            misses.add(
                NearMiss(
                    .turn, .tooShort, at: timestamp, value: rotation.duration,
                    limit: neededDuration(rotation)))
        }
    }

    private mutating func report(_ phase: GesturePhase, at cell: GestureCell) -> GestureEvent {
        turn.reportedAngle = turn.angle
        turn.reportedAt = cell.time
        return event(phase, until: cell.time, at: cell.timestamp)
    }

    private mutating func close(
        _ phase: GesturePhase, _ reason: CancellationReason?, at cell: GestureCell
    ) -> GestureEvent {
        var last = event(phase, until: turn.timeThere, at: cell.timestamp)
        last.reason = reason
        turning = nil
        return last
    }

    private func event(_ phase: GesturePhase, until end: Double, at timestamp: Timestamp) -> GestureEvent {
        let rotation = axes[turning ?? 0]
        var event = GestureEvent(.turn, phase, at: timestamp)
        event.axis = rotation.axis
        event.angle = turn.angle
        event.direction = rotation.sign > 0 ? .left : .right
        event.duration = max(0, end - rotation.start)
        event.rate = phase == .began || phase == .changed ? turn.rate : turn.peak
        return event
    }
}
