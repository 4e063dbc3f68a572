/// Resamples acceleration and rotation rate to cells of 20 ms, so that recognizers decide alike at every sample rate.
///
/// A cell's value is the mean, over the cell, of the straight line from sample to sample. Movement between samples that
/// are far apart is unknown, so the grid restarts after such a gap. Add a sample with `add`, then call `next` until it
/// returns `nil`.
struct CellGrid: Sendable, BitwiseCopyable {
    /// The length of a cell, s.
    static let cell = 0.02

    /// The longest gap between two samples that is interpolated, s.
    static let longestGap = 0.5

    /// The averaged quantities.
    struct Values: Sendable, BitwiseCopyable {
        /// Specific force, m/s².
        var acceleration = Vector3.zero
        /// Angular rate, rad/s.
        var rotationRate = Vector3.zero
    }

    private var origin = Timestamp(nanoseconds: 0)
    private var time = 0.0
    private var value = Values()
    /// The slope of the line up to `time`, and how far along it the cells have been filled.
    private var slope = Values()
    private var filledTo = 0.0
    private var filledValue = Values()
    private var sum = Values()
    private var cells = 0.0
    private var hasStarted = false

    /// The end of the last cell, s on the grid's clock, which starts with the grid.
    var end: Double { cells * CellGrid.cell }

    /// The acceleration of the sample nearest to the middle of the last cell, if the samples are `interval` s apart.
    func nearest(interval: Double) -> Vector3 {
        let age = time - end + 0.5 * CellGrid.cell
        return age < 0.5 * interval ? value.acceleration : value.acceleration - slope.acceleration * interval
    }

    /// Adds a sample. Returns false if it restarts the grid: the first sample, and the first after a gap.
    ///
    /// Ignores a sample that is not later than the previous one.
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

    /// The next cell that the samples complete; `nil` if there is none.
    mutating func next() -> Values? {
        let end = (cells + 1) * CellGrid.cell
        // Allow for rounding when the cell ends exactly at the sample.
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
