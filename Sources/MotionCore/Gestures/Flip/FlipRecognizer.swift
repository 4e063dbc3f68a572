internal import CMotionMath

/// Recognises flips: another side points up than before, and is held there.
///
/// A side is held if it points up for some time and the vertical hardly moves. Sides that pass by on the way to another
/// one are not held, so half a turn is a single flip by 180°, however slow it is. While the body stands on an edge, the
/// side held last remains until another one is clearly more upward.
struct FlipRecognizer: ~Copyable {
    /// Cells in the buffer: a power of two so that an index wraps with a mask, and the longest hold time.
    private static let capacity = 256
    private static let mask = capacity - 1

    var settings: FlipSettings {
        didSet {
            steadyCosine = FlipRecognizer.steadyCosine(settings)
            holdCells = FlipRecognizer.holdCells(settings)
        }
    }

    /// The direction of up in the body, a unit vector per cell.
    private let ups = FixedBuffer(repeating: Vector3.zero, count: FlipRecognizer.capacity)
    private var count = 0
    private var steadyCosine: Double
    private var holdCells: Int
    private var held: BodySide?
    /// The upward side with hysteresis at the edges, the cell since which it points up, and the last cell in which the
    /// body was steady on the held side.
    private var side = BodySide.plusZ
    private var sideSince = 0
    private var leftAt = 0

    /// Constants of the rule.
    private enum Rule {
        /// How much more upward another side must be, as a share of gravity: 6° beyond the edge.
        static let edge = 0.15
        /// Each step of sensitivity multiplies the angle by which the vertical may wander by this.
        static let sensitivityStep = 1.12
        /// The body leaves the held side when up moves by more than 1.5° within this many cells.
        static let leavingCells = 5
        static let leavingCosine = 0.99966
        /// Cells after the hold time in which a hand may still come to rest; then it is a near miss.
        static let patience = 50
    }

    init(settings: FlipSettings) {
        self.settings = settings
        steadyCosine = FlipRecognizer.steadyCosine(settings)
        holdCells = FlipRecognizer.holdCells(settings)
    }

    private static func steadyCosine(_ settings: FlipSettings) -> Double {
        cos(min(.pi, settings.steadiness * settings.common.gain(step: Rule.sensitivityStep)))
    }

    private static func holdCells(_ settings: FlipSettings) -> Int {
        max(1, min(capacity - 1, Int((settings.holdTime / CellGrid.cell).rounded())))
    }

    /// Whether another side is up that has not been held long enough.
    var isUndecided: Bool { count > 0 && held != nil && side != held }

    /// Resets the recognizer: the next flip starts from the next side that is held.
    mutating func reset() {
        count = 0
        held = nil
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        guard held != nil || cell.sample.isVerticalKnown else {
            count = 0
            return nil
        }
        let up = cell.sample.gravity * (1 / standardGravity)
        ups[count & FlipRecognizer.mask] = up
        let nearest = BodySide(nearestTo: up)
        if count == 0 {
            side = nearest
            sideSince = 0
        } else if nearest != side, up.dot(nearest.direction) > up.dot(side.direction) + Rule.edge {
            noteMiss(cell.timestamp, &misses)
            side = nearest
            sideSince = count
        }
        count += 1
        guard side != held else {
            let before = ups[(count - 1 - Rule.leavingCells) & FlipRecognizer.mask]
            if up.dot(before) > Rule.leavingCosine { leftAt = count }
            return nil
        }
        guard count - sideSince > holdCells, isSteady(up) else {
            if held != nil, count - sideSince == holdCells + Rule.patience {
                misses.add(.flip, .notStill, at: cell.timestamp)
            }
            return nil
        }
        defer {
            held = side
            leftAt = count
        }
        guard let from = held else { return nil }
        var event = GestureEvent(.flip, .recognized, at: cell.timestamp)
        event.from = from
        event.to = side
        event.angle = from.direction.dot(side.direction) < -0.5 ? .pi : 0.5 * .pi
        event.duration = Double(max(0, count - holdCells - leftAt)) * CellGrid.cell
        return event
    }

    /// Whether up has hardly moved for the hold time.
    private func isSteady(_ up: Vector3) -> Bool {
        var age = 1
        while age <= holdCells {
            if up.dot(ups[(count - 1 - age) & FlipRecognizer.mask]) < steadyCosine { return false }
            age += 1
        }
        return true
    }

    /// Records a near miss if the side that pointed up was never held, unless that has been recorded.
    private func noteMiss(_ timestamp: Timestamp, _ misses: inout NearMisses) {
        guard let held, held != side else { return }
        let cells = count - sideSince
        if cells <= holdCells {
            misses.add(.flip, .tooShort, at: timestamp, value: Double(cells) * CellGrid.cell, limit: settings.holdTime)
        } else if cells < holdCells + Rule.patience {
            misses.add(.flip, .notStill, at: timestamp)
        }
    }
}

/// How flips from side to side are recognised.
public struct FlipSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity multiplies `steadiness` by 1.12. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Time for which a side must be held up, s, at most 5. Default 0.3. Smaller reports a flip sooner, but may report
    /// the sides in between during a slow one; larger waits longer for a quiet hand.
    public var holdTime = 0.3

    /// How far the vertical may wander in that time, at sensitivity 5, rad. Default 6°. Smaller requires the body to be
    /// put down; larger accepts a swaying hand.
    public var steadiness = 6 * radiansPerDegree

    /// Creates the default settings.
    public init() {}
}
