import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: an LSM9DS1 and a LIS3DH are brought up by exactly these transactions, and their frames are decoded as the
/// datasheets say.
@Suite struct LSM9DS1AndLIS3DHBringUpTests {
    private static func bytes(_ values: [Int16]) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    @Test(
        "LSM9DS1: reset, configuration with read-back, gyroscope last, FIFO; bursts of several entries; x is inverted")
    func lsm9ds1() throws {
        let rig = ScriptedChipRig<LSM9DS1Family>()
        rig.script.read(0x0F, 0x68)
        rig.script.write(0x22, 0x05)
        rig.poll()
        #expect(rig.state == .resetting)
        rig.script.read(0x22, 0x04)
        rig.expect([
            (0x22, 0x44), (0x11, 0), (0x12, 0), (0x13, 0), (0x1E, 0x38), (0x1F, 0x38), (0x21, 0), (0x23, 0x02),
            // 238 Hz; ±8 g with 105 Hz; ±2000 °/s.
            (0x20, 0x9E), (0x10, 0x98),
        ])
        rig.script.write(0x2E, 0x00)
        rig.script.write(0x2E, 0xC0)
        rig.script.read(0x2E, 0xC0)
        rig.poll()
        #expect(rig.state == .settling)
        let start = rig.clock.now()
        // Noise changes a bit between frames; the last one of an even number has none.
        func frames(_ count: Int) -> [UInt8] {
            (1...count).flatMap { Self.bytes([-164, 328, -820 + Int16($0 & 1), 1000, -2000, 4096]) }
        }
        rig.script.read(0x15, [0x20, 0x00])
        rig.script.read(0x2F, 5)
        rig.script.read(0x18, frames(5))
        rig.script.read(0x20, 0x9E)
        rig.script.read(0x10, 0x98)
        rig.poll(after: 5.1 / 238, from: start)
        #expect(rig.state == .settling && rig.count == 0)
        // A late host reads the rest in bursts of an eighth of the FIFO. The registers are checked ten times a second.
        rig.script.read(0x22, [0x44, 0x02, 0x00])
        rig.script.read(0x2F, 24)
        for _ in 0..<6 { rig.script.read(0x18, frames(4)) }
        rig.script.read(0x20, 0x9E)
        rig.script.read(0x10, 0x98)
        rig.poll(after: 29.1 / 238, from: start)
        #expect(rig.state == .streaming)
        let sample = try rig.lastSample()
        let force = 9.80665 * 0.244e-3 * Vector3(-1000, -2000, 4096)
        let rate = Double.pi / 180 * 0.07 * Vector3(164, 328, -820)
        #expect((sample.acceleration - force).length < 1e-9)
        #expect((sample.rotationRate - rate).length < 1e-9)
        #expect(sample.temperature == 27)
        #expect(sample.flags.contains(.rotationRate))
        // Until 0.093 s, 70 ms and five samples after its start, the gyroscope has not settled.
        #expect((5...7).contains(rig.count))
        rig.script.write(0x2E, 0x00)
        rig.script.write(0x10, 0x00)
        rig.script.write(0x20, 0x00)
        try rig.driver.stop()
    }

    @Test(
        "LSM9DS1: an overrun is more than the FIFO holds; equal bytes are not a frame; the least value can be inverted")
    func lsm9ds1Frames() throws {
        let part = LSM9DS1Family(settings: IMUSettings())
        func fill(_ source: UInt8) -> Int { [source].withUnsafeBytes(part.fill) }
        #expect(fill(0x00) == 0 && fill(0x85) == 60 && fill(0xA0) == 384 && fill(0xE0) > 384)
        func frame(_ values: [Int16]) -> ChipFrame? {
            Self.bytes(values).withUnsafeBytes { part.frame($0, at: 0) }
        }
        #expect(frame([0, 0, 0, 0, 0, 0]) == nil && frame([-1, -1, -1, -1, -1, -1]) == nil)
        let least = try #require(frame([.min, 1, 2, .min, 3, 4]))
        #expect(least.ax == .max && least.gx == .max && least.ay == 3 && least.gz == 2)
        #expect(LSM9DS1Family(identity: 0x69, settings: IMUSettings()) == nil)
    }

    @Test(
        "LIS3DH: power-down, configuration with read-back, measuring, FIFO; bursts with the auto-increment bit; 12 bits"
    )
    func lis3dh() throws {
        let rig = ScriptedChipRig<LIS3DHFamily>()
        rig.script.read(0x0F, 0x33)
        rig.script.write(0x20, 0x00)
        rig.script.write(0x2E, 0x00)
        // Block data update, ±8 g, high resolution; FIFO; 200 Hz.
        rig.expect([(0x21, 0), (0x22, 0), (0x23, 0xA8), (0x24, 0x40), (0x25, 0), (0x20, 0x67)])
        rig.script.write(0x2E, 0x00)
        rig.script.write(0x2E, 0x80)
        rig.script.read(0x2E, 0x80)
        rig.poll()
        #expect(rig.state == .settling)
        let start = rig.clock.now()
        func frames(_ count: Int) -> [UInt8] {
            (1...count).flatMap { (index: Int) -> [UInt8] in
                let x = 100 + Int16(index & 1)
                return Self.bytes([16 * x, 16 * -200, 16 * 250])
            }
        }
        rig.script.read(0x2F, 4)
        rig.script.read(0xA8, frames(4))
        rig.script.read(0x23, 0xA8)
        rig.poll(after: 0.0205, from: start)
        #expect(rig.state == .settling && rig.count == 0)
        rig.script.read(0x2F, 8)
        rig.script.read(0xA8, frames(8))
        rig.script.read(0x23, 0xA8)
        rig.poll(after: 0.0605, from: start)
        #expect(rig.state == .streaming)
        let sample = try rig.lastSample()
        #expect((sample.acceleration - 9.80665 * 0.004 * Vector3(100, -200, 250)).length < 1e-9)
        #expect(sample.rotationRate == .zero && !sample.flags.contains(.rotationRate))
        #expect(sample.temperature.isNaN)
        #expect(rig.driver.info.gyroscopeRange == 0)
        // Seven samples have not settled.
        #expect((3...4).contains(rig.count))
        // A check reads several registers, which needs the bit as well.
        rig.script.read(0xA0, [0x67, 0x00, 0x00, 0xA8])
        rig.script.read(0x2F, 0x20)
        rig.poll(after: 0.1005, from: start)
        rig.script.write(0x20, 0x00)
        try rig.driver.stop()
    }

    @Test("LIS3DH: 31 entries are all that it counts; a 32nd sets the overrun bit")
    func lis3dhFill() {
        let part = LIS3DHFamily(settings: IMUSettings())
        func fill(_ source: UInt8) -> Int { [source].withUnsafeBytes(part.fill) }
        #expect(fill(0x20) == 0 && fill(0x01) == 6 && fill(0x9F) == 186 && fill(0xDF) > 192)
        #expect(LIS3DHFamily(identity: 0x32, settings: IMUSettings()) == nil)
    }

    @Test("LIS3DH: repetitions count as a frozen chip only if the noise is not far below a count")
    func lis3dhRepetition() {
        func longest(_ rate: Double, _ gravities: Double) -> Int {
            var settings = IMUSettings()
            settings.rate = rate
            settings.accelerometerRange = gravities * 9.80665
            return LIS3DHFamily(settings: settings).longestRepetition
        }
        #expect(longest(1344, 8) == 32 && longest(400, 4) == 32 && longest(100, 2) == 32)
        #expect(longest(400, 8) == .max && longest(1344, 16) == .max && longest(50, 2) == .max)
    }
}
