import FakeI2CAdapter
import Testing

/// Requirement: the fake chip behaves as in the MPU-6050's manuals, so that tests based on it are valid.
///
/// The clock is manual.
@Suite struct FakeChipTests {
    @Test func sleepsAfterPowerOn() throws {
        let chip = try Chip()
        chip.pass(milliseconds: 100)
        #expect(chip.read(0x6B) == [0x40])
        #expect(chip.read(0x75) == [0x68])
        #expect(chip.read(0x3B, 14) == [UInt8](repeating: 0, count: 14))
        #expect(chip.fifoCount == 0)
    }

    @Test(arguments: [
        // CONFIG, SMPLRT_DIV, samples in 100 ms
        (0x01, 4, 20), (0x06, 9, 10), (0x03, 0, 100), (0x00, 79, 10), (0x07, 39, 20),
    ])
    func setsTheRateByDividerAndLowPass(lowPass: UInt8, divider: UInt8, samples: Int) throws {
        let chip = try Chip()
        chip.stream(frame: 0x08, lowPass: lowPass, divider: divider)
        chip.pass(milliseconds: 100)
        // Six bytes of accelerometer data each.
        #expect(chip.fifoCount == samples * 6)
    }

    @Test func makesMoreSamplesWithAFastOscillator() throws {
        let chip = try Chip(clockErrorPPM: 50_000)
        chip.stream(frame: 0x08, lowPass: 1, divider: 9)
        chip.pass(milliseconds: 1000)
        #expect(chip.fifoCount == 105 * 6)
    }

    @Test func ordersFramesByRegisterNumber() throws {
        let chip = try Chip()
        chip.write(0x1B, 0x18)
        chip.write(0x1C, 0x10)
        chip.stream(frame: 0xF8, lowPass: 1, divider: 99)
        chip.pass(milliseconds: 100)
        #expect(chip.fifoCount == 14)
        let registers = chip.read(0x3B, 14)
        #expect(chip.read(0x74, 14) == registers)
        let words = values(in: registers)
        // ±8 g: 4096 LSB/g; ±2000 °/s: 16.4 LSB/(°/s); offsets and noise as in the fake's header.
        #expect((66...106).contains(words[0]) && (-160 ... -120).contains(words[1]) && (4269...4308).contains(words[2]))
        #expect(words[3] == -4090)
        #expect((20...23).contains(words[4]) && (-36 ... -33).contains(words[5]) && (10...13).contains(words[6]))
    }

    /// RM sections 4.1, 4.4, 4.5; the responses of codes 15, 17, 13 and 16, 18, 14.
    @Test func addsTheFactoryResponseDuringSelfTest() throws {
        let chip = try Chip(selfTestError: 10)
        #expect(chip.read(0x0D, 4) == [0x8F, 0x91, 0x6D, 0x0A])
        chip.write(0x1A, 2)
        chip.write(0x6B, 0x01)
        func words(gyroscope: UInt8, accelerometer: UInt8) -> [Int] {
            chip.write(0x1B, gyroscope)
            chip.write(0x1C, accelerometer)
            chip.pass(milliseconds: 50)
            return values(in: chip.read(0x3B, 14)).map { Int($0) }
        }
        let without = words(gyroscope: 0x00, accelerometer: 0x10)
        let with = words(gyroscope: 0x40, accelerometer: 0xB0)
        // x and z of the accelerometer, y of the gyroscope; 4096 LSB/g, 131 LSB/(°/s), and noise of 16 and 11 LSB.
        for (index, response) in [0.559285 * 4506, 0, 0.523375 * 4506, 0, 0, -51.3389 * 144.1, 0].enumerated() {
            #expect(abs(Double(with[index] - without[index]) - response) < 40, "word \(index)")
        }
    }

    @Test func latchesTheCountWithItsHighByte() throws {
        let chip = try Chip()
        chip.stream(frame: 0x78, lowPass: 1, divider: 9)
        chip.pass(milliseconds: 10)
        #expect(chip.read(0x72) == [0])
        chip.pass(milliseconds: 10)
        #expect(chip.read(0x73) == [12])
        #expect(chip.fifoCount == 24)
    }

    @Test func losesTheOldestDataAndTheFramingOnOverflow() throws {
        let chip = try Chip()
        chip.stream(frame: 0x78, lowPass: 1, divider: 0)
        chip.pass(milliseconds: 85)
        #expect(chip.fifoCount == 1020)
        #expect(chip.read(0x3A) == [0])
        let first = chip.read(0x3B, 6)
        chip.pass(milliseconds: 1)
        #expect(chip.fifoCount == 1024)
        #expect(chip.read(0x3A) == [0x10])
        #expect(chip.read(0x3A) == [0])
        // Eight bytes of the first frame are gone: its last four come first, and the frame read above ends 12 before
        // the end.
        let content = chip.read(0x74, 1024)
        #expect(Array(content[(1024 - 24)..<(1024 - 18)]) == first)
        #expect(chip.fifoCount == 0)
        #expect(chip.read(0x74, 2) == [content[1023], content[1023]], "empty, it repeats the last byte")
    }

