/// Follows weightlessness cell by cell, and keeps what was felt before it: 2.5 s of magnitudes of acceleration.
struct FreeFall: ~Copyable {
    /// Cells that are kept: a power of two so that an index wraps by a mask; more than `quietFrom` and a blow's window.
    private static let capacity = 256
    private static let mask = capacity - 1

    /// Acceleration below which the body is weightless, in g: not 0, since a body that spins feels its centre, and air
    /// brakes it.
    private static let limit = 0.48
    /// Acceleration that one cell may have amid a free fall, in g: a hand or an edge that was brushed.
    private static let brushed = 1.2
    /// How far from the centre of a spinning board the sensor sits, m, and the most acceleration in g that is put down to it.
    private static let offCentre = 0.02
    private static let spinLimit = 0.6

    /// Cells that tell whether it was quiet before, counted back from the beginning of the fall: the 2.5 s to 0.6 s.
    private static let quietFrom = 125
    private static let quietTo = 30
    /// Cells before the fall in which a push shows.
    private static let pushed = 20
    /// Cells before a blow in which the fall that led to it is looked for, and the acceleration below which one counts.
    private static let searched = 20
    private static let lowBeforeBlow = 0.6

    private let magnitudes: UnsafeMutablePointer<Double>

    /// How many cells there have been.
    private(set) var count = 0
    /// The cell with which the present free fall began; `nil` where there is none.
    private(set) var start: Int?
    /// How sure it is, in seconds: each cell counts by how little it weighs, wholly at weight zero.
    private(set) var certainty = 0.0
    /// How long it has lasted, in cells; cells that brush something count.
    private(set) var length = 0
    private var brushes = 0

    init() {
        magnitudes = .allocate(capacity: FreeFall.capacity)
        magnitudes.initialize(repeating: 1, count: FreeFall.capacity)
    }

    deinit {
        magnitudes.deallocate()
    }

    /// Forgets everything.
    mutating func reset() {
        count = 0
        start = nil
        certainty = 0
        length = 0
    }

    /// Takes the mean acceleration and rotation rate of a cell; returns the acceleration's magnitude in g, without what
    /// a spin adds to it.
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

    /// Standard deviation of the magnitudes before the cell `index`, in g; 0 where there is no past.
    ///
    /// The deviation and not the distance from 1 g, so that a badly calibrated sensor can be quiet.
    func unrest(before index: Int) -> Double {
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

    /// The highest of the `cells` magnitudes before the cell `index`, in g; 0 where there is none.
    func peak(before index: Int, cells: Int = FreeFall.pushed) -> Double {
        var peak = 0.0
        let first = max(0, max(index - cells, count - FreeFall.capacity))
        guard first < index else { return 0 }
        for cell in first..<index {
            peak = max(peak, magnitudes[cell & FreeFall.mask])
        }
        return peak
    }

    /// The fall, broken off or not, that led to a blow in the latest cell: its first cell, how many there are and how
    /// sure it is, s. `nil` where there is none.
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
