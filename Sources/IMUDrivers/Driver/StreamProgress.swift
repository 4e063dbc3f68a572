internal import MotionCore

/// How far reading a chip's FIFO has progressed.
struct StreamProgress: BitwiseCopyable {
    /// Frames read from the FIFO since its last start.
    private(set) var taken: Int64 = 0
    /// Frames in the buffer: read and parsed, but not yet delivered.
    private(set) var parsed = 0
    /// When the FIFO was last emptied and started.
    private(set) var begunAt = Timestamp(nanoseconds: 0)
    /// When the FIFO last had a frame, or was started.
    private(set) var lastFill = Timestamp(nanoseconds: 0)
    /// When the bus last answered while samples were flowing.
    private(set) var lastAnswer = Timestamp(nanoseconds: 0)
    /// When the sensors have settled; earlier samples are discarded.
    private(set) var settledAt = Timestamp(nanoseconds: 0)
    /// The timestamp of the last sample, kept across failures; `nil` before the first.
    private(set) var lastSample: Timestamp?
    /// Number of FIFO counts read in total; it wraps.
    private(set) var reads = 0
    /// Consecutive counts that showed a partial frame.
    private var partialFrameCounts = 0

    /// Starts over after the FIFO was emptied and started.
    mutating func begin(at now: Timestamp) {
        taken = 0
        parsed = 0
        partialFrameCounts = 0
        begunAt = now
        lastFill = now
        lastAnswer = now
    }

    /// The chip has stopped sampling.
    mutating func end() {
        partialFrameCounts = 0
        parsed = 0
    }

    /// Sets when the newly started sensors will have settled.
    mutating func settle(until instant: Timestamp) { settledAt = instant }

    /// Counts a read of the FIFO's count.
    mutating func countRead() { reads &+= 1 }

    /// Records that the bus answered.
    mutating func noteAnswer(at now: Timestamp) { lastAnswer = now }

    /// Records a count that showed a partial frame. Returns whether the framing counts as lost by now.
    mutating func notePartialFrame() -> Bool {
        partialFrameCounts += 1
        return partialFrameCounts >= StreamLimits.partialFrameLimit
    }

    /// Records a count of whole frames, or of none.
    mutating func noteWholeFrames() { partialFrameCounts = 0 }

    /// Records that the FIFO had frames.
    mutating func noteFrames(at now: Timestamp) { lastFill = now }

    /// Records that this many more frames are in the buffer.
    mutating func noteParsed(_ frames: Int) { parsed += frames }

    /// Forgets the frames in the buffer.
    mutating func forgetParsed() { parsed = 0 }

    /// Takes the next frame, whose number `taken` then is.
    mutating func takeFrame() { taken += 1 }

    /// The next sample's timestamp: `timestamp`, or the earliest time after the last sample if `timestamp` is not
    /// later.
    func following(_ timestamp: Timestamp) -> Timestamp {
        guard let lastSample, timestamp <= lastSample else { return timestamp }
        return Timestamp(nanoseconds: lastSample.nanoseconds + 1)
    }

    /// Records a delivered sample.
    mutating func noteSample(at timestamp: Timestamp) { lastSample = timestamp }
}
