/// Recognises flicks: after a quiet period a stroke and its counter-stroke, then quiet again.
///
/// A movement begins when linear acceleration exceeds the quiet level, and is judged when it has come to rest. It is a
/// flick if it is strong enough, began from quiet, was over soon, and contains two successive accelerations that oppose
/// each other: the stroke and its braking. A board that is picked up, put down or carried has no such pair, or no quiet
/// around it. The direction is that of the stroke, with the upward side of the body as its top.
struct FlickRecognizer: ~Copyable {
    var settings: FlickSettings

    private var movement = FlickMovement()
    private var state = State.unsettled
    private var onset = 0
    private var strongest = 0.0
    /// The direction of up in the body when the movement began.
    private var up = Vector3(0, 0, 1)
    /// The last flick in a direction that is not to be recognised, and the cell in which it was over.
    private var unwanted: MotionDirection?
    private var unwantedAt = 0

    private enum State {
        /// Waits for quiet.
        case unsettled
        /// Quiet: a movement may begin.
        case ready
        /// A movement is in progress.
        case moving
    }

    init(settings: FlickSettings) {
        self.settings = settings
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        let linear = movement.append(cell).length
        let latest = movement.count - 1
        switch state {
        case .unsettled:
            settle(latest)
        case .ready:
            if linear > Rule.onset {
                state = .moving
                onset = latest
                up = movement.gravity
                strongest = linear
            }
        case .moving:
            strongest = max(strongest, linear)
            let cells = latest - onset
            if cells > Rule.longest {
                state = .unsettled
                if strongest >= neededStrength {
                    misses.add(
                        .flick, .noQuietAfter, at: cell.timestamp,
                        value: movement.deviation(endingAt: latest, cells: Rule.restCells), limit: restLimit)
                }
            } else if cells >= Rule.shortest,
                movement.deviation(endingAt: latest, cells: Rule.restCells) < restLimit
            {
                state = .unsettled
                settle(latest)
                return judge(endingAt: latest, at: cell.timestamp, &misses)
            }
        }
        return nil
    }

    /// Whether the movement under way may still be a flick.
    var isUndecided: Bool { state == .moving }

    /// Resets the recognizer.
    mutating func reset() {
        movement.reset()
        state = .unsettled
        unwanted = nil
    }
}

extension FlickRecognizer {
    /// Constants of the rule, fitted to recordings whose licence allows it.
    private enum Rule {
        /// Linear acceleration at which a movement begins, m/s².
        static let onset = 2.5
        /// Cells of quiet before a movement, their largest deviation, m/s², and the fewer cells needed after a start or
        /// a gap.
        static let quietCells = 8
        static let quiet = 1.0
        static let startCells = 5
        /// Cells over which a movement must be at rest, and their largest deviation: a share of its strength, or m/s².
        static let restCells = 6
        static let restShare = 0.1
        static let restFloor = 0.8
        /// Cells of the shortest movement including its rest, and of the longest one that is followed.
        static let shortest = 8
        static let longest = 60
        /// Largest deviation in the 0.16 s before the movement, and in the 0.16 s before that, as shares of its
        /// strength. For the latter, at least this many m/s² are allowed.
        static let justBefore = 0.12
        static let longBefore = 0.04
        static let longBeforeFloor = 0.5
        /// The share of the strength that the stroke and its counter-stroke need, as their geometric mean.
        static let opposition = 0.3
        /// Cells above half the strength: a blow has fewer.
        static let breadth = 3
        /// Each step of sensitivity divides the needed strength by this.
        static let sensitivityStep = 1.15
        /// The share of the needed strength that makes a near miss.
        static let nearly = 0.6
    }

    private var neededStrength: Double {
        settings.strength / settings.common.gain(step: Rule.sensitivityStep)
    }

    /// The deviation below which the current movement has come to rest.
    private var restLimit: Double { max(Rule.restFloor, Rule.restShare * strongest) }

    private mutating func settle(_ latest: Int) {
        guard latest + 1 >= Rule.startCells else { return }
        if movement.deviation(endingAt: latest, cells: Rule.quietCells) < Rule.quiet { state = .ready }
    }

