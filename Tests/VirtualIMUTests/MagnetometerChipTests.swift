import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the virtual magnetometers behave as the datasheets say.
@Suite struct MagnetometerChipTests {
    /// A magnetometer on a board that is turned by 90° to the left, about z: x points west.
    private struct Bench {
        let clock = ManualClock()
        let chip: VirtualMagnetometer
        var bus: VirtualBus<ManualClock>

        struct Turned: Trajectory {
            var duration: Double { 0 }
            func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
                TrueMotion(restingAt: Quaternion(roll: 0, pitch: 0, yaw: .pi / 2))
            }
        }

        init(
            _ part: VirtualMagnetometerPart, field: Vector3 = Vector3(20, 0, -44),
            imperfections: MagnetometerImperfections = .ideal
        ) {
            var surroundings = MagneticSurroundings()
            surroundings.field = field
            chip = VirtualMagnetometer(
                part, trajectory: Turned(), surroundings: surroundings, imperfections: imperfections,
                start: clock.now())
            bus = VirtualBus(chip, clock: clock)
        }

        mutating func read(_ register: UInt8, count: Int = 1) throws -> [UInt8] { try bus.read(register, count: count) }
        mutating func write(_ register: UInt8, _ value: UInt8) throws { try bus.write(register, value) }
        func wait(_ seconds: Double) { clock.advance(bySeconds: seconds) }
    }

    @Test("AK8963: identity, factory values only in their mode, 100 Hz; own axes, 0.15 µT per count at code 128")
    func ak8963() throws {
        var imperfections = MagnetometerImperfections.ideal
        imperfections.sensitivityCodes = (128, 128, 192)
        var bench = Bench(.ak8963, imperfections: imperfections)
        #expect(try bench.read(0x00, count: 13) == [0x48, 0x9A] + [UInt8](repeating: 0, count: 11))
        #expect(try bench.read(0x10, count: 3) == [0, 0, 0])
        bench.wait(0.001)
        try bench.write(0x0A, 0x0F)
        #expect(try bench.read(0x10, count: 4) == [128, 128, 192, 128])
        // From one mode to the next only through power-down, and not at once.
        try bench.write(0x0A, 0x16)
        #expect(try bench.read(0x0A) == [0x0F])
        try bench.write(0x0A, 0x00)
        try bench.write(0x0A, 0x16)
        #expect(try bench.read(0x0A) == [0x00])
        bench.wait(0.000_2)
        try bench.write(0x0A, 0x16)
        bench.wait(0.0099)
        #expect(try bench.read(0x02) == [0x00])
        bench.wait(0.000_2)
        #expect(try bench.read(0x02) == [0x01])
        // The board's x points west and y south: the field is (0, -20, -44) µT there, so x is -20, y is 0 and z is 44 µT.
        let reading = try bench.read(0x02, count: 8)
        #expect(littleEndianWords(Array(reading[1..<7])) == [-133, 0, 235])
        #expect(reading[0] == 0x01 && reading[7] == 0x10)
        #expect(try bench.read(0x02) == [0x00])
        // Two measurements later one was skipped.
        bench.wait(0.02)
        #expect(try bench.read(0x02) == [0x03])
        #expect(bench.chip.measurementTime.map { bench.clock.now().seconds(since: $0) < 0.0138 } == true)
    }

    @Test("AK8963: without 16 bits a count is four times as large")
    func fewerBits() throws {
        var bench = Bench(.ak8963)
        bench.wait(0.001)
        try bench.write(0x0A, 0x06)
        bench.wait(0.011)
        let reading = try bench.read(0x02, count: 8)
        #expect(littleEndianWords(Array(reading[1..<7])) == [-33, 0, 73] && reading[7] == 0x00)
    }

    @Test(
        "A measurement that is being read is not replaced before ST2 was read",
        arguments: [VirtualMagnetometerPart.ak8963, .ak09916])
    func protection(part: VirtualMagnetometerPart) throws {
        var bench = Bench(part)
        bench.wait(0.001)
        let (mode, value, status, end): (UInt8, UInt8, UInt8, UInt8) =
            part == .ak8963 ? (0x0A, 0x16, 0x02, 0x09) : (0x31, 0x08, 0x10, 0x18)
        try bench.write(mode, value)
        bench.wait(0.015)
        _ = try bench.read(status + 1, count: 3)
        let time = bench.chip.measurementTime
        bench.wait(0.1)
        #expect(try bench.read(status) == [0x00] && bench.chip.measurementTime == time)
        _ = try bench.read(end)
        bench.wait(0.011)
        #expect(try bench.read(status) == [0x01])
    }

    @Test("Too strong a field sets HOFL", arguments: [VirtualMagnetometerPart.ak8963, .ak09916])
    func overflow(part: VirtualMagnetometerPart) throws {
        var bench = Bench(part, field: Vector3(2000, 1500, 1500))
        bench.wait(0.001)
        try bench.write(part == .ak8963 ? 0x0A : 0x31, part == .ak8963 ? 0x16 : 0x08)
        bench.wait(0.015)
        let end = try bench.read(part == .ak8963 ? 0x09 : 0x18)
        #expect(end[0] & 0x08 != 0)
    }

    @Test(
        "AK09916: identity, rates by mode, own axes; a reset restores the defaults, and its bit clears itself",
        arguments: [(0x02, 0.1), (0x04, 0.05), (0x06, 0.02), (0x08, 0.01)] as [(UInt8, Double)])
    func ak09916(mode: UInt8, period: Double) throws {
        var bench = Bench(.ak09916)
        #expect(try bench.read(0x00, count: 2) == [0x48, 0x09])
        try bench.write(0x31, mode)
        bench.wait(period * 0.99)
        #expect(try bench.read(0x10) == [0x00])
        bench.wait(period * 0.02)
        let reading = try bench.read(0x10, count: 10)
        // Behind ST2 comes WIA1.
        #expect(reading[0] == 0x01 && reading[8] == 0x00 && reading[9] == 0x48)
        #expect(littleEndianWords(Array(reading[1..<7])) == [0, 133, 293])
        try bench.write(0x32, 0x01)
        #expect(try bench.read(0x32) == [0x01])
        bench.wait(0.002)
        #expect(try bench.read(0x30, count: 4) == [0, 0, 0, 0])
        bench.wait(1)
        #expect(try bench.read(0x10, count: 7) == [UInt8](repeating: 0, count: 7))
    }

    @Test("AK chips answer only while the motion chip connects the buses", arguments: [VirtualPart.mpu9250, .icm20948])
    func bypass(host: VirtualPart) throws {
        var bench = Bench(host == .mpu9250 ? .ak8963 : .ak09916)
        let motion = VirtualIMUChip(host, trajectory: Bench.Turned(), start: bench.clock.now())
        bench.chip.connect(behind: motion)
        let (pin, control): (UInt8, UInt8) = host == .mpu9250 ? (0x37, 0x6A) : (0x0F, 0x03)
        let silence = BusError(.notAcknowledged, code: 121)
        #expect(throws: silence) { _ = try bench.read(0x00) }
        try motion.write(0x02, to: pin, at: bench.clock.now())
        #expect(try bench.read(0x00) == [0x48])
        // Not while the chip itself is the bus's master.
        try motion.write(0x20, to: control, at: bench.clock.now())
        #expect(throws: silence) { _ = try bench.read(0x00) }
        try motion.write(0x00, to: control, at: bench.clock.now())
        #expect(try bench.read(0x00) == [0x48])
        bench.wait(1)
        motion.inject(.brownOut, at: bench.clock.now())
        #expect(throws: silence) { _ = try bench.read(0x00) }
    }

    @Test("LSM9DS1: defaults; only with bit 7 of its number a burst advances; the board's axes")
    func lsm9ds1() throws {
        var bench = Bench(.lsm9ds1)
        #expect(try bench.read(0x0F, count: 2) == [0x3D, 0x3D])
        #expect(try bench.read(0xA0, count: 5) == [0x10, 0x00, 0x03, 0x00, 0x00])
        try bench.write(0x20, 0xFC)
        try bench.write(0x22, 0x00)
        bench.wait(0.0124)
        #expect(try bench.read(0x27) == [0x00])
        bench.wait(0.000_2)
        let reading = try bench.read(0xA7, count: 8)
        #expect(reading[0] == 0x0F && reading[7] == reading[1])
        #expect(littleEndianWords(Array(reading[1..<7])) == [0, -1429, -3143])
        #expect(try bench.read(0x27) == [0x00])
        bench.wait(0.03)
        #expect(try bench.read(0x27) == [0xFF])
        // ±16 gauss, and an offset of 100 counts on y.
        try bench.write(0x21, 0x60)
        try bench.write(0x07, 100)
        bench.wait(0.03)
        #expect(try littleEndianWords(bench.read(0xA8, count: 6)) == [0, -445, -759])
        try bench.write(0x21, 0x04)
        #expect(try bench.read(0x21) == [0x04])
        bench.wait(0.006)
        #expect(try bench.read(0xA0, count: 5) == [0x10, 0x00, 0x03, 0x00, 0x00])
        #expect(try bench.read(0x07) == [0])
    }

    @Test(
        "LSM9DS1: rates of CTRL_REG1_M",
        arguments: [(0x00, 0.625), (0x14, 20), (0x18, 40), (0x1C, 80), (0x62, 155)] as [(UInt8, Double)])
    func rates(control: UInt8, rate: Double) throws {
        var bench = Bench(.lsm9ds1)
        try bench.write(0x20, control)
        try bench.write(0x22, 0x00)
        bench.wait(0.98 / rate)
        #expect(try bench.read(0x27) == [0x00])
        bench.wait(0.04 / rate)
        #expect(try bench.read(0x27) == [0x0F])
    }

    @Test("Noise has the given standard deviation, depends on the seed and not on the accesses")
    func noise() throws {
        var imperfections = MagnetometerImperfections.ideal
        imperfections.noise = 0.5
        imperfections.oscillatorError = 10_000
        var bench = Bench(.lsm9ds1, imperfections: imperfections)
        var other = Bench(.lsm9ds1, imperfections: imperfections)
        try bench.write(0x20, 0xFC)
        try bench.write(0x22, 0x00)
        try other.write(0x20, 0xFC)
        try other.write(0x22, 0x00)
        var squares = 0.0
        var last: [Int] = []
        for _ in 0..<2000 {
            bench.wait(0.0125 * 1.01)
            last = try littleEndianWords(bench.read(0xA8, count: 6))
            squares += (Double(last[0]) * 0.014) * (Double(last[0]) * 0.014)
        }
        #expect(abs((squares / 2000).squareRoot() - 0.5) < 0.03)
        other.wait(2000 * 0.0125 * 1.01)
        #expect(try littleEndianWords(other.read(0xA8, count: 6)) == last)
    }

    @Test("Magnets and iron of the board act along its axes")
    func iron() {
        var surroundings = MagneticSurroundings()
        surroundings.hardIron = Vector3(5, -6, 7)
        surroundings.softIron = Matrix3(Vector3(2, 0, 0), Vector3(0, 1, 0), Vector3(0, 0.5, 1))
        let attitude = Quaternion(roll: 0, pitch: 0, yaw: .pi / 2)
        // (0, -20, -44) along the board's axes.
        let expected = Vector3(5, -26, -47)
        #expect((surroundings.field(at: attitude) - expected).length < 1e-9)
    }
}
