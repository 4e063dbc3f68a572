/// Distinguishes movement from stillness. Movement begins as soon as the body is moved and ends when it has been still
/// for some time.
///
/// Movement displaces or turns the body. So acceleration is low-passed, which leaves little of a machine's vibration,
/// and compared with its value when the body last moved: a change means that the body was pushed or tilted. A turn
/// about the vertical shows only in the rotation rate. Sensor drift is slower than both and is followed. Vibration
/// counts only if it is violent.
struct MotionRecognizer: Sendable, BitwiseCopyable {
    /// The settings. If they turn the gesture on during a movement, that one is not reported.
    var settings: MotionGestureSettings {
        didSet {
            if settings.common.isEnabled != oldValue.common.isEnabled { isReported = isMoving }
            gain = settings.common.gain(step: Rule.sensitivityStep)
        }
    }

    /// Whether the body moves.
    private(set) var isMoving = false

    private var gain: Double
    private var time = 0.0
    private var cells = 0
    /// Acceleration after one and after two low-passes, and its value when the body last moved, m/s².
    private var once = Vector3.zero
    private var twice = Vector3.zero
    private var anchor = Vector3.zero
    private var rotation = Vector3.zero
    /// Mean square of the acceleration that the low-pass removed, (m/s²)².
    private var quickSquare = 0.0
    private var began = 0.0
    private var lastMoved = 0.0
    private var hasRested = false
    /// Whether the beginning of the movement was proposed, or must not be: the movement was there before the recognizer or its
    /// gesture was. The arbiter drops the end of what has not begun.
    private var isReported = false

    /// Constants of the rule.
    private enum Rule {
        /// Time constants of the low-passes, s: of acceleration, applied twice, and of the rotation rate.
        static let accelerationTime = 0.08
        static let rotationTime = 0.06
        /// Time constant of the RMS of vibration, s.
        static let vibrationTime = 0.3
        /// Time constant with which the reference value follows drift at rest, s.
        static let driftTime = 5.0
        /// The share of each threshold that keeps movement going.
        static let hysteresis = 0.5
        /// Cells until the low-passes have settled, and cells after that in which a movement is one that was there before.
        static let settling = 25
        static let adopting = 13
        /// Seconds after which the rotation rate is used even if its bias was never estimated at rest.
        static let biasTime = 4.0
        /// Each step of sensitivity divides the thresholds by this.
        static let sensitivityStep = 1.2
    }

    init(settings: MotionGestureSettings) {
        self.settings = settings
        gain = settings.common.gain(step: Rule.sensitivityStep)
    }

    /// Resets the recognizer without an event; the caller cancels a movement in progress.
    mutating func reset() {
        self = MotionRecognizer(settings: settings)
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        cells += 1
        if cells == 1 {
            once = cell.acceleration
            twice = cell.acceleration
        }
        let k = CellGrid.cell / (Rule.accelerationTime + CellGrid.cell)
        once += (cell.acceleration - once) * k
        twice += (once - twice) * k
        quickSquare +=
            ((cell.acceleration - twice).lengthSquared - quickSquare) * (CellGrid.cell / Rule.vibrationTime)
        rotation += (cell.rotationRate - rotation) * (CellGrid.cell / (Rule.rotationTime + CellGrid.cell))
        if cell.sample.isAtRest || time > Rule.biasTime { hasRested = true }
        guard cells > Rule.settling else {
            anchor = twice
            return nil
        }
        let offset = twice - anchor
        if isDisplaced(offset, cell) {
            anchor = twice
            lastMoved = time
            if !isMoving {
                isMoving = true
                isReported = cells <= Rule.settling + Rule.adopting
                began = time
            }
        } else {
            anchor += offset * (CellGrid.cell / Rule.driftTime)
        }
        return report(at: cell.timestamp)
    }

    /// Whether the cell is movement.
    private func isDisplaced(_ offset: Vector3, _ cell: GestureCell) -> Bool {
        let factor = (isMoving ? Rule.hysteresis : 1) / gain
        let least = settings.threshold * factor
        if offset.lengthSquared > least * least { return true }
        let quick = settings.vibration * factor
        if quickSquare > quick * quick { return true }
        // If the attitude filter considers the rate steady, it is a bias not yet estimated.
        let rate = settings.rotationRate * factor
        return hasRested && cell.sample.isMoving && rotation.lengthSquared > rate * rate
    }

    private mutating func report(at timestamp: Timestamp) -> GestureEvent? {
        guard isMoving else { return nil }
        if time - lastMoved >= settings.stillness {
            isMoving = false
            guard isReported else { return nil }
            isReported = false
            var event = GestureEvent(.motion, .ended, at: timestamp)
            event.duration = lastMoved - began
            return event
        }
        guard !isReported, settings.common.isEnabled else { return nil }
        isReported = true
        var event = GestureEvent(.motion, .began, at: timestamp)
        event.duration = time - began
        return event
    }
}

/// How movement and stillness are distinguished.
public struct MotionGestureSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides the three thresholds by 1.2. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Time without movement after which a movement has ended, s. Default 2. Smaller reports each single movement;
    /// larger merges several into one.
    public var stillness = 2.0

    /// Change of the acceleration below 2 Hz at which movement begins, at sensitivity 5, m/s²; half of it keeps the
    /// movement going. Default 0.4, which is a tilt by 2.3°. Smaller reacts to a touch and to noise; larger needs a
    /// firm hand.
    public var threshold = 0.4

    /// Rotation rate at which movement begins, at sensitivity 5, rad/s; half of it keeps the movement going. Default 4
    /// °/s. Smaller detects slower turns; larger tolerates a bias that is not well known.
    public var rotationRate = 4 * radiansPerDegree

    /// RMS of faster acceleration that counts as movement even without displacement, at sensitivity 5, m/s². Default 4:
    /// a board on a running machine does not move, a shaken one does. Smaller makes machines count as movement; larger
    /// ignores more vigorous vibration.
    public var vibration = 4.0

    /// Creates the default settings.
    public init() {}
}
