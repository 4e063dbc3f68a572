/// Limits for matching a data-ready line, in seconds unless stated otherwise.
enum EdgeLimits {
    /// Timing slack: the host may timestamp an edge after it has read the FIFO's count, and the FIFO may receive a
    /// frame after the edge.
    static var slack: Double { 0.001 }
    /// Consistent FIFO counts, and edges, needed before an offset is accepted.
    static var fewestCounts: Int { 2 }
    static var fewestEdges: Int { 4 }
    /// How far the spacing of two edges may deviate before the period is known. It allows for a slow or fast oscillator
    /// and for a slightly late interrupt.
    static func unevenness(over distance: Double) -> Double { 0.06 * distance + 0.000_2 }
    /// Consecutive counts that contradict the offset before it is rejected.
    static var contradictions: Int { 3 }
    /// Consecutive edges off their expected times before the offset is rejected. Late interrupts cause single ones.
    static var consecutiveOutliers: Int { 4 }
    /// Without an edge for this long, this many periods and this many frames, the line counts as silent.
    static var silence: Double { 0.5 }
    static var silentPeriods: Double { 10 }
    /// The same for a pin that pulses once per batch: twice the longest batch.
    static var silentBatchPeriods: Double { 40 }
    static var silentFrames: Int64 { 4 }
    /// How long, or how many periods, the offset is searched for.
    static var searchTimeout: Double { 3 }
    static var searchPeriods: Double { 40 }
    /// The first and the longest pause before a failed line is tried again, and how long it must work before the pause
    /// is reset.
    static var firstPause: Double { 1 }
    static var lastPause: Double { 64 }
    static var trustAfter: Double { 60 }
    /// Edges after which the fitted line predicts the next edge well enough.
    static var fewestTrackedEdges: Int { 32 }
    /// How far an edge may be off before an offset is rejected, as a ratio of the period, before and after the
    /// estimator has settled.
    static var unsettledUncertainty: Double { 0.75 }
    static var settledUncertainty: Double { 0.35 }
    /// How far an edge may be off the fitted line, in seconds, or as a ratio of the period if that is more.
    static var tolerance: Double { 0.000_25 }
    static var toleranceRatio: Double { 1.0 / 50 }
}
