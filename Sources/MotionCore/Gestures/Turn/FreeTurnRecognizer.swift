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
    var settings: TurnSettings { didSet { gain = settings.gain } }

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
        turn = Turn(
            angle: angle, farthest: angle, attitudeThere: attitude, timeThere: cell.time,
            rate: cell.rotationRate[best], peak: rotation.peak * rotation.sign, beganAt: cell.time)
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
                .turn, .tooSmallAngle, at: timestamp, value: abs(rotation.integral),
                limit: settings.minimumAngle / gain)
        } else if rotation.peak * gain < settings.minimumRate {
            misses.add(
                .turn, .tooWeak, at: timestamp, value: rotation.peak, limit: settings.minimumRate / gain,
                unit: .rate)
        } else {
            misses.add(
                .turn, .tooShort, at: timestamp, value: rotation.duration,
                limit: neededDuration(rotation))
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

/// A rotation in one direction about one body axis.
///
/// The angle is the twist about the axis of the change of attitude since the beginning. So it is right even if the body
/// does not keep to the axis, and it continues beyond a full turn.
struct AxisRotation: Sendable, BitwiseCopyable {
    /// Rate below which there is no rotation, rad/s, and the seconds below it after which a rotation is over.
    static let restRate = 3 * radiansPerDegree
    static let restTime = 0.1

    /// Swinging to and fro: rotations of at least this many rad, each ending within this many seconds of the previous
    /// one.
    static let swingAngle = 15 * radiansPerDegree
    static let swingTime = 0.8

    let axis: BodyAxis
    /// +1 right-handed, −1 left-handed.
    private(set) var sign = 1.0
    /// When it began, s on the grid's clock.
    private(set) var start = 0.0
    /// The attitude at its beginning.
    private var from = Quaternion.identity
    /// The integral of the rate about the axis, rad.
    private(set) var integral = 0.0
    /// The highest rate, rad/s.
    private(set) var peak = 0.0
    private var slow = 0.0
    private var swing = 0.0
    private var swings = 0
    private var swingEnd = -Double.infinity

    /// Seconds from its beginning to its last movement.
    private(set) var duration = 0.0
    private var elapsed = 0.0

    init(axis: BodyAxis) {
        self.axis = axis
    }

    /// Restarts from the attitude `from`.
    mutating func restart(from attitude: Quaternion, at time: Double, sign: Double) {
        from = attitude
        start = time
        self.sign = sign
        integral = 0
        peak = 0
        duration = 0
        elapsed = 0
        slow = 0
    }

    /// Restarts from the attitude `from`, with the current attitude `to` and the current rate about the axis `rate`,
    /// rad/s.
    mutating func restart(
        from attitude: Quaternion, at time: Double, sign: Double, to: Quaternion, rate: Double, now: Double
    ) {
        restart(from: attitude, at: time, sign: sign)
        integral = angle(to: to, near: 0)
        peak = abs(rate)
        duration = now - time
        elapsed = duration
    }

    /// Whether there has been no rotation for `restTime`.
    var isResting: Bool { slow >= AxisRotation.restTime - 1e-9 }

    /// How often the body has just swung to and fro about the axis.
    func swings(at time: Double) -> Int { time - swingEnd > AxisRotation.swingTime ? 0 : swings }

    /// Counts swings. Unlike a rotation, a swing ends only when the body reverses.
    mutating func countSwings(rate: Double, at time: Double) {
        if rate * swing < 0, abs(rate) > AxisRotation.restRate {
            if abs(swing) >= AxisRotation.swingAngle {
                swings = swings(at: time) + 1
                swingEnd = time
            }
            swing = 0
        }
        swing += rate * CellGrid.cell
    }

    /// Resets the rotation and the swings.
    mutating func reset() {
        restart(from: .identity, at: 0, sign: 1)
        swing = 0
        swings = 0
        swingEnd = -.infinity
    }

    /// Processes the rate about the axis, rad/s, in the cell that ends at `time`; `before` is the attitude before the
    /// cell. Restarts when the rotation reverses or stops.
    mutating func update(rate: Double, before: Quaternion, at time: Double) {
        let speed = abs(rate)
        if speed < AxisRotation.restRate {
            slow += CellGrid.cell
            if isResting {
                let slow = slow
                restart(from: before, at: time - CellGrid.cell, sign: rate < 0 ? -1 : 1)
                self.slow = slow
            }
        } else {
            slow = 0
            if rate * sign < 0 { restart(from: before, at: time - CellGrid.cell, sign: -sign) }
        }
        integral += rate * CellGrid.cell
        elapsed += CellGrid.cell
        if speed >= AxisRotation.restRate { duration = elapsed }
        peak = max(peak, speed)
    }

    /// The angle turned up to the attitude `to`, rad; among the angles that differ by full turns, the one closest to
    /// `estimate`.
    func angle(to attitude: Quaternion, near estimate: Double) -> Double {
        let change = from.conjugate * attitude
        let component = axis == .x ? change.x : axis == .y ? change.y : change.z
        // If the axis has been turned upside down, the twist about it is undefined: use the integrated rate.
        guard component * component + change.w * change.w > 0.05 else { return estimate }
        let twist = 2 * atan2(component, change.w)
        return twist + 2 * .pi * ((estimate - twist) / (2 * .pi)).rounded()
    }
}

extension Quaternion {
    /// The attitude after a rotation about the body's axes by less than a radian; its norm is 1 if the present norm is
    /// close to 1.
    func turned(by rotation: Vector3) -> Quaternion {
        // A cell turns by 0.7 rad at most: a series is exact enough, and one Newton step keeps the norm.
        let square = 0.25 * rotation.lengthSquared
        let sine = 0.5 * (1 - square * (1.0 / 6 - square * (1.0 / 120)))
        let cosine = 1 - square * (0.5 - square * (1.0 / 24 - square * (1.0 / 720)))
        let next = self * Quaternion(cosine, sine * rotation.x, sine * rotation.y, sine * rotation.z)
        let k = 1.5 - 0.5 * next.normSquared
        return Quaternion(next.w * k, next.x * k, next.y * k, next.z * k)
    }
}
