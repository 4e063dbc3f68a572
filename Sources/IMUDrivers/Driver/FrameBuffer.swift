/// Memory for one read of a FIFO and for single registers, allocated once.
struct FrameBuffer: ~Copyable {
    /// Whole frames as they came from the chip.
    let bytes: UnsafeMutableRawBufferPointer

    /// The same frames once they have been read; `nil` where the bytes cannot be one.
    let frames: UnsafeMutableBufferPointer<ChipFrame?>

    /// Room for a group of neighbouring registers.
    let registers: UnsafeMutableRawBufferPointer

    /// Bytes of the shortest frame that there is: two for each axis of an accelerometer.
    private static var shortestFrame: Int { 6 }

    /// Makes room for so many bytes of frames.
    init(bytes count: Int) {
        bytes = .allocate(byteCount: count, alignment: 8)
        frames = .allocate(capacity: count / Self.shortestFrame)
        frames.initialize(repeating: nil)
        registers = .allocate(byteCount: 8, alignment: 8)
    }

    deinit {
        bytes.deallocate()
        frames.deallocate()
        registers.deallocate()
    }
}
