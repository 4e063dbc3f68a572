import IMUDrivers
import MotionCore
import Testing

@testable import VirtualIMU

/// The FIFO from which a driver reads samples, as in RM-MPU-6000A-00 r4.2, pages 16, 38, 43 and 44.
@Suite("Virtual MPU-6050: FIFO")
struct FIFOTests {
    /// The outputs of `Steady` at ±8 g and ±2000 °/s.
    private static let force = [2048, -1024, 3072]
    private static let rate = [1640, -820, 410]

    @Test("frames hold the enabled sensors in the order of their registers")
    func order() throws {
        let temperature = [Int(((25 - 36.53) * 340).rounded())]
        for (enabled, frame) in [
            (0x78, Self.force + Self.rate), (0xF8, Self.force + temperature + Self.rate), (0x08, Self.force),
            (0x70, Self.rate), (0x20, [-820]), (0x98, Self.force + temperature + [410]),
            (0x58, Self.force + [1640, 410]),
        ] as [(UInt8, [Int])] {
            let rig = Rig(Steady())
            try rig.start(fifo: enabled)
            rig.wait(0.0151)
            #expect(try rig.drainFIFO() == frame + frame + frame, "FIFO_EN \(enabled)")
        }
    }

    @Test("the count is latched by its high byte")
    func latch() throws {
        let rig = Rig(Steady())
        try rig.start(fifo: 0x78)
        rig.wait(0.0051)
        #expect(try rig.read(0x73) == 0)
        #expect(try rig.read(0x72) == 0)
        rig.wait(0.005)
        #expect(try rig.read(0x73) == 12)
        #expect(try rig.read(0x72, count: 2) == [0, 24])
        rig.wait(0.1)
        #expect(try rig.read(0x72, count: 2) == [1, 8])
    }

    @Test("reading removes bytes without incrementing the address; an empty FIFO repeats the last byte")
    func empty() throws {
        let rig = Rig(Steady())
        try rig.start(fifo: 0x08)
        rig.wait(0.0051)
        // -1024 is 0xFC00.
        #expect(try rig.read(0x74, count: 4) == [0x08, 0x00, 0xFC, 0x00])
        #expect(try rig.read(0x74) == 0x0C)
        #expect(try rig.fifoCount() == 1)
        #expect(try rig.read(0x74, count: 3) == [0x00, 0x00, 0x00])
        rig.wait(0.005)
        // A burst from FIFO_COUNT_H continues into the data and stays there.
        #expect(try rig.read(0x72, count: 5) == [0, 6, 0x08, 0x00, 0xFC])
        #expect(try rig.read(0x74, count: 5) == [0x00, 0x0C, 0x00, 0x00, 0x00])
    }

    @Test("overflow: 1024 bytes, the oldest lost, no alignment, and the status bit is set until read")
    func overflow() throws {
        let rig = Rig(Steady())
        try rig.start(fifo: 0x78)
        rig.wait(85 * 0.005 + 0.0001)
        #expect(try rig.fifoCount() == 1020)
        #expect(try rig.read(0x3A) & 0x10 == 0)
        rig.wait(0.005)
        #expect(try rig.fifoCount() == 1024)
        #expect(try rig.read(0x3A) & 0x10 != 0)
        #expect(try rig.read(0x3A) & 0x10 == 0)
        // 86 frames are 1032 bytes: the first four words of the oldest frame are lost.
        let content = try rig.drainFIFO()
        #expect(content.count == 512)
        #expect(Array(content.prefix(5)) == [-820, 410, 2048, -1024, 3072])
        #expect(Array(content.suffix(6)) == Self.force + Self.rate)
    }

    @Test("resets only while disabled; while disabled it is neither written nor read and keeps its content")
    func control() throws {
        let rig = Rig(Steady())
        try rig.start(fifo: 0x78)
        rig.wait(0.0101)
        try rig.write(0x6A, 0x44)
        #expect(try rig.fifoCount() == 24)
        try rig.write(0x6A, 0x00)
        rig.wait(0.05)
        #expect(try rig.fifoCount() == 24)
        #expect(try rig.read(0x74, count: 2) == [0, 0])
        #expect(try rig.fifoCount() == 24)
        try rig.write(0x6A, 0x40)
        #expect(try rig.read(0x74, count: 2) == [0x08, 0x00])
        try rig.write(0x6A, 0x04)
        #expect(try rig.fifoCount() == 0)
        #expect(try rig.read(0x6A) == 0)
    }

    @Test("bytes written to FIFO_R_W can be read back")
    func write() throws {
        let rig = Rig()
        try rig.write(0x6A, 0x40)
        try rig.write(0x74, 0xA5)
        try rig.write(0x74, 0x5A)
        #expect(try rig.fifoCount() == 2)
        #expect(try rig.read(0x74, count: 3) == [0xA5, 0x5A, 0x5A])
    }

    @Test("a frame being written is partly counted")
    func partialFrame() throws {
        var imperfections = Imperfections.ideal
        imperfections.fifoWriteTime = 120e-6
        let rig = Rig(Steady(), imperfections)
        try rig.start(fifo: 0x78)
        rig.wait(0.010055)
        #expect(try rig.fifoCount() == 12 + 5)
        rig.wait(0.0001)
        #expect(try rig.fifoCount() == 24)
        rig.wait(0.04)
        let expected = Self.force + Self.rate
        #expect(try rig.drainFIFO() == Array(repeatElement(expected, count: 10).joined()))
    }
}