    /// Decides whether the movement that has come to rest was a flick.
    private mutating func judge(
        endingAt latest: Int, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> GestureEvent? {
        let last = latest - Rule.restCells + 2
        let peak = movement.peak(from: onset, to: last)
        let strength = movement.magnitude(peak)
        guard strength >= Rule.nearly * neededStrength else { return nil }
        let first = movement.beginning(of: peak, notBefore: max(0, onset - 2))
        let duration = Double(latest - first) * CellGrid.cell

        func miss(_ reason: NearMiss.Reason, _ value: Double, _ limit: Double) -> GestureEvent? {
            misses.add(.flick, reason, at: timestamp, value: value, limit: limit)
            return nil
        }
        guard strength >= neededStrength else { return miss(.tooWeak, strength, neededStrength) }
        let justBefore = movement.deviation(endingAt: first, cells: Rule.quietCells)
        guard justBefore <= Rule.justBefore * strength else {
            return miss(.noQuietBefore, justBefore, Rule.justBefore * strength)
        }
        let longBefore = movement.deviation(endingAt: first - Rule.quietCells, cells: Rule.quietCells)
        let longBeforeLimit = max(Rule.longBeforeFloor, Rule.longBefore * strength)
        guard longBefore <= longBeforeLimit else { return miss(.noQuietBefore, longBefore, longBeforeLimit) }
        let length = Double(last - first) * CellGrid.cell
        guard length <= settings.maximumDuration else { return miss(.tooSlow, length, settings.maximumDuration) }
        let breadth = movement.breadth(from: first, to: last, peak: peak)
        guard breadth >= Rule.breadth else {
            return miss(.tooShort, Double(breadth) * CellGrid.cell, Double(Rule.breadth) * CellGrid.cell)
        }
        let strokes = movement.strokes(from: first, to: last)
        guard strokes.opposition >= Rule.opposition * strength else {
            return miss(.notBraked, strokes.opposition / strength, Rule.opposition)
        }
        let direction = MotionDirection(along: FlickRecognizer.levelling(up).rotate(strokes.direction))
        guard isWanted(direction, endingAt: latest, at: timestamp, &misses) else { return nil }
        var event = GestureEvent(.flick, .recognized, at: timestamp)
        event.strength = strength
        event.direction = direction
        event.duration = duration
        return event
    }

    /// Whether flicks in this direction are to be recognised, and this one is not the way back of one that is not.
    private mutating func isWanted(
        _ direction: MotionDirection, endingAt latest: Int, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> Bool {
        guard settings.directions.contains(direction) else {
            unwanted = direction
            unwantedAt = latest
            var miss = NearMiss(.flick, .otherDirection, at: timestamp)
            miss.direction = direction
            misses.add(miss)
            return false
        }
        let pause = Double(latest - unwantedAt) * CellGrid.cell
        guard unwanted == direction.opposite, pause < settings.common.cooldown else { return true }
        misses.add(.flick, .tooSoon, at: timestamp, value: pause, limit: settings.common.cooldown)
        return false
    }
}

extension FlickRecognizer {
    /// The rotation of body vectors after which `up` points up: the upward side becomes the top, then the remaining
    /// tilt is removed. Two steps are needed: for a board that lies on its face, a single rotation would let the
    /// slightest tilt decide which way is left.
    static func levelling(_ up: Vector3) -> Quaternion {
        let top = Vector3(0, 0, 1)
        let side = BodySide(nearestTo: up)
        let turned =
            side == .minusZ
            ? Quaternion(angle: .pi, axis: Vector3(1, 0, 0)) : Quaternion(from: side.direction, to: top)
        return Quaternion(from: turned.rotate(up), to: top) * turned
    }
}

extension MotionDirection {
    /// The direction in which the hand goes back.
    fileprivate var opposite: MotionDirection {
        switch self {
        case .left: .right
        case .right: .left
        case .up: .down
        case .down: .up
        case .forward: .backward
        case .backward: .forward
        }
    }

    /// The direction closest to a vector whose z axis points up.
    init(along vector: Vector3) {
        switch BodyAxis(dominantIn: vector) {
        case .x: self = vector.x >= 0 ? .forward : .backward
        case .y: self = vector.y >= 0 ? .left : .right
        case .z: self = vector.z >= 0 ? .up : .down
        }
    }
}

/// The acceleration of the last 2.5 s, cell by cell, and measures of a movement in it.
struct FlickMovement: ~Copyable {
    /// Cells in the buffer: a power of two so that an index wraps with a mask.
    private static let capacity = 128
    private static let mask = capacity - 1

    /// Time constant with which the estimate of gravity follows at rest, s.
    private static let gravityTimeConstant = 0.1
    /// Linear acceleration above which gravity follows no faster, m/s². Gravity then changes by at most 25 m/s² per
    /// second: without a gyroscope, a turn of the board is followed, but a stroke of a tenth of a second is not taken
    /// for gravity.
    private static let gravityPull = 2.5

    private let total = FixedBuffer(repeating: Vector3.zero, count: FlickMovement.capacity)
    private let linear = FixedBuffer(repeating: Vector3.zero, count: FlickMovement.capacity)
    private(set) var gravity = Vector3.zero

    /// The number of cells since the last reset, which is the number of the next cell.
    private(set) var count = 0

    /// Resets to the initial state.
    mutating func reset() {
        count = 0
    }

    /// Adds a cell and returns its linear acceleration, m/s².
    mutating func append(_ cell: GestureCell) -> Vector3 {
        if count == 0 { gravity = cell.acceleration }
        // Gravity is fixed in the earth, so it turns against the body.
        let turn = cell.rotationRate * CellGrid.cell
        let across = turn.cross(gravity)
        gravity += 0.5 * turn.cross(across) - across
        let moved = cell.acceleration - gravity
        let pull = min(1, FlickMovement.gravityPull / max(1e-9, moved.length))
        gravity += moved * (pull * CellGrid.cell / FlickMovement.gravityTimeConstant)
        total[count & FlickMovement.mask] = cell.acceleration
        linear[count & FlickMovement.mask] = moved
        count += 1
        return moved
    }

    /// Standard deviation of the acceleration, m/s², over the `cells` cells up to and including cell number `last`, or
    /// over fewer if there are no more.
    func deviation(endingAt last: Int, cells: Int) -> Double {
        let last = max(0, last)
        let first = max(0, last - cells + 1)
        var sum = Vector3.zero
        var squares = 0.0
        for cell in first...last {
            let value = total[cell & FlickMovement.mask]
            sum += value
            squares += value.lengthSquared
        }
        let share = 1 / Double(last - first + 1)
        return max(0, squares * share - (sum * share).lengthSquared).squareRoot()
    }

    /// The cell with the largest linear acceleration among those from `first` to `last`.
    func peak(from first: Int, to last: Int) -> Int {
        var best = first
        for cell in first...last where magnitude(cell) > magnitude(best) { best = cell }
        return best
    }

    /// Linear acceleration of a cell, m/s².
    func magnitude(_ cell: Int) -> Double { linear[cell & FlickMovement.mask].length }

    /// The cell in which the movement around `peak` began: searches back to two cells in a row below a fifth of its
    /// strength, but not beyond `limit`.
    func beginning(of peak: Int, notBefore limit: Int) -> Int {
        let threshold = 0.2 * magnitude(peak)
        var cell = peak
        while cell > limit, cell > 1, max(magnitude(cell - 1), magnitude(cell - 2)) > threshold { cell -= 1 }
        return max(0, cell - 1)
    }

    /// The number of cells from `first` to `last` with more than half the linear acceleration of `peak`.
    func breadth(from first: Int, to last: Int, peak: Int) -> Int {
        let threshold = 0.5 * magnitude(peak)
        var cells = 0
        for cell in first...last where magnitude(cell) > threshold { cells += 1 }
        return cells
    }

    /// The stroke and the counter-stroke of the movement from `first` to `last`.
    ///
    /// Among all pairs of cells, the two that oppose each other most are the middles of a stroke and of its braking. A
    /// hand that returns makes another such pair, of the braking and the way back. So the earliest pair that is nearly
    /// as strong as the strongest is used. Acceleration towards the wrist opposes nothing and does not matter.
    func strokes(from first: Int, to last: Int) -> (opposition: Double, direction: Vector3) {
        guard last > first else { return (0, .zero) }
        var strongest = 0.0
        for cell in (first + 1)...last { strongest = max(strongest, opposition(to: cell, from: first).value) }
        guard strongest > 0 else { return (0, .zero) }
        var second = first + 1
        var found = opposition(to: second, from: first)
        while second < last, found.value < FlickMovement.earlyShare * strongest {
            second += 1
            found = opposition(to: second, from: first)
        }
        // Continue to the maximum of this counter-stroke.
        while second < last {
            let next = opposition(to: second + 1, from: first)
            guard next.value > found.value else { break }
            second += 1
            found = next
        }
        let direction = linear[found.partner & FlickMovement.mask] - linear[second & FlickMovement.mask]
        return (strongest.squareRoot(), direction)
    }

    /// The share of the strongest pair's product that an earlier pair needs to be used.
    private static let earlyShare = 0.45

    /// The change of the gravity estimate in one cell, m/s². That much of an apparent opposition may come from it and
    /// does not count.
    private static let pullOfCell = gravityPull * CellGrid.cell / gravityTimeConstant

    /// The largest opposition, (m/s²)², between the cell and one before it, and the number of that cell.
    private func opposition(to cell: Int, from first: Int) -> (value: Double, partner: Int) {
        let other = linear[cell & FlickMovement.mask]
        let pulled = min(FlickMovement.gravityPull, Double(cell - first) * FlickMovement.pullOfCell)
        let share = 1 - pulled / max(1e-9, other.length)
        guard share > 0 else { return (0, first) }
        var value = 0.0
        var partner = first
        for candidate in first..<cell {
            let product = -other.dot(linear[candidate & FlickMovement.mask]) * share
            if product > value {
                value = product
                partner = candidate
            }
        }
        return (value, partner)
    }
}

/// How flicks are recognised.
public struct FlickSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; the default cooldown is 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration that a flick needs at sensitivity 5, m/s². Default 10. Smaller accepts gentler
    /// movements; larger requires a sharper flick of the wrist. Each step of sensitivity is 15 %.
    public var strength = 10.0

    /// The longest time from the first stroke to rest, s. Default 0.9. Smaller accepts only short flicks; larger also
    /// accepts a movement with a windup or with a slow return.
    public var maximumDuration = 0.9

    /// The directions to recognise. Default: all. Fewer leave out the others: a flick in another direction is not
    /// reported, and does not delay the next one.
    public var directions = MotionDirections.all

    /// Creates the default settings.
    public init() {}
}

/// A set of directions.
public struct MotionDirections: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The set of one direction.
    public init(_ direction: MotionDirection) {
        rawValue = 1 << direction.rawValue
    }

    /// Every direction.
    public static let all = MotionDirections(rawValue: 0b11_1111)

    /// Whether the direction is a member.
    public func contains(_ direction: MotionDirection) -> Bool {
        rawValue & (1 << direction.rawValue) != 0
    }
}
