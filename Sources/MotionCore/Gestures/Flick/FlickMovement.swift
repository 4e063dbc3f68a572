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

    private let total: UnsafeMutablePointer<Vector3>
    private let linear: UnsafeMutablePointer<Vector3>
    private(set) var gravity = Vector3.zero

    /// The number of cells since the last reset, which is the number of the next cell.
    private(set) var count = 0

    init() {
        total = .allocate(capacity: FlickMovement.capacity)
        linear = .allocate(capacity: FlickMovement.capacity)
        total.initialize(repeating: .zero, count: FlickMovement.capacity)
        linear.initialize(repeating: .zero, count: FlickMovement.capacity)
    }

    deinit {
        total.deallocate()
        linear.deallocate()
    }

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
