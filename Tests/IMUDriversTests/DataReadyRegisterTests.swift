import Testing

@testable import IMUDrivers

/// Requirement: a chip's data-ready pin is enabled if a line is used, and not touched otherwise.
@Suite struct DataReadyRegisterTests {
    /// The registers whose writes differ with and without a line, in write order, and all registers whose checks
    /// differ.
    private func difference<Part: ChipPart>(
        _ part: Part.Type, identity: UInt8
    ) throws -> (steps: [PlannedRegister], registers: [UInt8]) {
        var settings = IMUSettings()
        let plain = try #require(Part(identity: identity, settings: settings))
        settings.signalsDataReady = true
        let wired = try #require(Part(identity: identity, settings: settings))
        let before = plain.plannedRegisters
        let changed = wired.plannedRegisters.filter { !before.contains($0) }
        // No write is omitted when a line is used.
        for row in before { #expect(wired.planned(row.register)?.stage == row.stage) }
        #expect(wired.plannedBringUp == plain.plannedBringUp)
        let configured = changed.filter { $0.stage == .configuration }
        let signals = changed.filter { $0.stage == .dataReady }
        #expect(signals.isEmpty || wired.plannedBringUp.contains(.configure(.dataReady)))
        return (configured + signals, changed.map(\.register))
    }

    @Test(
        "MPU family: INT_ENABLE; INT_PIN_CFG stays zero: push-pull, active high, pulsed",
        arguments: [0x68, 0x12] as [UInt8])
    func mpu(identity: UInt8) throws {
        let found = try difference(MPUFamily.self, identity: identity)
        #expect(found.steps == [PlannedRegister(0x38, 0x01)])
        #expect(found.registers == [0x38])
        #expect(MPUFamily(settings: IMUSettings()).planned(0x37)?.value == 0)
    }

    @Test(
        "LSM6DS family: pulse mode, and the gyroscope's data-ready on INT1", arguments: [0x6A, 0x6B, 0x6C] as [UInt8])
    func lsm6ds(identity: UInt8) throws {
        let found = try difference(LSM6DSFamily.self, identity: identity)
        #expect(
            found.steps == [PlannedRegister(0x0B, 0x80, in: .dataReady), PlannedRegister(0x0D, 0x02, in: .dataReady)])
        #expect(Set(found.registers) == [0x0B, 0x0D])
    }

    @Test("LSM6DS3: it cannot pulse and has ORIENT_CFG_G at that address, so nothing is written")
    func lsm6ds3() throws {
        let found = try difference(LSM6DSFamily.self, identity: 0x69)
        #expect(found.steps.isEmpty && found.registers.isEmpty)
        let part = try #require(LSM6DSFamily(identity: 0x69, settings: IMUSettings()))
        #expect(part.dataReadyPulse == .never)
    }

    @Test("BMI160: INT_OUT_CTRL, INT_LATCH, INT_MAP_1, INT_EN_1")
    func bmi160() throws {
        let found = try difference(BMI160Family.self, identity: 0xD1)
        #expect(
            found.steps == [
                PlannedRegister(0x53, 0x0A, in: .dataReady), PlannedRegister(0x54, 0x00, in: .dataReady),
                PlannedRegister(0x56, 0x80, in: .dataReady), PlannedRegister(0x51, 0x10, in: .dataReady),
            ])
        #expect(Set(found.registers).isSuperset(of: [0x51, 0x53, 0x54, 0x56]))
    }

    @Test("ICM-42688-P: INT_CONFIG, INT_CONFIG1 without INT_ASYNC_RESET, INT_SOURCE0")
    func icm42688() throws {
        let found = try difference(ICM42688Family.self, identity: 0x47)
        #expect(
            found.steps == [
                PlannedRegister(0x14, 0x03, in: .dataReady), PlannedRegister(0x64, 0x00, in: .dataReady),
                PlannedRegister(0x65, 0x08, in: .dataReady),
            ])
        #expect(Set(found.registers) == [0x14, 0x64, 0x65])
    }

    @Test("ICM-20948: INT_PIN_CFG as after a reset, push-pull, active high and pulsed; INT_ENABLE_1")
    func icm20948() throws {
        let found = try difference(ICM20948Family.self, identity: 0xEA)
        #expect(
            found.steps == [PlannedRegister(0x0F, 0x00, in: .dataReady), PlannedRegister(0x11, 0x01, in: .dataReady)])
        #expect(Set(found.registers) == [0x0F, 0x11])
    }

    @Test("ADXL345: INT_ENABLE, INT_MAP; its pin pulses once per batch")
    func adxl345() throws {
        let found = try difference(ADXL345Family.self, identity: 0xE5)
        #expect(found.steps == [PlannedRegister(0x2E, 0x80), PlannedRegister(0x2F, 0x00, in: .dataReady)])
        #expect(Set(found.registers) == [0x2E, 0x2F])
        #expect(ADXL345Family(settings: IMUSettings()).dataReadyPulse == .whenFilled)
    }
}
