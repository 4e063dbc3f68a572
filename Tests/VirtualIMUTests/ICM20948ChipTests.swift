import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

extension Rig {
    /// Wakes an ICM-20948, and in the middle between two samples starts the FIFO at 1125 Hz with the content of
    /// FIFO_EN_2.
    fileprivate func start(content: UInt8) throws {
        try write(0x06, 0x01)
        wait(0.1)
        try write((0x03, 0x40), (0x68, 0x1F), (0x68, 0x00), (0x67, content))
    }

    fileprivate func samples(_ count: Int) { wait(Double(count) / 1125) }
}

/// Requirement: the virtual ICM-20948 behaves according to its datasheet and its makers' and users' headers, independently
/// of the driver.
@Suite struct ICM20948ChipTests {
    @Test("After power-on and after a reset it sleeps in bank 0 (DS-000189 p. 37)")
    func defaults() throws {
        let bench = Rig(part: .icm20948)
        #expect(try bench.read(0x00) == 0xEA)
        #expect(try bench.read(0x05, count: 2) == [0x40, 0x41])
        try bench.write(0x06, 0x01)
        try bench.write(0x7F, 0x20)
        #expect(try bench.read(0x00, count: 2) == [0x00, 0x01])
        try bench.write(0x14, 0x15)
        #expect(try bench.read(0x14) == 0x15)
        #expect(try bench.read(0x7F) == 0x20)
        try bench.write(0x7F, 0x00)
        try bench.write(0x06, 0x80)
        #expect(try bench.read(0x06) & 0x80 != 0)
        bench.wait(0.01)
        #expect(try bench.read(0x06) == 0x41)
        try bench.write(0x7F, 0x20)
        #expect(try bench.read(0x14) == 0x01)
    }

    @Test(
        "A frame has the selected sensors in the order of their registers, and equals the outputs",
        arguments: [(0x10, 6), (0x0E, 6), (0x1F, 14), (0x01, 2), (0x04, 2)] as [(UInt8, Int)])
    func content(enabled: UInt8, length: Int) throws {
        let bench = Rig(part: .icm20948)
        try bench.start(content: enabled)
        bench.samples(3)
        #expect(try bench.fifoCount(0x70) == 3 * length)
        let frame = try bench.read(0x72, count: 3 * length).suffix(length)
        let first: UInt8 = enabled & 0x10 != 0 ? 0x2D : enabled & 0x02 != 0 ? 0x33 : enabled == 0x04 ? 0x35 : 0x39
        #expect(try Array(frame) == bench.read(first, count: length))
        // 1 g on z: 16384 counts.
        #expect(try bench.read(0x31, count: 2) == [0x40, 0x00])
    }

    @Test("Frames after the 32nd are corrupt (ArduPilot), and the FIFO holds 512 bytes")
    func corruption() throws {
        let bench = Rig(part: .icm20948)
        try bench.start(content: 0x1F)
        bench.samples(34)
        let bytes = try bench.read(0x72, count: 34 * 14)
        #expect(bytes[31 * 14 + 4] == 0x40 && bytes[33 * 14 + 4] != 0x40)
        bench.samples(100)
        #expect(try bench.fifoCount(0x70) == 512)
        try bench.write(0x68, 0x1F)
        #expect(try bench.fifoCount(0x70) == 0)
        bench.samples(3)
        #expect(try bench.fifoCount(0x70) == 0)
    }
}
