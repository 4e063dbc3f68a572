internal import CMotionMath

/// Recognises turns in the mode `knob`: rotation about the vertical from rest to rest, without tilting.
///
/// After some stillness, the next movement is followed. It becomes a turn when it has gone far enough about the vertical
/// and has lasted longer than the jerk of a flick or the swing of a shake, or has come to rest. Within a turn it may go
/// back: somebody overshoots and corrects. It ends when the body is still again. A movement that tilts the body or goes
/// on for too long is no turn, and cancels one in progress; then nothing is followed until the body has been still.
struct KnobRecognizer: Sendable, BitwiseCopyable {
    private enum Phase {
        /// It has not been still for long enough.
        case restless
        /// It is still.
        case ready
        /// A movement is followed that may become a turn.
        case following
        case turning
    }

    var settings: TurnSettings { didSet { neededAngle = settings.knobAngle / settings.gain } }
    /// The angle that a turn needs, rad.
    private var neededAngle: Double

    private var phase = Phase.restless
    /// Seconds of stillness.
    private var stillness = 0.0
    private var rotation = KnobRotation(gravity: Vector3(0, 0, 1), rates: .zero, force: .zero)
    /// What keeps the movement from being a turn.
    private var fault: NearMiss.Reason?
    /// The angle and time of the last event.
    private var reportedAngle = 0.0
    private var reportedAt = 0.0
    /// For near misses: seconds in which it was almost still; the longest stillness and the highest rate, rad/s, meanwhile.
    private var calm = 0.0
    private var calmRest = 0.0
    private var calmRate = 0.0

    init(settings: TurnSettings) {
        self.settings = settings
        neededAngle = settings.knobAngle / settings.gain
    }

    /// Whether a turn is in progress.
    var isTurning: Bool { phase == .turning }

    /// Whether a rotation has covered half of a turn's smallest angle and may still become a turn.
    var isUndecided: Bool { phase == .following && fault == nil && abs(rotation.angle) > 0.5 * neededAngle }

    /// Resets the recognizer without an event; the caller cancels a turn in progress.
    mutating func reset() {
        rest(for: 0)
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        guard cell.sample.hasRotationRate else {
            let last = isTurning ? event(.cancelled, .interrupted, at: cell) : nil
            reset()
            return last
        }
        switch phase {
        case .ready:
            // At rest, which is most of the time, there is nothing to follow.
            if KnobRotation.isStill(cell.rotationRate, below: KnobRotation.restRate) { return nil }
            follow(cell, fault: nil)
        case .restless:
            waitForRest(cell, misses.isEnabled)
        case .following:
            rotation.update(cell.rotationRate, cell.acceleration)
            return decide(at: cell, &misses)
        case .turning:
            rotation.update(cell.rotationRate, cell.acceleration)
            return continueTurn(at: cell)
        }
        return nil
    }
}

extension KnobRecognizer {
    private enum Rule {
        /// How far the body may tilt, and how far the axis may be from the vertical, rad.
        static let tilt = 12 * radiansPerDegree
        static let astray = 15 * radiansPerDegree
        /// The largest acceleration before it is certain, m/s²: a knob is not shaken, and not pushed about.
        static let push = 1.5
        /// Seconds after which the jerk of a flick or the swing of a shake has gone back, and of stillness after which
        /// a quicker rotation has stopped.
        static let jerk = 0.2
        static let stop = 0.06
        /// The share of the needed angle that makes a near miss, and the largest angle from the vertical, rad.
        static let nearly = 0.6
        static let nearlyVertical = 45 * radiansPerDegree
        /// Rate below which the body is almost still, rad/s, and the seconds of it that are stillness before a movement.
        static let calmRate = 12 * radiansPerDegree
        static let calm = 0.1
    }

    /// Waits until the body has been still for long enough, after `stillness` seconds of it.
    private mutating func rest(for stillness: Double) {
        self.stillness = stillness
        phase = stillness >= settings.knobRest - 1e-9 ? .ready : .restless
        calm = stillness
        calmRest = stillness
        calmRate = 0
    }

    private mutating func waitForRest(_ cell: GestureCell, _ explains: Bool) {
        let rates = cell.rotationRate
        if KnobRotation.isStill(rates, below: KnobRotation.restRate) {
            stillness += CellGrid.cell
            calm += CellGrid.cell
            calmRest = max(calmRest, stillness)
            if stillness >= settings.knobRest - 1e-9 { phase = .ready }
            return
        }
        guard explains else {
            stillness = 0
            return
        }
        if KnobRotation.isStill(rates, below: Rule.calmRate) {
            stillness = 0
            calm += CellGrid.cell
            calmRate = max(calmRate, max(abs(rates.x), max(abs(rates.y), abs(rates.z))))
        } else if calm > Rule.calm {
            follow(cell, fault: .noQuietBefore)
        } else {
            rest(for: 0)
        }
    }

