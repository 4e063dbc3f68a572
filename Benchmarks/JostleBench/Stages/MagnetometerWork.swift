internal import IMUDrivers
internal import MotionCore

/// The driver of an AK8963, on a bus that fails now and then.
struct MagnetometerWork: StageWork, ~Copyable {
    /// Registers in memory. Each reading has other counts than the one before. Every 50th transaction is not acknowledged,
    /// and every 2000th reports the adapter as absent.
    private struct Bus: RegisterBus, ~Copyable {
        let maximumReadLength = 8192
        private let registers: UnsafeMutablePointer<UInt8>
        private var transactions = 0

        init() {
            registers = .allocate(capacity: 32)
            registers.initialize(repeating: 128, count: 32)
            // WIA, ST1, ST2, CNTL1 to ASTC.
            registers[0x00] = 0x48
            registers[0x02] = 0x01
            registers[0x09] = 0x10
            for control in 0x0A...0x0C { registers[control] = 0 }
        }

        deinit {
            registers.deallocate()
        }

        mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
            try pass()
            registers[0x03] &+= 1
            buffer.copyMemory(from: UnsafeRawBufferPointer(start: registers + Int(register), count: buffer.count))
        }

        mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
            try pass()
            // A reset clears its own bit.
            registers[Int(register)] = register == 0x0B ? 0 : value
        }

        private mutating func pass() throws(BusError) {
            transactions += 1
            if transactions % 2000 == 0 { throw BusError(.absent, code: 19) }
            if transactions % 50 == 0 { throw BusError(.notAcknowledged, code: 6) }
        }
    }

    private let clock: ManualClock
    private var driver: MagnetometerDriver<AK8963, Bus, ManualClock>
    var events: Int { 0 }

    init() {
        clock = ManualClock()
        driver = MagnetometerDriver(bus: Bus(), clock: clock)
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        var idle = 0
        while done < count, idle < 1000 {
            let poll = driver.poll()
            clock.set(to: poll.next)
            idle = poll.sample == nil ? idle + 1 : 0
            if poll.sample != nil { done += 1 }
        }
        return done
    }
}
