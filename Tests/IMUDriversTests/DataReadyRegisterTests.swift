import Testing

@testable import IMUDrivers

/// Requirement: a chip's data-ready pin is enabled if a line is used, and not touched otherwise.
@Suite struct DataReadyRegisterTests {
    @Test(
        "With a line, these registers differ from those without one, in this order, and no write is omitted",
        arguments: [
            // INT_ENABLE; INT_PIN_CFG stays zero: push-pull, active high, pulsed.
            (.mpu6050, 0x68, [PlannedRegister(0x38, 0x01)]), (.mpu6050, 0x12, [PlannedRegister(0x38, 0x01)]),
            // An LSM6DS3 cannot pulse and has ORIENT_CFG_G at that address, so nothing is written.
            (.lsm6ds, 0x69, []),
            // Pulse mode, and the gyroscope's data-ready on INT1.
            (
                .lsm6ds, 0x6A,
                [PlannedRegister(0x0B, 0x80, in: .dataReady), PlannedRegister(0x0D, 0x02, in: .dataReady)]
            ),
            (
                .lsm6ds, 0x6B,
                [PlannedRegister(0x0B, 0x80, in: .dataReady), PlannedRegister(0x0D, 0x02, in: .dataReady)]
            ),
            (
                .lsm6ds, 0x6C,
                [PlannedRegister(0x0B, 0x80, in: .dataReady), PlannedRegister(0x0D, 0x02, in: .dataReady)]
            ),
            // INT_OUT_CTRL, INT_LATCH, INT_MAP_1, INT_EN_1, INT_EN_2.
            (
                .bmi160, 0xD1,
                [
                    PlannedRegister(0x53, 0x0A, in: .dataReady), PlannedRegister(0x54, 0x00, in: .dataReady),
                    PlannedRegister(0x56, 0x80, in: .dataReady), PlannedRegister(0x51, 0x10, in: .dataReady),
                    PlannedRegister(0x52, 0x00, in: .observed),
                ]
            ),
            // INT_CONFIG, INT_CONFIG1 without INT_ASYNC_RESET, INT_SOURCE0.
            (
                .icm42688, 0x47,
                [
                    PlannedRegister(0x14, 0x03, in: .dataReady), PlannedRegister(0x64, 0x00, in: .dataReady),
                    PlannedRegister(0x65, 0x08, in: .dataReady),
                ]
            ),
            // INT_PIN_CFG as after a reset, push-pull, active high and pulsed; INT_ENABLE_1.
            (
                .icm20948, 0xEA,
                [PlannedRegister(0x0F, 0x00, in: .dataReady), PlannedRegister(0x11, 0x01, in: .dataReady)]
            ),
            // INT_ENABLE, INT_MAP.
            (.adxl345, 0xE5, [PlannedRegister(0x2E, 0x80), PlannedRegister(0x2F, 0x00, in: .dataReady)]),
        ] as [(IMUFamily, UInt8, [PlannedRegister])])
    func difference(family: IMUFamily, identity: UInt8, expected: [PlannedRegister]) throws {
        let plain = try #require(family.part(identity))
        let wired = try #require(family.part(identity, isWired: true))
        let before = plain.plannedRegisters
        let changed = wired.plannedRegisters.filter { !before.contains($0) }
        #expect(changed == expected)
        for row in before { #expect(wired.planned(row.register)?.stage == row.stage) }
        #expect(wired.plannedBringUp == plain.plannedBringUp)
        let hasStage = changed.contains { $0.stage == .dataReady }
        #expect(!hasStage || wired.plannedBringUp.contains(.configure(.dataReady)))
    }

    @Test(
        "When the pin pulses: an ADXL345's once per batch",
        arguments: [(.mpu6050, 0x68, .everySample), (.lsm6ds, 0x69, .never), (.adxl345, 0xE5, .whenFilled)]
            as [(IMUFamily, UInt8, DataReadyPulse)])
    func pulse(family: IMUFamily, identity: UInt8, pulse: DataReadyPulse) {
        #expect(family.part(identity)?.dataReadyPulse == pulse)
        if family == .mpu6050 { #expect(family.part(identity)?.planned(0x37)?.value == 0) }
    }
}
