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

    /// What keeps a movement from being a turn.
    private enum Fault {
        case tilted
        case tooSlow
        case tooShort
        case pushed
        case noRest
    }

    /// The settings; change them with `apply(_:)`.
    private var settings: TurnSettings
    /// The angle that a turn needs, rad.
    private var neededAngle: Double

    private var phase = Phase.restless
    /// Seconds of stillness.
    private var stillness = 0.0
    private var rotation = KnobRotation(gravity: Vector3(0, 0, 1), rates: .zero, force: .zero)
    private var fault: Fault?
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

    /// Applies new settings; a turn in progress continues.
    mutating func apply(_ settings: TurnSettings) {
        self.settings = settings
        neededAngle = settings.knobAngle / settings.gain
    }

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
            follow(cell, fault: .noRest)
        } else {
            rest(for: 0)
        }
    }

    private mutating func follow(_ cell: GestureCell, fault: Fault?) {
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
                fault = .pushed
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
    private func noteMiss(_ fault: Fault?, at timestamp: Timestamp, _ misses: inout NearMisses) {
        guard misses.isEnabled, rotation.farthest >= Rule.nearly * neededAngle,
            rotation.astray < Rule.nearlyVertical
        else { return }
        switch fault {
        case .tilted:
            misses.add(NearMiss(.turn, .tilted, at: timestamp, value: rotation.largestTilt, limit: Rule.tilt))
        case .tooSlow:
            misses.add(
                NearMiss(
                    .turn, .tooSlow, at: timestamp, value: rotation.duration, limit: settings.knobDuration))
        case .tooShort:
            misses.add(NearMiss(.turn, .tooShort, at: timestamp, value: rotation.duration, limit: Rule.jerk))
        case .pushed:
            misses.add(
                NearMiss(.turn, .setInMotion, at: timestamp, value: rotation.largestPush, limit: Rule.push))
        case .noRest where calmRest < Rule.calm:
            misses.add(
                NearMiss(
                    .turn, .noQuietBefore, at: timestamp, value: calmRate, limit: KnobRotation.restRate,
                    unit: .rate))
        case .noRest:
            misses.add(
                NearMiss(
                    .turn, .noQuietBefore, at: timestamp, value: calmRest, limit: settings.knobRest, unit: .seconds))
        case nil where rotation.farthest < neededAngle:
            misses.add(
                NearMiss(.turn, .tooSmallAngle, at: timestamp, value: rotation.farthest, limit: neededAngle))
        case nil:
            misses.add(
                NearMiss(.turn, .notVertical, at: timestamp, value: rotation.astray, limit: Rule.astray))
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
