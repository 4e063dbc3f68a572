internal import MotionCore

/// The newest frame on its way into a FIFO, which takes it up byte by byte, or word by word, within a short time.
struct FrameWriter {
    /// The frame.
    private(set) var bytes: [UInt8] = []
    private var written = 0
    private var time = Timestamp(nanoseconds: 0)

    /// Begins a frame that is measured at `time`.
    mutating func begin(at time: Timestamp) {
        bytes.removeAll(keepingCapacity: true)
        written = 0
        self.time = time
    }

    /// Appends to the frame.
    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Writes no more of it.
    mutating func forgetRest() { written = bytes.count }

    /// Where in `bytes` is what goes into the FIFO now, in whole words of so many bytes: what is there at `instant`, if it
    /// takes so many seconds; all of it for `nil`.
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
