import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

extension Rig {
    /// Values of two bytes, low byte first.
    fileprivate func values(_ register: UInt8, _ count: Int) throws -> [Int] {
        try littleEndianWords(read(register, count: 2 * count))
    }

    /// Lets this many samples of `rate` Hz pass.
    fileprivate func pass(_ samples: Double, _ rate: Double) { wait(samples / rate) }
}

/// Requirement: the virtual LSM9DS1 and LIS3DH behave according to their datasheets, independently of the drivers.
@Suite struct LSM9DS1Tests {
    /// Steady readings, distinct on every axis.
    private struct Steady: Trajectory {
        var duration: Double { .infinity }
        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            TrueMotion(
                attitude: pose, rotationRate: Double.pi / 180 * Vector3(70, 35, -7),
                specificForce: 9.80665 * Vector3(0.5, -0.24, 1))
        }
    }

    /// An LSM9DS1 with both sensors at 119 Hz, ±2 g and ±2000 °/s.
    private func lsm9ds1() throws -> Rig {
        let bench = Rig(Steady(), part: .lsm9ds1)
        try bench.write((0x22, 0x44), (0x23, 0x02), (0x20, 0x60), (0x10, 0x78))
        bench.pass(20.5, 119)
        return bench
    }

    @Test("LSM9DS1: after power-on both sensors are off; a reset restores that")
    func defaults() throws {
        let bench = Rig(Steady(), part: .lsm9ds1)
        bench.wait(1)
        #expect(bench.chip.sampleCount == 0)
        #expect(try bench.read(0x0F) == 0x68)
        #expect(try bench.read(0x1E, count: 5) == [0x38, 0x38, 0, 0, 0x04])
        // Not an MPU-6050, whose identity is the same in another register.
        #expect(try bench.read(0x75) == 0)
        try bench.write((0x20, 0x60), (0x22, 0x05))
        #expect(try bench.read(0x22) == 0x05)
        bench.wait(0.02)
        #expect(try bench.read(0x22) == 0x04)
        #expect(try bench.read(0x20) == 0)
    }

    @Test(
        "LSM9DS1: CTRL_REG1_G starts both sensors; CTRL_REG6_XL only the accelerometer, at other rates (3.1, table 68)")
    func modes() throws {
        let both = try lsm9ds1()
        // 70 mdps and 61 µg per count; the axes x are inverted (figure 1).
        #expect(try both.values(0x18, 3) == [-1000, 500, -100])
        #expect(try both.values(0x28, 3) == [-8197, -3934, 16393])
        let alone = Rig(Steady(), part: .lsm9ds1)
        try alone.write((0x20, 0x48))
        alone.pass(100.5, 50)
        #expect(try alone.values(0x18, 3) == [0, 0, 0])
        #expect(alone.chip.sampleCount == 100)
        // ±16 g: 732 µg per count.
        #expect(try alone.values(0x28, 3) == [-683, -328, 1366])
    }

    @Test("LSM9DS1: a burst reads entry after entry, from the gyroscope on to the accelerometer and back (3.3)")
    func burst() throws {
        let bench = try lsm9ds1()
        #expect(try bench.read(0x2F) == 0)
        try bench.write((0x2E, 0xC0))
        bench.pass(4, 119)
        #expect(try bench.read(0x2F) == 4)
        let entry = [-1000, 500, -100, -8197, -3934, 16393]
        #expect(try bench.values(0x18, 18) == entry + entry + entry)
        #expect(try bench.read(0x2F) == 1)
        // The accelerometer's output alone goes on with the gyroscope's.
        #expect(try bench.values(0x28, 6) == [-8197, -3934, 16393, -1000, 500, -100])
        try bench.write((0x2E, 0x00))
        #expect(try bench.read(0x2F) == 0)
    }

    @Test("LSM9DS1: 32 entries fill the FIFO, one more sets OVRN (table 87); without FIFO_EN there is none")
    func overrun() throws {
        let bench = try lsm9ds1()
        try bench.write((0x2E, 0xC0))
        bench.pass(32, 119)
        #expect(try bench.read(0x2F) == 0x20)
        bench.wait(1.0 / 119)
        #expect(try bench.read(0x2F) == 0x60)
        _ = try bench.read(0x18, count: 12)
        #expect(try bench.read(0x2F) == 0x1F)
        try bench.write((0x23, 0x00))
        bench.pass(3, 119)
        #expect(try bench.read(0x2F) == 0)
    }

    @Test("LSM9DS1: the temperature is zero at 25 °C, with 16 counts per kelvin")
    func temperature() throws {
        let bench = try lsm9ds1()
        bench.chip.inject(.temperatureJump(by: 10))
        bench.pass(3, 119)
        #expect(try bench.values(0x15, 1) == [160])
    }

    /// A LIS3DH at 100 Hz and ±2 g, in high-resolution mode.
    private func lis3dh() throws -> Rig {
        let bench = Rig(Steady(), part: .lis3dh)
        try bench.write((0x23, 0x88), (0x24, 0x40), (0x20, 0x57))
        bench.pass(20.5, 100)
        return bench
    }

    @Test("LIS3DH: values are left-justified with 12, 10 or 8 bits; without bit 7, a read repeats one register")
    func modesOfLIS3DH() throws {
        let bench = try lis3dh()
        #expect(try bench.read(0x0F) == 0x33)
        #expect(try bench.values(0xA8, 3) == [500 * 16, -240 * 16, 1000 * 16])
        #expect(try bench.read(0x28, count: 3) == [0x40, 0x40, 0x40])
        try bench.write((0x23, 0x80))
        bench.pass(5, 100)
        #expect(try bench.values(0xA8, 3) == [125 * 64, -60 * 64, 250 * 64])
        try bench.write((0x20, 0x5F))
        bench.pass(5, 100)
        #expect(try bench.values(0xA8, 1) == [31 * 256])
        try bench.write((0x20, 0x57), (0x23, 0xB8))
        bench.pass(20, 100)
        // ±16 g: 12 mg.
        #expect(try bench.values(0xA8, 3) == [42 * 16, -20 * 16, 83 * 16])
    }

    @Test("LIS3DH: a burst reads entry after entry; with 32 entries, FSS is 31 and OVRN_FIFO is set")
    func fifoOfLIS3DH() throws {
        let bench = try lis3dh()
        #expect(try bench.read(0x2F) == 0x20)
        try bench.write((0x2E, 0x80))
        bench.pass(3, 100)
        #expect(try bench.read(0x2F) == 3)
        #expect(try bench.values(0xA8, 6) == [8000, -3840, 16000, 8000, -3840, 16000])
        #expect(try bench.read(0x2F) == 1)
        bench.pass(30, 100)
        #expect(try bench.read(0x2F) == 31)
        bench.pass(1, 100)
        #expect(try bench.read(0x2F) == 0x5F)
        try bench.write((0x2E, 0x00))
        #expect(try bench.read(0x2F) == 0x20)
    }
}
