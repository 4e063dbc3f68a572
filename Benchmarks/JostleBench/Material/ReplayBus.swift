internal import IMUDrivers
internal import MotionCore

/// A bus with an MPU-6050 whose FIFO fills with recorded frames, endlessly.
///
/// It is part of the measured code, so it does very little: registers are memory, the FIFO's count is a division, its
/// content a copy.
struct ReplayBus: RegisterBus, ~Copyable {
    /// How often the bus fails.
    enum Faults {
        case none
        /// Every 50th transaction is not acknowledged, and every 2000th reports the adapter as absent.
        case frequent
    }

    /// FIFO_R_W, and the other registers with side effects (RM-MPU-6000A-00 r4.2, p. 38 to 45).
    static let fifoData: UInt8 = 0x74
    private static let fifoCount: UInt8 = 0x72
    private static let userControl: UInt8 = 0x6A
    private static let powerManagement1: UInt8 = 0x6B
    private static let whoAmI: UInt8 = 0x75

    private static let registerCount = 128
    private static let frameLength = 14
    private static let frameCapacity = 73

    let maximumReadLength = 8192

    private let frames: [UInt8]
    private let frameCount: Int
    private let period: Double
    private let clock: ManualClock
    private let faults: Faults
    private let registers: UnsafeMutablePointer<UInt8>
    private var fifoStart: Timestamp
    /// Frames read since the FIFO was last emptied, and the next frame on the tape.
    private var taken = 0
    private var position = 0
    private var transactions = 0

    /// Creates a bus that replays `recording` according to `clock`.
    init(_ recording: Recording, clock: ManualClock, faults: Faults = .none) {
        frames = recording.frames
        frameCount = recording.frames.count / ReplayBus.frameLength
        period = recording.period
        self.clock = clock
        self.faults = faults
        registers = .allocate(capacity: ReplayBus.registerCount)
        registers.initialize(repeating: 0, count: ReplayBus.registerCount)
        registers[Int(ReplayBus.whoAmI)] = 0x68
        fifoStart = clock.now()
    }

    deinit {
        registers.deallocate()
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        try pass()
        switch register {
        case ReplayBus.fifoCount:
            let bytes = min(due, ReplayBus.frameCapacity) * ReplayBus.frameLength
            buffer[0] = UInt8(bytes >> 8)
            buffer[1] = UInt8(bytes & 0xFF)
        case ReplayBus.fifoData:
            play(into: buffer)
        default:
            buffer.copyMemory(from: UnsafeRawBufferPointer(start: registers + Int(register), count: buffer.count))
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try pass()
        switch (register, value) {
        case (ReplayBus.powerManagement1, 0x80):
            // A reset clears its own bit and leaves the chip asleep.
            registers[Int(register)] = 0x40
        case (ReplayBus.userControl, 0x04):
            fifoStart = clock.now()
            taken = 0
        default:
            registers[Int(register)] = value
        }
    }

    /// Frames in the FIFO.
    private var due: Int { Int(clock.now().seconds(since: fifoStart) / period) - taken }

    private mutating func play(into buffer: UnsafeMutableRawBufferPointer) {
        let wanted = buffer.count / ReplayBus.frameLength
        taken += wanted
        var done = 0
        while done < wanted {
            let run = min(wanted - done, frameCount - position)
            frames.withUnsafeBytes { tape in
                UnsafeMutableRawBufferPointer(rebasing: buffer[(done * ReplayBus.frameLength)...]).copyMemory(
                    from: UnsafeRawBufferPointer(
                        rebasing: tape[(position * ReplayBus.frameLength)...].prefix(run * ReplayBus.frameLength)))
            }
            done += run
            position = (position + run) % frameCount
        }
    }

    /// Lets a transaction succeed, or fail if it is one that should.
    private mutating func pass() throws(BusError) {
        guard faults == .frequent else { return }
        transactions += 1
        if transactions % 2000 == 0 { throw BusError(.absent, code: 19) }
        if transactions % 50 == 0 { throw BusError(.notAcknowledged, code: 6) }
    }
}
