/// What is expected of a data-ready line, seconds unless said.
enum EdgeLimits {
    /// A host may note an edge later than a look at the FIFO, and the FIFO may get a frame later than the edge.
    static var slack: Double { 0.001 }
    /// Looks that agree on the offset, and edges, before it is believed.
    static var leastLooks: Int { 2 }
    static var leastEdges: Int { 4 }
    /// How far the distance of two edges may be off before the period is known: what a slow or fast oscillator makes of
    /// it, and an interrupt that is somewhat late.
    static func unevenness(over distance: Double) -> Double { 0.06 * distance + 0.000_2 }
    /// Looks in a row that contradict the offset until it is given up.
    static var contradictions: Int { 3 }
    /// Edges in a row off the expected instants until it is given up; those of late interrupts come singly.
    static var oddInARow: Int { 4 }
    /// For so long, so many periods and so many frames no edge comes from a wire that leads nowhere.
    static var silence: Double { 0.5 }
    static var silentPeriods: Double { 10 }
    /// The same for a pin that pulses once a batch: two of the longest.
    static var silentBatchPeriods: Double { 40 }
    static var silentFrames: Int64 { 4 }
    /// For so long, or so many periods, the offset is sought.
    static var seeking: Double { 3 }
    static var soughtPeriods: Double { 40 }
    /// The pauses before a line that failed is tried again, and how long it has to be good for the pause to be short again.
    static var firstPause: Double { 1 }
    static var lastPause: Double { 64 }
    static var trustAfter: Double { 60 }
    /// Edges after which the line through them is known well enough to foretell the next.
    static var young: Int { 32 }
    /// How far an edge may be off for an offset to be believed, before and after the estimator has settled, as ratios of
    /// a period.
    static var unsettledDoubt: Double { 0.75 }
    static var settledDoubt: Double { 0.35 }
    /// How far an edge may be off that line, seconds, and where that is more as a ratio of the period.
    static var tolerance: Double { 0.000_25 }
    static var toleranceRatio: Double { 1.0 / 50 }
}
