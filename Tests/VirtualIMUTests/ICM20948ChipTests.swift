import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the virtual ICM-20948 behaves according to its datasheet and its makers' and users' headers, independently
/// of the driver.
@Suite struct ICM20948ChipTests {
    /// A chip on a bus, lying on its back.
    private final class Bench {
        let clock = ManualClock()
        private let chip: VirtualIMUChip
        private var bus: VirtualBus<ManualClock>

        init() {
            chip = VirtualIMUChip(.icm20948, trajectory: Rest(), imperfections: .ideal, start: clock.now())
            bus = VirtualBus(chip, clock: clock)
        }

        func read(_ register: UInt8, _ count: Int = 1) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            var failure: BusError?
            bytes.withUnsafeMutableBytes { buffer in
                do throws(BusError) { try bus.read(register, into: buffer) } catch { failure = error }
            }
            if let failure { throw failure }
            return bytes
        }

        func write(_ register: UInt8, _ value: UInt8) throws { try bus.write(register, value) }

        /// Wakes the chip, and in the middle between two samples starts the FIFO at 1125 Hz with the content of FIFO_EN_2.
        func start(content: UInt8) throws {
            try write(0x06, 0x01)
            clock.advance(bySeconds: 0.1)
            try write(0x03, 0x40)
            try write(0x68, 0x1F)
            try write(0x68, 0x00)
            try write(0x67, content)
        }

        func samples(_ count: Int) { clock.advance(bySeconds: Double(count) / 1125) }

        func count() throws -> Int {
            let bytes = try read(0x70, 2)
            return Int(bytes[0]) << 8 | Int(bytes[1])
        }
    }

    @Test("After power-on and after a reset it sleeps in bank 0 (DS-000189 p. 37)")
    func defaults() throws {
        let bench = Bench()
        #expect(try bench.read(0x00) == [0xEA])
        #expect(try bench.read(0x05, 2) == [0x40, 0x41])
        try bench.write(0x06, 0x01)
        try bench.write(0x7F, 0x20)
        #expect(try bench.read(0x00, 2) == [0x00, 0x01])
        try bench.write(0x14, 0x15)
        #expect(try bench.read(0x14) == [0x15])
        #expect(try bench.read(0x7F) == [0x20])
        try bench.write(0x7F, 0x00)
        try bench.write(0x06, 0x80)
        #expect(try bench.read(0x06)[0] & 0x80 != 0)
        bench.clock.advance(bySeconds: 0.01)
        #expect(try bench.read(0x06) == [0x41])
        try bench.write(0x7F, 0x20)
        #expect(try bench.read(0x14) == [0x01])
    }

    @Test(
        "A frame has the selected sensors in the order of their registers, and equals the outputs",
        arguments: [(0x10, 6), (0x0E, 6), (0x1F, 14), (0x01, 2), (0x04, 2)] as [(UInt8, Int)])
    func content(enabled: UInt8, length: Int) throws {
        let bench = Bench()
        try bench.start(content: enabled)
        bench.samples(3)
        #expect(try bench.count() == 3 * length)
        let frame = try bench.read(0x72, 3 * length).suffix(length)
        let first: UInt8 = enabled & 0x10 != 0 ? 0x2D : enabled & 0x02 != 0 ? 0x33 : enabled == 0x04 ? 0x35 : 0x39
        #expect(try Array(frame) == bench.read(first, length))
        // 1 g on z: 16384 counts.
        #expect(try bench.read(0x31, 2) == [0x40, 0x00])
    }

    @Test("Frames after the 32nd are corrupt (ArduPilot), and the FIFO holds 512 bytes")
    func corruption() throws {
        let bench = Bench()
        try bench.start(content: 0x1F)
        bench.samples(34)
        let bytes = try bench.read(0x72, 34 * 14)
        #expect(bytes[31 * 14 + 4] == 0x40 && bytes[33 * 14 + 4] != 0x40)
        bench.samples(100)
        #expect(try bench.count() == 512)
        try bench.write(0x68, 0x1F)
        #expect(try bench.count() == 0)
        bench.samples(3)
        #expect(try bench.count() == 0)
    }
}