    @Test func fillsTheFIFODuringALongAbsence() throws {
        let chip = try Chip()
        chip.stream(frame: 0x78, lowPass: 0, divider: 0)
        chip.pass(milliseconds: 3_600_000)
        #expect(chip.fifoCount == 1024)
        #expect(chip.read(0x3A) == [0x10])
    }

    @Test func resetsTheFIFOOnlyWhileItIsOff() throws {
        let chip = try Chip()
        chip.stream(frame: 0x78, lowPass: 1, divider: 9)
        chip.pass(milliseconds: 50)
        chip.write(0x6A, 0x44)
        #expect(chip.fifoCount == 60)
        chip.write(0x6A, 0x04)
        #expect(chip.fifoCount == 0)
        #expect(chip.read(0x6A) == [0], "the bit clears itself")
    }

    @Test func reportsDataReadyOnlyIfEnabled() throws {
        let chip = try Chip()
        chip.stream(frame: 0x00, lowPass: 1, divider: 9)
        chip.pass(milliseconds: 20)
        #expect(chip.read(0x3A) == [0])
        chip.write(0x38, 0x01)
        chip.pass(milliseconds: 20)
        #expect(chip.read(0x3A) == [1])
        #expect(chip.read(0x3A) == [0])
    }

    @Test func resetTakesTimeAndClearsAllRegisters() throws {
        let chip = try Chip()
        chip.stream(frame: 0x78, lowPass: 1, divider: 9)
        chip.pass(milliseconds: 50)
        chip.write(0x6B, 0x80)
        chip.write(0x19, 0x07)
        #expect(chip.read(0x6B) == [0x80])
        chip.pass(milliseconds: 6)
        #expect(chip.read(0x6B) == [0x40])
        #expect(chip.read(0x19, 3) == [0, 0, 0])
        #expect(chip.read(0x23) == [0])
        #expect(chip.fifoCount == 0)
    }

    @Test func measuresAShakeOnlyWhileItLasts() throws {
        let chip = try Chip(shake: mpu6050_shake(from_s: 1, until_s: 2, every_s: 10, m_s2: 20, hz: 4))
        chip.write(0x1C, 0x10)
        chip.stream(frame: 0x08, lowPass: 1, divider: 9)
        func swing(milliseconds: Int64) -> ClosedRange<Double> {
            chip.pass(milliseconds: milliseconds)
            let content = chip.read(0x74, chip.fifoCount)
            let x = values(in: content, every: 6).map { Double($0) / 4096 * 9.80665 }
            return (x.min() ?? 0)...(x.max() ?? 0)
        }
        let before = swing(milliseconds: 900)
        #expect(before.lowerBound > 0.1 && before.upperBound < 0.3)
        let during = swing(milliseconds: 1000)
        #expect(during.lowerBound < -19 && during.upperBound > 19)
        let after = swing(milliseconds: 200)
        #expect(after.upperBound < 13)
        _ = swing(milliseconds: 1500)
        let quiet = swing(milliseconds: 1500)
        #expect(quiet.lowerBound > 0.1 && quiet.upperBound < 0.3)
        for _ in 0..<4 { _ = swing(milliseconds: 1500) }
        let again = swing(milliseconds: 500)
        #expect(again.lowerBound < -19 && again.upperBound > 19)
    }
}

/// The values of two bytes, the high one first, that begin every `step` bytes.
private func values(in bytes: [UInt8], every step: Int = 2) -> [Int16] {
    stride(from: 0, to: bytes.count, by: step).map { (first: Int) -> Int16 in
        let (high, low) = (Int16(bytes[first]), Int16(bytes[first + 1]))
        return high << 8 | low
    }
}

/// The chip model without a bus.
private final class Chip {
    private let chip: OpaquePointer
    private var now: Int64 = 7_000_000_000

    init(clockErrorPPM: Double = 0, shake: mpu6050_shake = mpu6050_shake(), selfTestError: Double? = nil) throws {
        chip = try #require(mpu6050_new(0x68, clockErrorPPM, shake, now))
        if let selfTestError { mpu6050_set_factory_trim(chip, selfTestError) }
    }

    deinit { mpu6050_free(chip) }

    func pass(milliseconds: Int64) {
        now += milliseconds * 1_000_000
        mpu6050_advance(chip, now)
    }

    func read(_ register: UInt8, _ count: Int = 1) -> [UInt8] {
        mpu6050_point(chip, register)
        return (0..<count).map { _ in mpu6050_read(chip) }
    }

    func write(_ register: UInt8, _ value: UInt8) {
        mpu6050_point(chip, register)
        mpu6050_write(chip, value)
    }

    var fifoCount: Int {
        let count = read(0x72, 2)
        return Int(count[0]) << 8 | Int(count[1])
    }

    /// Wakes the chip and enables its FIFO. The first sample comes after one period.
    func stream(frame: UInt8, lowPass: UInt8, divider: UInt8) {
        write(0x1A, lowPass)
        write(0x19, divider)
        write(0x6B, 0x01)
        // Start-up takes 30 ms; the sample at its end is not stored yet.
        pass(milliseconds: 30)
        write(0x23, frame)
        write(0x6A, 0x40)
    }
}
