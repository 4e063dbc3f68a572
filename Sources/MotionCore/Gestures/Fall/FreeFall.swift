/// Detects weightlessness cell by cell and keeps the magnitudes of acceleration before it, for 2.5 s.
struct FreeFall: ~Copyable {
    /// Cells in the buffer: a power of two so that an index wraps with a mask; more than `quietFrom` and the window of
    /// a blow.
    private static let capacity = 256
    private static let mask = capacity - 1

    /// Acceleration below which the body is weightless, in g. It is not 0, because a spinning body feels centrifugal
    /// force and air resistance slows it down.
    private static let limit = 0.48
    /// Acceleration that a single cell may have within a free fall, in g: the board brushed against a hand or an edge.
    private static let brushed = 1.2
    /// Distance of the sensor from the centre of a spinning board, m, and the largest acceleration in g that is
    /// attributed to spin.
    private static let offCentre = 0.02
    private static let spinLimit = 0.6

    /// Cells in which the body must have been quiet, counted back from the beginning of the fall: from 2.5 s to 0.6 s
    /// before.
    private static let quietFrom = 125
    private static let quietTo = 30
    /// Cells before the fall in which a push is searched.
    private static let pushed = 20
    /// Cells before an impact in which the preceding fall is searched, and the acceleration in g below which a cell
    /// counts.
    private static let searched = 20
    private static let lowBeforeBlow = 0.6

    private let magnitudes: UnsafeMutablePointer<Double>

    /// The number of cells so far.
    private(set) var count = 0
    /// The cell in which the current free fall began; `nil` if there is none.
    private(set) var start: Int?
    /// The certainty of the free fall, in seconds: each cell counts by how close to zero it is, fully at zero.
    private(set) var certainty = 0.0
    /// The length of the free fall, in cells, including cells in which the board brushed something.
    private(set) var length = 0
    private var brushes = 0

    init() {
        magnitudes = .allocate(capacity: FreeFall.capacity)
        magnitudes.initialize(repeating: 1, count: FreeFall.capacity)
    }

    deinit {
        magnitudes.deallocate()
    }

    /// Resets to the initial state.
    mutating func reset() {
        count = 0
        start = nil
        certainty = 0
        length = 0
    }

    /// Adds the mean acceleration and rotation rate of a cell; returns the magnitude of the acceleration in g, without
    /// the part attributed to spin.
    mutating func append(_ acceleration: Vector3, rotationRate: Vector3) -> Double {
        var magnitude = acceleration.length / standardGravity
        if magnitude < 1 {
            let spin = rotationRate.lengthSquared * FreeFall.offCentre / standardGravity
            magnitude = max(0, magnitude - min(spin, FreeFall.spinLimit))
        }
        magnitudes[count & FreeFall.mask] = magnitude
        if magnitude < FreeFall.limit {
            if start == nil {
                start = count
                certainty = 0
                length = 0
            }
            let weight = magnitude / FreeFall.limit
            certainty += (1 - weight * weight) * CellGrid.cell
            length = count + 1 - (start ?? count)
            brushes = 0
        } else if start != nil {
            brushes += 1
            if brushes > 1 || magnitude > FreeFall.brushed { start = nil }
        }
        count += 1
        return magnitude
    }

    /// Standard deviation of the magnitudes before the cell `index`, in g; 0 if there are too few cells.
    ///
    /// The deviation rather than the distance from 1 g, so that a badly calibrated sensor can also be quiet.
    func deviation(before index: Int) -> Double {
        let first = max(0, max(index - FreeFall.quietFrom, count - FreeFall.capacity))
        let end = index - FreeFall.quietTo
        guard end - first >= 5 else { return 0 }
        var sum = 0.0
        var squares = 0.0
        for cell in first..<end {
            let magnitude = magnitudes[cell & FreeFall.mask]
            sum += magnitude
            squares += magnitude * magnitude
        }
        let mean = sum / Double(end - first)
        return max(0, squares / Double(end - first) - mean * mean).squareRoot()
    }

    /// The highest of the `cells` magnitudes before the cell `index`, in g; 0 if there are none.
    func peak(before index: Int, cells: Int = FreeFall.pushed) -> Double {
        var peak = 0.0
        let first = max(0, max(index - cells, count - FreeFall.capacity))
        guard first < index else { return 0 }
        for cell in first..<index {
            peak = max(peak, magnitudes[cell & FreeFall.mask])
        }
        return peak
    }

    /// The fall, continuous or not, that preceded an impact in the latest cell: its first cell, its number of cells and
    /// its certainty, s. `nil` if there is none.
    func leadingToBlow() -> (start: Int, length: Int, certainty: Double)? {
        var found: Int?
        var length = 0
        var sum = 0.0
        let end = count - 1
        for cell in max(0, end - FreeFall.searched)..<end {
            let weight = magnitudes[cell & FreeFall.mask] / FreeFall.lowBeforeBlow
            guard weight < 1 else { continue }
            if found == nil { found = cell }
            length += 1
            sum += (1 - weight * weight) * CellGrid.cell
        }
        guard let found else { return nil }
        return (found, length, sum)
    }
}
