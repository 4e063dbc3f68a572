/// Memory for one read of the FIFO and for single registers, allocated once.
struct FrameBuffer: ~Copyable {
    /// Whole frames as they came from the chip.
    let bytes: UnsafeMutableRawBufferPointer

    /// Room for a group of neighbouring registers.
    let registers: UnsafeMutableRawBufferPointer

    /// Makes room for `frames` frames.
    init(frames: Int) {
        bytes = .allocate(byteCount: frames * MPU6050Frame.length, alignment: 2)
        registers = .allocate(byteCount: 4, alignment: 2)
    }

    deinit {
        bytes.deallocate()
        registers.deallocate()
    }

    /// The frame at `index`.
    func frame(at index: Int) -> MPU6050Frame {
        MPU6050Frame(UnsafeRawBufferPointer(bytes), at: index * MPU6050Frame.length)
    }
}
