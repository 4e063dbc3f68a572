/// Resamples acceleration and rotation to cells of 20 ms, so that recognizers decide alike at every sample rate.
///
/// A cell's value is the mean, over the cell, of the straight line from sample to sample. Between samples that are far
/// apart nothing is known: after such a gap the grid begins anew. Give it a sample with `add`, then take cells with
/// `next` until there is none.
struct CellGrid: Sendable, BitwiseCopyable {
    /// The length of a cell, s.
    static let cell = 0.02

    /// The longest pause between two samples that is bridged, s.
    static let longestGap = 0.5

    /// What is averaged.
    struct Values: Sendable, BitwiseCopyable {
        /// Specific force, m/s².
        var acceleration = Vector3.zero
        /// Angular rate, rad/s.
        var rotationRate = Vector3.zero
    }

    private var origin = Timestamp(nanoseconds: 0)
    private var time = 0.0
    private var value = Values()
    /// The line's slope up to `time`, and how far along it the cells have been filled.
    private var slope = Values()
    private var filledTo = 0.0
    private var filledValue = Values()
    private var sum = Values()
    private var cells = 0.0
    private var hasStarted = false

    /// Where the last cell ended, s on the grid's clock, which begins with the grid.
    var end: Double { cells * CellGrid.cell }

    /// Forgets everything: the next sample is the first.
    mutating func reset() {
        hasStarted = false
    }

    /// Takes a sample; returns false where it begins the grid anew: the first one, and the first after a gap.
    ///
    /// A sample that is not later than the one before is left out.
    mutating func add(_ value: Values, at timestamp: Timestamp) -> Bool {
        let time = timestamp.seconds(since: origin)
        guard hasStarted, time - self.time <= CellGrid.longestGap else {
            self = CellGrid()
            origin = timestamp
            self.value = value
            filledValue = value
            hasStarted = true
            return false
        }
        guard time > self.time else { return true }
        let rate = 1 / (time - self.time)
        slope.acceleration = (value.acceleration - self.value.acceleration) * rate
        slope.rotationRate = (value.rotationRate - self.value.rotationRate) * rate
        self.time = time
        self.value = value
        return true
    }

    /// The next cell that the samples so far complete, or `nil` where they reach no further.
    mutating func next() -> Values? {
        let end = (cells + 1) * CellGrid.cell
        // A cell whose end is the sample itself, but for rounding, is complete.
        let isComplete = end <= time + 1e-9
        let to = isComplete ? end : time
        var toValue = value
        toValue.acceleration += slope.acceleration * (to - time)
        toValue.rotationRate += slope.rotationRate * (to - time)
        let weight = 0.5 * (to - filledTo)
        sum.acceleration += (filledValue.acceleration + toValue.acceleration) * weight
        sum.rotationRate += (filledValue.rotationRate + toValue.rotationRate) * weight
        filledTo = to
        filledValue = toValue
        guard isComplete else { return nil }
        let mean = Values(
            acceleration: sum.acceleration * (1 / CellGrid.cell), rotationRate: sum.rotationRate * (1 / CellGrid.cell))
        sum = Values()
        cells += 1
        return mean
    }
}
