import Testing

@testable import IMUDrivers

/// Requirement: a chip's data-ready pin is switched on where a line is used, and left alone where none is.
@Suite struct DataReadyRegisterTests {
    /// The settings of the bring-up that come with a line, and the registers that are looked after with one.
    private func difference<Part: ChipPart>(
        _ part: Part.Type, identity: UInt8
    ) throws -> (steps: [ChipStep], registers: [UInt8]) {
        var settings = IMUSettings()
        let plain = try #require(Part(identity: identity, settings: settings))
        settings.signalsDataReady = true
        let wired = try #require(Part(identity: identity, settings: settings))
        let before = (0..<32).compactMap { plain.bringUp($0) }
        let steps = (0..<32).compactMap { wired.bringUp($0) }.filter { !before.contains($0) }
        #expect(steps.count == (0..<32).compactMap { wired.bringUp($0) }.count - before.count + replaced(before, steps))
        let looked = Set(registers(of: plain))
        let changed = registers(of: wired).filter { !looked.contains($0) || plain.expected($0) != wired.expected($0) }
        return (steps, changed)
    }

    /// Settings of before that others have taken the place of.
    private func replaced(_ before: [ChipStep], _ steps: [ChipStep]) -> Int {
        before.filter { step in
            guard case .set(let register, _, _) = step else { return false }
            return steps.contains { if case .set(register, _, _) = $0 { true } else { false } }
        }.count
    }

    private func registers<Part: ChipPart>(of part: Part) -> [UInt8] {
        var registers: [UInt8] = []
        var number = 0
        while let group = part.healthGroup(number) {
            registers += (0..<group.count).map { group.first + UInt8($0) }
            number += 1
        }
        return registers
    }

    @Test(
        "MPU family: INT_ENABLE; INT_PIN_CFG is zero as ever: push-pull, active high, pulsed",
        arguments: [0x68, 0x12] as [UInt8])
    func mpu(identity: UInt8) throws {
        let found = try difference(MPUFamily.self, identity: identity)
        #expect(found.steps == [.set(0x38, 0x01)])
        #expect(found.registers == [0x38])
        #expect(MPUFamily(settings: IMUSettings()).expected(0x37) == 0)
    }

    @Test("LSM6DS family: pulses, and the gyroscope's data-ready on INT1", arguments: [0x6A, 0x6C] as [UInt8])
    func lsm6ds(identity: UInt8) throws {
        let found = try difference(LSM6DSFamily.self, identity: identity)
        #expect(found.steps == [.set(0x0B, 0x80), .set(0x0D, 0x02)])
        #expect(Set(found.registers) == [0x0B, 0x0D])
    }

    @Test("LSM6DS3: it has no pulse, and where the others have theirs is ORIENT_CFG_G: nothing is touched")
    func lsm6ds3() throws {
        let found = try difference(LSM6DSFamily.self, identity: 0x69)
        #expect(found.steps.isEmpty && found.registers.isEmpty)
        let part = try #require(LSM6DSFamily(identity: 0x69, settings: IMUSettings()))
        #expect(part.dataReadyPulse == .never)
    }

    @Test("BMI160: INT_OUT_CTRL, INT_LATCH, INT_MAP_1, INT_EN_1")
    func bmi160() throws {
        let found = try difference(BMI160Family.self, identity: 0xD1)
        #expect(found.steps == [.set(0x53, 0x0A), .set(0x54, 0x00), .set(0x56, 0x80), .set(0x51, 0x10)])
        #expect(Set(found.registers).isSuperset(of: [0x51, 0x53, 0x54, 0x56]))
    }

    @Test("ICM-42688-P: INT_CONFIG, INT_CONFIG1 without INT_ASYNC_RESET, INT_SOURCE0")
    func icm42688() throws {
        let found = try difference(ICM42688Family.self, identity: 0x47)
        #expect(found.steps == [.set(0x14, 0x03), .set(0x64, 0x00), .set(0x65, 0x08)])
        #expect(Set(found.registers) == [0x14, 0x64, 0x65])
    }

    @Test("ADXL345: INT_ENABLE, INT_MAP; its pin pulses once a batch")
    func adxl345() throws {
        let found = try difference(ADXL345Family.self, identity: 0xE5)
        #expect(found.steps == [.set(0x2E, 0x80), .set(0x2F, 0x00)])
        #expect(Set(found.registers) == [0x2E, 0x2F])
        #expect(ADXL345Family(settings: IMUSettings()).dataReadyPulse == .whenFilled)
    }
}
