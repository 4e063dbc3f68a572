/// The motion of the last 20 s, one value per cell. It distinguishes a shake that begins from quiet from one more jolt
/// among many.
///
/// Cells are numbered from 0 since the last reset.
struct MotionHistory: ~Copyable {
    /// Cells in the buffer: a power of two so that an index wraps with a mask.
    private static let capacity = 1024
    private static let mask = capacity - 1

    /// Squared linear acceleration, its squared change from cell to cell, and the magnitude of the specific force, in
    /// m/s².
    private let squares = FixedBuffer(repeating: 0.0, count: MotionHistory.capacity)
    private let changes = FixedBuffer(repeating: 0.0, count: MotionHistory.capacity)
    private let forces = FixedBuffer(repeating: 0.0, count: MotionHistory.capacity)
    private let gravities = FixedBuffer(repeating: Vector3.zero, count: MotionHistory.capacity)
    private var last = Vector3.zero

    /// The number of cells so far; the latest one has the number `count - 1`.
    private(set) var count = 0

    /// Resets to the initial state.
    mutating func reset() {
        count = 0
        last = .zero
    }

    /// Adds a cell: linear acceleration, magnitude of the specific force, and gravity before the cell, m/s².
    mutating func append(linear: Vector3, force: Double, gravity: Vector3) {
        let slot = count & MotionHistory.mask
        squares[slot] = linear.lengthSquared
        changes[slot] = (linear - last).lengthSquared
        forces[slot] = force
        gravities[slot] = gravity
        last = linear
        count += 1
    }

    /// Gravity at a cell, or at the first one if the number is negative.
    func gravity(at cell: Int) -> Vector3 { gravities[max(0, cell) & MotionHistory.mask] }

    /// Mean squared linear acceleration of the cells from `from` up to, not including, `to`; 0 if there are none.
    func meanSquare(from: Int, to: Int) -> Double {
        let first = max(0, from)
        guard to > first else { return 0 }
        var sum = 0.0
        for cell in first..<to { sum += squares[cell & MotionHistory.mask] }
        return sum / Double(to - first)
    }

    /// Sums of squared linear acceleration and of its squared changes over the latest `cells`, and the largest of these
    /// changes.
    func energies(latest cells: Int) -> MotionEnergies {
        var energies = MotionEnergies()
        for cell in max(0, count - cells)..<count {
            let change = changes[cell & MotionHistory.mask]
            energies.motion += squares[cell & MotionHistory.mask]
            energies.change += change
            energies.steepest = max(energies.steepest, change)
        }
        return energies
    }

    /// Largest and smallest magnitude of the specific force over the latest `cells`, m/s².
    func forceRange(latest cells: Int) -> (largest: Double, smallest: Double) {
        var largest = 0.0
        var smallest = 9 * standardGravity
        for cell in max(1, count - cells)..<max(1, count) {
            largest = max(largest, forces[cell & MotionHistory.mask])
            smallest = min(smallest, forces[cell & MotionHistory.mask])
        }
        return (largest, smallest)
    }

    /// The motion before the cell `start`.
    func precedingMotion(before start: Int) -> PrecedingMotion {
        var preceding = PrecedingMotion()
        preceding.quietest = quietest(before: start, cells: 600)
        preceding.quietestLately = quietest(before: start, cells: 150)
        preceding.justBefore = start > 5 ? meanSquare(from: start - 20, to: start - 5).squareRoot() : 0
        preceding.shortlyBefore = start > 20 ? meanSquare(from: start - 50, to: start - 20).squareRoot() : 0
        preceding.mean = meanSquare(from: start - 150, to: start - 5).squareRoot()
        var square = 0.0
        var cell = max(0, start - 150)
        while cell < start - 5 {
            square = max(square, squares[cell & MotionHistory.mask])
            cell += 1
        }
        preceding.largest = square.squareRoot()
        cell = start - 25
        while cell >= max(0, start - 425), preceding.blocks < PrecedingMotion.capacity {
            preceding.insert(meanSquare(from: cell, to: cell + 20).squareRoot())
            cell -= 20
        }
        return preceding
    }

    /// RMS of the quietest 0.4 s in the `cells` before the cell `start`; 0 if there are too few cells.
    private func quietest(before start: Int, cells: Int) -> Double {
        var from = start - 20
        guard from >= max(0, start - cells) else { return 0 }
        var sum = 20 * meanSquare(from: from, to: start)
        var least = sum
        while from - 2 >= max(0, start - cells) {
            from -= 2
            sum += squares[from & MotionHistory.mask] + squares[(from + 1) & MotionHistory.mask]
            sum -= squares[(from + 20) & MotionHistory.mask] + squares[(from + 21) & MotionHistory.mask]
            least = min(least, sum)
        }
        return (max(0, least) / 20).squareRoot()
    }
}

/// Sums over some cells: see `MotionHistory.energies`.
struct MotionEnergies: Sendable, BitwiseCopyable {
    var motion = 0.0
    var change = 0.0
    var steepest = 0.0
}

/// The motion before a swing: RMS of linear acceleration in m/s² unless stated otherwise.
struct PrecedingMotion: Sendable, BitwiseCopyable {
    /// The number of 0.4 s blocks.
    static let capacity = 20

    /// The quietest 0.4 s of the last 12 s and of the last 3 s.
    var quietest = 0.0
    var quietestLately = 0.0
    /// From 0.4 s to 0.1 s before, and from 1 s to 0.4 s before.
    var justBefore = 0.0
    var shortlyBefore = 0.0
    /// Over 3 s, and the largest linear acceleration in them.
    var mean = 0.0
    var largest = 0.0
    /// The number of 0.4 s blocks so far, and the largest of the first eight.
    private(set) var blocks = 0
    private(set) var loudest = 0.0

    private typealias Four = (Double, Double, Double, Double)
    /// The blocks in ascending order.
    private var sorted: (Four, Four, Four, Four, Four) = (
        (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)
    )

    /// Adds a block; call from the latest to the earliest.
    mutating func insert(_ block: Double) {
        if blocks < 8 { loudest = max(loudest, block) }
        let count = blocks
        withSorted { sorted in
            var place = count
            while place > 0, sorted[place - 1] > block {
                sorted[place] = sorted[place - 1]
                place -= 1
            }
            sorted[place] = block
        }
        blocks += 1
    }

    /// The median of the blocks.
    var median: Double {
        var copy = self
        let middle = blocks / 2
        return blocks > 0 ? copy.withSorted { $0[middle] } : 0
    }

    /// The number of blocks above `level`.
    func louder(than level: Double) -> Int {
        var copy = self
        let count = blocks
        return copy.withSorted { sorted in
            var place = count
            while place > 0, sorted[place - 1] > level { place -= 1 }
            return count - place
        }
    }

    private mutating func withSorted<Result>(_ body: (UnsafeMutablePointer<Double>) -> Result) -> Result {
        withUnsafeMutablePointer(to: &sorted) { tuple in
            tuple.withMemoryRebound(to: Double.self, capacity: PrecedingMotion.capacity) { body($0) }
        }
    }
}