    private mutating func follow(_ cell: GestureCell, fault: NearMiss.Reason?) {
        phase = .following
        self.fault = fault
        rotation = KnobRotation(
            gravity: cell.sample.gravity, rates: cell.rotationRate, force: cell.acceleration)
        rotation.update(cell.rotationRate, cell.acceleration)
    }

    /// Decides whether the movement that is followed is a turn.
    private mutating func decide(at cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        if fault == nil {
            if rotation.tilt > Rule.tilt {
                fault = .tilted
            } else if rotation.duration > settings.knobDuration {
                fault = .tooSlow
            } else if rotation.isBack, rotation.elapsed < Rule.jerk {
                fault = .tooShort
            } else if rotation.largestPush > Rule.push {
                fault = .setInMotion
            }
        }
        guard let fault else {
            let isCertain = rotation.elapsed >= Rule.jerk - 1e-9 || rotation.stillness >= Rule.stop - 1e-9
            if isCertain, abs(rotation.angle) >= neededAngle, rotation.astray <= Rule.astray {
                phase = .turning
                return report(.began, at: cell)
            }
            if rotation.isResting {
                noteMiss(nil, at: cell.timestamp, &misses)
                rest(for: rotation.rest)
            }
            return nil
        }
        // To tell how far it was off, it is followed to its end.
        if rotation.stillness >= Rule.stop - 1e-9 || rotation.elapsed > 2 * settings.knobDuration || !misses.isEnabled {
            noteMiss(fault, at: cell.timestamp, &misses)
            rest(for: rotation.rest)
        }
        return nil
    }

    /// Continues a turn in progress.
    private mutating func continueTurn(at cell: GestureCell) -> GestureEvent? {
        if rotation.tilt > Rule.tilt { return close(.cancelled, .tilted, at: cell) }
        if rotation.isResting { return close(.ended, nil, at: cell) }
        if rotation.duration > settings.knobDuration + 1e-9 { return close(.cancelled, .tooLong, at: cell) }
        guard abs(rotation.angle - reportedAngle) >= settings.changeAngle,
            cell.time - reportedAt >= settings.changeInterval - 1e-9
        else { return nil }
        return report(.changed, at: cell)
    }

    /// Records a near miss for a movement that is over and was almost a turn.
    private func noteMiss(_ fault: NearMiss.Reason?, at timestamp: Timestamp, _ misses: inout NearMisses) {
        guard misses.isEnabled, rotation.farthest >= Rule.nearly * neededAngle,
            rotation.astray < Rule.nearlyVertical
        else { return }
        let reason = fault ?? (rotation.farthest < neededAngle ? .tooSmallAngle : .notVertical)
        func add(_ value: Double, _ limit: Double, _ unit: NearMiss.Unit? = nil) {
            misses.add(.turn, reason, at: timestamp, value: value, limit: limit, unit: unit)
        }
        switch reason {
        case .tilted: add(rotation.largestTilt, Rule.tilt)
        case .tooSlow: add(rotation.duration, settings.knobDuration)
        case .tooShort: add(rotation.duration, Rule.jerk)
        case .setInMotion: add(rotation.largestPush, Rule.push)
        case .noQuietBefore where calmRest < Rule.calm: add(calmRate, KnobRotation.restRate, .rate)
        case .noQuietBefore: add(calmRest, settings.knobRest, .seconds)
        case .tooSmallAngle: add(rotation.farthest, neededAngle)
        default: add(rotation.astray, Rule.astray)
        }
    }

    private mutating func report(_ phase: GesturePhase, at cell: GestureCell) -> GestureEvent {
        reportedAngle = rotation.angle
        reportedAt = cell.time
        return event(phase, nil, at: cell)
    }

    private mutating func close(
        _ phase: GesturePhase, _ reason: CancellationReason?, at cell: GestureCell
    ) -> GestureEvent {
        let last = event(phase, reason, at: cell)
        rest(for: rotation.rest)
        return last
    }

    private func event(_ phase: GesturePhase, _ reason: CancellationReason?, at cell: GestureCell) -> GestureEvent {
        var event = GestureEvent(.turn, phase, at: cell.timestamp)
        let angle = rotation.angle * rotation.sign
        let isUnderWay = phase == .began || phase == .changed
        event.axis = rotation.axis
        event.angle = angle
        event.direction = angle < 0 ? .right : .left
        event.duration = isUnderWay ? rotation.elapsed : rotation.duration
        event.rate = (isUnderWay ? rotation.rate : rotation.peak) * rotation.sign
        event.reason = reason
        return event
    }
}

/// A rotation about the vertical from rest: how far it has gone, and how far it strays from the vertical.
///
/// The vertical is that of the body before it. The angle is the twist about it of the change of attitude since, so that
/// it is right whatever the mounting; it continues beyond a full turn.
struct KnobRotation: Sendable, BitwiseCopyable {
    /// Rate below which a rotation has stopped, rad/s, and the seconds below it after which it is over.
    static let stopRate = 3 * radiansPerDegree
    static let stopTime = 0.2

