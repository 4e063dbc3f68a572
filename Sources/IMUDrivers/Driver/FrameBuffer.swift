/// Memory for one FIFO read and for single registers, allocated once.
struct FrameBuffer: ~Copyable {
    /// Whole frames as received from the chip.
    let bytes: UnsafeMutableRawBufferPointer

    /// The same frames after parsing; `nil` if the bytes are not a valid frame.
    let frames: UnsafeMutableBufferPointer<ParsedFrame?>

    /// Room for a group of adjacent registers: what the longest reading of a magnetometer needs (an AK8963), plus a few.
    let registers: UnsafeMutableRawBufferPointer

    /// Room for a group that is read in one transaction with another one.
    let second: UnsafeMutableRawBufferPointer

    /// Bytes of the shortest possible frame: two per axis of an accelerometer.
    private static var shortestFrame: Int { 6 }

    /// Allocates memory for `count` bytes of frames.
    init(bytes count: Int) {
        bytes = .allocate(byteCount: count, alignment: 8)
        frames = .allocate(capacity: count / Self.shortestFrame)
        frames.initialize(repeating: nil)
        registers = .allocate(byteCount: 16, alignment: 8)
        second = .allocate(byteCount: 16, alignment: 8)
    }

    deinit {
        bytes.deallocate()
        frames.deallocate()
        registers.deallocate()
        second.deallocate()
    }
}
