internal import MotionCore

/// How far the reading of a chip's FIFO has come.
struct StreamProgress: BitwiseCopyable {
    /// Frames taken from the FIFO since it was last started.
    private(set) var taken: Int64 = 0
    /// When the FIFO last had a frame, or was started.
    private(set) var lastFill = Timestamp(nanoseconds: 0)
    /// When the bus last did what it was asked to while samples flowed.
    private(set) var lastAnswer = Timestamp(nanoseconds: 0)
    /// From this instant on the sensors tell the truth.
    private(set) var settledAt = Timestamp(nanoseconds: 0)
    /// The instant of the last sample, also across failures; `nil` before the first.
    private(set) var lastSample: Timestamp?
    /// Looks at the FIFO, ever; it wraps.
    private(set) var looks = 0
    /// Looks in a row that found the FIFO between two frames.
    private var unevenLooks = 0

    /// The FIFO was emptied and started.
    mutating func begin(at now: Timestamp) {
        taken = 0
        unevenLooks = 0
        lastFill = now
        lastAnswer = now
    }

    /// The chip is not sampling any more.
    mutating func end() { unevenLooks = 0 }

    /// The sensors have been started and need until then.
    mutating func settle(until instant: Timestamp) { settledAt = instant }

    /// Counts a look at the FIFO.
    mutating func countLook() { looks &+= 1 }

    /// The bus gave an answer.
    mutating func noteAnswer(at now: Timestamp) { lastAnswer = now }

    /// A look found the FIFO between two frames; returns whether that means by now that it has slipped.
    mutating func noteUnevenLook() -> Bool {
        unevenLooks += 1
        return unevenLooks >= StreamLimits.unevenLimit
    }

    /// A look found whole frames, or none.
    mutating func noteEvenLook() { unevenLooks = 0 }

    /// A look found frames.
    mutating func noteFrames(at now: Timestamp) { lastFill = now }

    /// Takes the next frame; its number is `taken` from then on.
    mutating func takeFrame() { taken += 1 }

    /// The instant of the next sample: `timestamp`, or if that is not after the last sample's, what just is.
    func following(_ timestamp: Timestamp) -> Timestamp {
        guard let lastSample, timestamp <= lastSample else { return timestamp }
        return Timestamp(nanoseconds: lastSample.nanoseconds + 1)
    }

    /// A sample was delivered.
    mutating func noteSample(at timestamp: Timestamp) { lastSample = timestamp }
}