    /// Rate below which the body is at rest, rad/s: a wrist at rest is hardly ever as still as that.
    static let restRate = 1.5 * radiansPerDegree

    /// Of the low-pass of the acceleration (time constant 0.1 s): the share of a cell. And how far, m, the sensor may be
    /// from the centre of the rotation.
    private static let pushShare = 0.2
    private static let radius = 0.06

    /// How far a rotation may go back before it counts as going back, rad.
    static let backlash = 4 * radiansPerDegree

    /// The unit vector in the body that pointed up.
    private let up: Vector3
    /// The body axis nearest to it, and +1 or −1 if this axis pointed up or down.
    let axis: BodyAxis
    let sign: Double

    /// The specific force at its beginning, and the change of it since then in the frame of that body, without quick jolts, m/s².
    private let force: Vector3
    private var push = Vector3.zero
    /// The change of attitude, integrated from the rates alone.
    private var attitude = Quaternion.identity
    /// The integrals of the magnitude of the rate along and across the vertical, rad.
    private var along = 0.0
    private var across = 0.0

    /// The angle about the vertical, rad, and the largest magnitude that it has had.
    private(set) var angle = 0.0
    private(set) var farthest = 0.0
    /// The angle between the vertical in the body and what it was, rad, and the largest that it has been.
    private(set) var tilt = 0.0
    private(set) var largestTilt = 0.0
    /// The rate about the vertical, and the one with the largest magnitude so far, rad/s.
    private(set) var rate = 0.0
    private(set) var peak = 0.0
    /// The largest acceleration, m/s², beyond that of a body which rotates about a point nearby.
    private(set) var largestPush = 0.0
    /// Seconds since it began, and of stillness since its last movement.
    private(set) var elapsed = 0.0
    private(set) var stillness = 0.0
    private var lastMovement = 0.0
    /// Seconds of rest since then: it is stiller than when a rotation has merely stopped.
    private(set) var rest = 0.0

    /// A rotation that begins in a cell with these rates, rad/s, and this specific force, m/s²; `gravity` points up at
    /// the cell's end.
    init(gravity: Vector3, rates: Vector3, force: Vector3) {
        self.force = force
        up = Quaternion.identity.turned(by: rates * CellGrid.cell).rotate(gravity).normalized ?? Vector3(0, 0, 1)
        axis = BodyAxis(dominantIn: up)
        let component = axis == .x ? up.x : axis == .y ? up.y : up.z
        sign = component < 0 ? -1 : 1
    }

    /// Whether it has come to rest. Before it has moved faster than when it has stopped, it may only be slow.
    var isResting: Bool { (lastMovement > 0 ? stillness : rest) >= KnobRotation.stopTime - 1e-9 }

    /// Seconds from its beginning to its last movement.
    var duration: Double { lastMovement > 0 ? lastMovement : elapsed - rest }

    /// Whether it has gone back by more than the backlash.
    var isBack: Bool { farthest - abs(angle) > KnobRotation.backlash }

    /// The angle between its axis and the vertical, rad.
    var astray: Double { atan2(across, along) }

    /// Processes the rates, rad/s, and the specific force, m/s², in a cell.
    mutating func update(_ rates: Vector3, _ acceleration: Vector3) {
        let vertical = attitude.unrotate(up)
        rate = rates.dot(vertical)
        along += abs(rate) * CellGrid.cell
        across += (rates - vertical * rate).length * CellGrid.cell
        attitude = attitude.turned(by: rates * CellGrid.cell)
        push += (attitude.rotate(acceleration) - force - push) * KnobRotation.pushShare
        let component = attitude.x * up.x + attitude.y * up.y + attitude.z * up.z
        let cosine = 2 * (component * component + attitude.w * attitude.w) - 1
        tilt = acos(max(-1, min(1, cosine)))
        largestTilt = max(largestTilt, tilt)
        let estimate = angle + rate * CellGrid.cell
        // Upside down, the twist is undefined.
        if cosine > -0.9 {
            let twist = 2 * atan2(component, attitude.w)
            angle = twist + 2 * .pi * ((estimate - twist) / (2 * .pi)).rounded()
        } else {
            angle = estimate
        }
        farthest = max(farthest, abs(angle))
        if abs(rate) > abs(peak) { peak = rate }
        largestPush = max(largestPush, push.length - KnobRotation.radius * peak * peak)
        elapsed += CellGrid.cell
        rest = KnobRotation.isStill(rates, below: KnobRotation.restRate) ? rest + CellGrid.cell : 0
        if KnobRotation.isStill(rates, below: KnobRotation.stopRate) {
            stillness += CellGrid.cell
        } else {
            stillness = 0
            lastMovement = elapsed
        }
    }

    /// Whether the rates about all axes, rad/s, are below a limit.
    static func isStill(_ rates: Vector3, below limit: Double) -> Bool {
        max(abs(rates.x), max(abs(rates.y), abs(rates.z))) < limit
    }
}
