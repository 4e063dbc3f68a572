internal import MotionCore

/// The line through the edges of a data-ready line, *instant = phase + frame · period*: the least squares of the first
/// edges, and of about the last `memory` from then on, one multiplication or two an edge.
///
/// This is the g-h filter with the weights of growing memory (Brookner, "Tracking and Kalman Filtering Made Easy", 1998,
/// section 1.2.10), which stop growing. Latencies of interrupts shift the line by their mean and no more.
struct EdgeTracker: BitwiseCopyable {
    /// Edges that the line rests on, at most `memory`.
    private(set) var count = 0
    private(set) var period = 0.0
    private var frame: Int64 = 0
    private var time = Timestamp(nanoseconds: 0)

    /// At 200 Hz a second, in which no drift of an oscillator matters.
    static var memory: Int { 200 }

    /// When a frame was or will be complete.
    func instant(ofFrame frame: Int64) -> Timestamp {
        time.advanced(bySeconds: Double(frame - self.frame) * period)
    }

    /// Frames since the last edge.
    func distance(toFrame frame: Int64) -> Int64 { frame - self.frame }

    /// Begins with an edge and what is believed of the period.
    mutating func begin(frame: Int64, time: Timestamp, period: Double) {
        count = 1
        self.frame = frame
        self.time = time
        self.period = period
    }

    /// Takes the edge of a later frame.
    mutating func add(frame: Int64, time: Timestamp) {
        let steps = Double(frame - self.frame)
        let expected = instant(ofFrame: frame)
        let error = time.seconds(since: expected)
        count = min(count + 1, Self.memory)
        let n = Double(count)
        let weight = 2 * (2 * n - 1) / (n * (n + 1))
        let periodWeight = 6 / (n * (n + 1))
        self.time = expected.advanced(bySeconds: weight * error)
        self.frame = frame
        period += periodWeight * error / steps
    }
}
