internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// The virtual chip at 200 Hz on the demo trajectory; its FIFO is read every 20 ms.
struct ChipWork: StageWork, ~Copyable {
    private static let interval = 0.02
    private static let frameLength = 14
    private static let largestRead = 1024

    private let clock: ManualClock
    private var bus: VirtualBus<ManualClock>
    private let buffer: UnsafeMutableRawBufferPointer
    private var isSetUp = false
    var events: Int { 0 }

    init() {
        clock = ManualClock()
        let chip = VirtualIMUChip(trajectory: VirtualTrajectory.demo.trajectory, seed: 1, start: clock.now())
        bus = VirtualBus(chip, clock: clock)
        buffer = .allocate(byteCount: ChipWork.largestRead, alignment: 2)
    }

    deinit {
        buffer.deallocate()
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        do throws(BusError) {
            try setUp()
            var idle = 0
            while done < count, idle < ReplayHost.idleLimit {
                clock.set(to: clock.now().advanced(bySeconds: ChipWork.interval))
                let frames = try readFIFO()
                idle = frames == 0 ? idle + 1 : 0
                done += frames
            }
        } catch {
            // No fault was injected. If there is one anyway, the missing samples reveal it.
        }
        return done
    }

    /// Wakes the chip: 200 Hz, 98 Hz low-pass, ±2000 °/s, ±8 g, all sensors into the FIFO.
    private mutating func setUp() throws(BusError) {
        guard !isSetUp else { return }
        let registers: [(UInt8, UInt8)] = [
            (0x6B, 0x01), (0x19, 4), (0x1A, 2), (0x1B, 0x18), (0x1C, 0x10), (0x23, 0xF8), (0x6A, 0x04), (0x6A, 0x40),
        ]
        for (register, value) in registers { try bus.write(register, value) }
        isSetUp = true
    }

    /// Reads the FIFO. Returns the number of frames.
    private mutating func readFIFO() throws(BusError) -> Int {
        try bus.read(0x72, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<2]))
        let bytes = min(Int(buffer[0]) << 8 | Int(buffer[1]), ChipWork.largestRead)
        guard bytes > 0 else { return 0 }
        try bus.read(ReplayBus.fifoData, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes]))
        return bytes / ChipWork.frameLength
    }
}
