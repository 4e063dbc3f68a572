internal import CMotionMath

/// Recognises turns: deliberate rotation about an axis of the body.
///
/// Rotation about each body axis is followed from where it leaves rest. It begins to be a turn where it has gone far
/// enough, was fast enough and has lasted longer than the jerk of a flick or the swing of a shake; of several axes it is
/// the one with the largest angle. It ends where the rate about this axis stays low, or where the rotation turns round:
/// that may begin the next turn. What it turned before it began and while it came to rest counts.
///
/// It needs a gyroscope: an accelerometer does not see turns about the vertical. Without one nothing is recognised; see
/// `Gesture.needingGyroscope`.
struct TurnRecognizer: ~Copyable {
    /// How turns are recognised; see `apply(_:)`.
    private(set) var settings: TurnSettings

    /// What sensitivity divides the needed angle and rate by.
    private var gain: Double
    private let axes: UnsafeMutablePointer<AxisRotation>
    /// Attitude since some instant, by the rates alone: corrections of the vertical are no turns.
    private var attitude = Quaternion.identity
    /// Whether nothing rotates and nothing has for a while.
    private var isIdle = false
    /// The axis of the turn under way.
    private var turning: Int?
    private var turn = Turn()

    /// The turn under way.
    private struct Turn {
        var angle = 0.0
        /// The farthest angle, the attitude there, and when.
        var farthest = 0.0
        var attitudeThere = Quaternion.identity
        var timeThere = 0.0
        /// Seconds for which the rate has been low.
        var slow = 0.0
        var toldAngle = 0.0
        var toldAt = 0.0
        var beganAt = 0.0
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: TurnSettings) {
        self.settings = settings
        gain = TurnRecognizer.gain(settings)
        axes = .allocate(capacity: 3)
        axes.initialize(to: AxisRotation(axis: .x))
        (axes + 1).initialize(to: AxisRotation(axis: .y))
        (axes + 2).initialize(to: AxisRotation(axis: .z))
    }

    deinit {
        axes.deallocate()
    }

    /// Whether a rotation has covered half of a turn's smallest angle and may still become a turn.
    var isUndecided: Bool {
        guard turning == nil, !isIdle else { return false }
        let half = 0.5 * settings.minimumAngle / gain
        return abs(axes[0].integral) > half || abs(axes[1].integral) > half || abs(axes[2].integral) > half
    }

    /// Takes over new settings; a turn under way goes on.
    mutating func apply(_ settings: TurnSettings) {
        self.settings = settings
        gain = TurnRecognizer.gain(settings)
    }

    /// Forgets everything. A turn under way is none any more: whoever forgets tells so.
    mutating func reset() {
        turning = nil
        isIdle = false
        attitude = .identity
        for axis in 0..<3 { axes[axis].reset() }
    }

    /// Takes a cell and tells what it brings about.
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
            if misses.isWanted, turning == nil, axes[axis].start > candidate.start {
                giveUp(candidate, at: cell.timestamp, &misses)
            }
        }
        guard let turning else { return begin(at: cell) }
        return follow(turning, rate: rates[turning], cell)
    }
}

extension TurnRecognizer {
    private enum Rule {
        /// Rate below which a turn has come to rest, rad/s, at most half of the rate needed; and for how many seconds.
        static let restRate = 10 * radiansPerDegree
        static let restTime = 0.16
        /// How far a turn may go back before it has turned round, rad.
        static let backlash = 4 * radiansPerDegree
        /// Each step of sensitivity divides the needed angle and rate by this.
        static let sensitivityStep = 1.1
        /// A near miss is told from this share of the needed angle on.
        static let nearly = 0.6
    }

    private static func gain(_ settings: TurnSettings) -> Double {
        pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
    }

    /// Whether one of the rotations is a turn now.
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
        return tell(.began, at: cell)
    }

    /// Seconds for which a rotation must have lasted: longer than a swing where the body swings to and fro.
    private func neededDuration(_ rotation: AxisRotation) -> Double {
        let isSwinging = rotation.swings(at: rotation.start) >= settings.swings
        return isSwinging ? max(settings.minimumDuration, AxisRotation.swingTime) : settings.minimumDuration
    }

    /// Goes on with a turn.
    private mutating func follow(_ axis: Int, rate: Double, _ cell: GestureCell) -> GestureEvent? {
        let rotation = axes[axis]
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
        guard abs(turn.angle - turn.toldAngle) >= settings.changeAngle,
            cell.time - turn.toldAt >= settings.changeInterval - 1e-9
        else { return nil }
        return tell(.changed, at: cell)
    }

    /// What went on about the other axes belonged to the turn that is over.
    private func restartAll(at time: Double) {
        for axis in 0..<3 { axes[axis].restart(from: attitude, at: time, sign: axes[axis].sign) }
    }

    /// Notes a rotation that came to rest, or turned round, and was almost a turn.
    private func giveUp(_ rotation: AxisRotation, at timestamp: Timestamp, _ misses: inout NearMisses) {
        guard abs(rotation.integral) * gain >= Rule.nearly * settings.minimumAngle else { return }
        if abs(rotation.integral) * gain < settings.minimumAngle {
            misses.add(
                NearMiss(
                    .turn, .tooSmallAngle, at: timestamp, value: abs(rotation.integral),
                    limit: settings.minimumAngle / gain))
        } else if rotation.peak * gain < settings.minimumRate {
            misses.add(
                NearMiss(.turn, .tooWeak, at: timestamp, value: rotation.peak, limit: settings.minimumRate / gain))
        } else {
            misses.add(
                NearMiss(
                    .turn, .tooShort, at: timestamp, value: rotation.duration,
                    limit: neededDuration(rotation)))
        }
    }

    private mutating func tell(_ phase: GesturePhase, at cell: GestureCell) -> GestureEvent {
        turn.toldAngle = turn.angle
        turn.toldAt = cell.time
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
        return event
    }
}

extension Quaternion {
    /// This attitude after a rotation about the body's axes by less than a radian; of length 1 where this one nearly is.
    fileprivate func turned(by rotation: Vector3) -> Quaternion {
        // A cell turns by 0.7 rad at most: series as exact as it takes, and a step towards length 1.
        let square = 0.25 * rotation.lengthSquared
        let sine = 0.5 * (1 - square * (1.0 / 6 - square * (1.0 / 120)))
        let cosine = 1 - square * (0.5 - square * (1.0 / 24 - square * (1.0 / 720)))
        let next = self * Quaternion(cosine, sine * rotation.x, sine * rotation.y, sine * rotation.z)
        let k = 1.5 - 0.5 * next.normSquared
        return Quaternion(next.w * k, next.x * k, next.y * k, next.z * k)
    }
}
