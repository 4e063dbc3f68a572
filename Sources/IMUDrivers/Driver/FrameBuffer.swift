/// Memory for one read of a FIFO and for single registers, allocated once.
struct FrameBuffer: ~Copyable {
    /// Whole frames as they came from the chip.
    let bytes: UnsafeMutableRawBufferPointer

    /// Room for a group of neighbouring registers.
    let registers: UnsafeMutableRawBufferPointer

    /// Makes room for so many bytes of frames.
    init(bytes count: Int) {
        bytes = .allocate(byteCount: count, alignment: 8)
        registers = .allocate(byteCount: 8, alignment: 8)
    }

    deinit {
        bytes.deallocate()
        registers.deallocate()
    }
}
