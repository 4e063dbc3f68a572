internal import MotionCore

/// A straight line fitted to the edges, *time = phase + frame · period*: a least-squares fit over the first edges, and
/// over about the last `memory` edges from then on, at a cost of one or two multiplications per edge.
///
/// This is a g-h filter with the weights of the growing-memory filter (Brookner, "Tracking and Kalman Filtering Made
/// Easy", 1998, section 1.2.10), which stop growing. Interrupt latency shifts the line by its mean only.
struct EdgeTracker: BitwiseCopyable {
    /// Edges that the fit rests on, at most `memory`.
    private(set) var count = 0
    private(set) var period = 0.0
    private var frame: Int64 = 0
    private var time = Timestamp(nanoseconds: 0)

    /// One second at 200 Hz, a time in which oscillator drift is negligible.
    static var memory: Int { 200 }

    /// When a frame was or will be complete.
    func instant(ofFrame frame: Int64) -> Timestamp {
        time.advanced(bySeconds: Double(frame - self.frame) * period)
    }

    /// Frames since the last edge.
    func distance(toFrame frame: Int64) -> Int64 { frame - self.frame }

    /// Starts with one edge and an assumed period.
    mutating func begin(frame: Int64, time: Timestamp, period: Double) {
        count = 1
        self.frame = frame
        self.time = time
        self.period = period
    }

    /// Adds the edge of a later frame.
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
