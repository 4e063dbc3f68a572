/// The acceleration of the last 2.5 s, cell by cell, and what can be told of a movement in it.
struct FlickMovement: ~Copyable {
    /// Cells that are kept: a power of two so that an index wraps by a mask.
    private static let capacity = 128
    private static let mask = capacity - 1

    /// Seconds within which gravity's direction follows at rest.
    private static let gravityTimeConstant = 0.1
    /// Linear acceleration above which gravity follows no faster, m/s²: at most 25 m/s² a second, so that a turn of the
    /// board without a gyroscope is followed, and a stroke of a tenth of a second is not taken for gravity.
    private static let gravityPull = 2.5

    private let total: UnsafeMutablePointer<Vector3>
    private let linear: UnsafeMutablePointer<Vector3>
    private(set) var gravity = Vector3.zero

    /// How many cells there have been since the last reset; the number of the next one.
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

    /// Forgets everything.
    mutating func reset() {
        count = 0
    }

    /// Takes a cell and returns its linear acceleration, m/s².
    mutating func append(_ cell: GestureCell) -> Vector3 {
        if count == 0 { gravity = cell.acceleration }
        // What stays in the earth turns against the body.
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

    /// Standard deviation of the acceleration, m/s², over the `cells` cells that end with cell number `last`; over
    /// fewer where there are no more.
    func unrest(endingAt last: Int, cells: Int) -> Double {
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

    /// Where the movement around `peak` began: followed back to two cells in a row below a fifth of its strength, and
    /// not beyond `limit`.
    func beginning(of peak: Int, notBefore limit: Int) -> Int {
        let threshold = 0.2 * magnitude(peak)
        var cell = peak
        while cell > limit, cell > 1, max(magnitude(cell - 1), magnitude(cell - 2)) > threshold { cell -= 1 }
        return max(0, cell - 1)
    }

    /// How many of the cells from `first` to `last` have more than half the linear acceleration of `peak`.
    func breadth(from first: Int, to last: Int, peak: Int) -> Int {
        let threshold = 0.5 * magnitude(peak)
        var cells = 0
        for cell in first...last where magnitude(cell) > threshold { cells += 1 }
        return cells
    }

    /// The stroke and the counter-stroke of the movement from `first` to `last`.
    ///
    /// Of all pairs of cells those that oppose one another most are the middles of a stroke and of what brakes it. A hand
    /// that comes back makes another such pair, of the brake and the way back: so it is the earliest pair that is nearly
    /// as strong as the strongest. Acceleration towards the wrist, which opposes nothing, plays no part in it.
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
        // Onto the top of this counter-stroke.
        while second < last {
            let next = opposition(to: second + 1, from: first)
            guard next.value > found.value else { break }
            second += 1
            found = next
        }
        let direction = linear[found.partner & FlickMovement.mask] - linear[second & FlickMovement.mask]
        return (strongest.squareRoot(), direction)
    }

    /// A first pair counts where it has this share of the strongest one's product.
    private static let earlyShare = 0.45

    /// How far gravity is pulled along in a cell, m/s². That much of what seems to oppose a stroke may come of it, and
    /// does not count.
    private static let pullOfCell = gravityPull * CellGrid.cell / gravityTimeConstant

    /// How much the cell opposes one before it, (m/s²)², at most, and which.
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
