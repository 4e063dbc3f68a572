/// Resamples acceleration to cells of 20 ms, so that recognizers decide alike at every sample rate.
///
/// A cell's value is the mean, over the cell, of the straight line from sample to sample. Between samples that are far
/// apart nothing is known: after such a gap the grid begins anew. Give it a sample with `add`, then take cells with
/// `next` until there is none.
struct CellGrid: Sendable, BitwiseCopyable {
    /// The length of a cell, s.
    static let cell = 0.02

    /// The longest pause between two samples that is bridged, s.
    static let longestGap = 0.5

    private var origin = Timestamp(nanoseconds: 0)
    private var time = 0.0
    private var value = Vector3.zero
    /// The line's slope up to `time`, and how far along it the cells have been filled.
    private var slope = Vector3.zero
    private var filledTo = 0.0
    private var filledValue = Vector3.zero
    private var sum = Vector3.zero
    private var cells = 0.0
    private var hasStarted = false

    /// Forgets everything: the next sample is the first.
    mutating func reset() {
        hasStarted = false
    }

    /// Takes a sample; returns false where it begins the grid anew: the first one, and the first after a gap.
    ///
    /// A sample that is not later than the one before is left out.
    mutating func add(_ value: Vector3, at timestamp: Timestamp) -> Bool {
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
        slope = (value - self.value) * (1 / (time - self.time))
        self.time = time
        self.value = value
        return true
    }

    /// The next cell that the samples so far complete, or `nil` where they reach no further.
    mutating func next() -> Vector3? {
        let end = (cells + 1) * CellGrid.cell
        // A cell whose end is the sample itself, but for rounding, is complete.
        let isComplete = end <= time + 1e-9
        let to = isComplete ? end : time
        let toValue = value + slope * (to - time)
        sum += (filledValue + toValue) * (0.5 * (to - filledTo))
        filledTo = to
        filledValue = toValue
        guard isComplete else { return nil }
        let mean = sum * (1 / CellGrid.cell)
        sum = .zero
        cells += 1
        return mean
    }
}
