internal import MotionCore

/// The newest frame while it is being written into a FIFO, byte by byte or word by word, within a short time.
struct FrameWriter {
    /// The frame.
    private(set) var bytes: [UInt8] = []
    private var written = 0
    private var time = Timestamp(nanoseconds: 0)

    /// Begins a frame measured at `time`.
    mutating func begin(at time: Timestamp) {
        bytes.removeAll(keepingCapacity: true)
        written = 0
        self.time = time
    }

    /// Appends to the frame.
    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Discards the rest of the frame.
    mutating func discardRest() { written = bytes.count }

    /// The range of `bytes` to write into the FIFO now, in whole words of `word` bytes: what has been written at
    /// `instant` if the whole frame takes `duration` seconds. For `nil`, all that is left.
    mutating func takeDue(at instant: Timestamp?, taking duration: Double, word: Int = 1) -> Range<Int> {
        var end = bytes.count
        if let instant, duration > 0 {
            let part = instant.seconds(since: time) / duration
            if part < 1 { end = Int(part * Double(bytes.count / word)) * word }
        }
        let due = written..<max(written, end)
        written = due.upperBound
        return due
    }
}
