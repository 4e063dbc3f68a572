internal import CMotionMath

/// Tells movement from stillness: begun as soon as the body is moved, ended when it has been still for some time.
///
/// What moves is displaced or turned. So acceleration is low-passed, which leaves little of a machine's vibration, and
/// compared with where it was when the body last moved; a change means that the body was pushed or tilted. What turns
/// about the vertical shows in the rotation rate alone. A sensor's drift is slower than either and followed. Vibration
/// counts only where it is violent.
struct MotionRecognizer: Sendable, BitwiseCopyable {
    /// How movement is recognised; see `apply(_:)`.
    private(set) var settings: MotionGestureSettings

    /// Whether the body moves.
    private(set) var isMoving = false

    private var gain: Double
    private var time = 0.0
    private var cells = 0
    /// Acceleration after one and after two low-passes, and where it was when the body last moved, m/s².
    private var once = Vector3.zero
    private var twice = Vector3.zero
    private var anchor = Vector3.zero
    private var rotation = Vector3.zero
    /// Mean square of the acceleration that the low-pass took away, (m/s²)².
    private var quickSquare = 0.0
    private var began = 0.0
    private var lastMoved = 0.0
    private var hasRested = false
    private var isTold = false

    /// Constants of the rule: what each means and what it guards against.
    private enum Rule {
        /// Time constants of the low-passes, s: of acceleration, twice, and of the rotation rate.
        static let accelerationTime = 0.08
        static let rotationTime = 0.06
        /// Time constant of the RMS of vibration, s.
        static let vibrationTime = 0.3
        /// Time constant with which the anchor follows drift at rest, s.
        static let driftTime = 5.0
        /// The share of each threshold that keeps movement going.
        static let hysteresis = 0.5
        /// Cells in which the low-passes settle.
        static let settling = 25
        /// Seconds after which the rotation rate counts though its bias was never learnt at rest.
        static let biasTime = 4.0
        /// Each step of sensitivity divides the thresholds by this.
        static let sensitivityStep = 1.2
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: MotionGestureSettings) {
        self.settings = settings
        gain = MotionRecognizer.gain(settings)
    }

    private static func gain(_ settings: MotionGestureSettings) -> Double {
        pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
    }

    /// Takes over new settings. Where they switch the gesture on, movement that goes on is told as begun.
    mutating func apply(_ settings: MotionGestureSettings) {
        if settings.common.isEnabled != self.settings.common.isEnabled { isTold = false }
        self.settings = settings
        gain = MotionRecognizer.gain(settings)
    }

    /// Forgets everything. Movement under way is none any more: whoever forgets tells so.
    mutating func reset() {
        self = MotionRecognizer(settings: settings)
    }

    /// Takes a cell and tells what it brings about.
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
                began = time
            }
        } else {
            anchor += offset * (CellGrid.cell / Rule.driftTime)
        }
        return tell(at: cell.timestamp)
    }

    /// Whether the cell is movement.
    private func isDisplaced(_ offset: Vector3, _ cell: GestureCell) -> Bool {
        let factor = (isMoving ? Rule.hysteresis : 1) / gain
        let least = settings.threshold * factor
        if offset.lengthSquared > least * least { return true }
        let quick = settings.vibration * factor
        if quickSquare > quick * quick { return true }
        // A rate that the attitude filter takes for steady is a bias that it has not learnt yet.
        let rate = settings.rotationRate * factor
        return hasRested && cell.sample.isMoving && rotation.lengthSquared > rate * rate
    }

    private mutating func tell(at timestamp: Timestamp) -> GestureEvent? {
        guard isMoving else { return nil }
        if time - lastMoved >= settings.stillness {
            isMoving = false
            guard isTold else { return nil }
            isTold = false
            var event = GestureEvent(.motion, .ended, at: timestamp)
            event.duration = lastMoved - began
            return event
        }
        guard !isTold, settings.common.isEnabled else { return nil }
        isTold = true
        var event = GestureEvent(.motion, .began, at: timestamp)
        event.duration = time - began
        return event
    }
}
