import MotionCore
import MotionTestSupport
import Testing

@testable import IMUDrivers

/// Requirement: each member of the family is recognised by its identity and configured accordingly.
@Suite struct MPUVariantTests {
    private func member(_ identity: UInt8, rate: Double = 200) -> MPUFamily? {
        var settings = IMUSettings()
        settings.rate = rate
        return MPUFamily(identity: identity, settings: settings)
    }

    @Test(
        "Name, FIFO size, FIFO_EN and temperature scale of each identity",
        arguments: [
            (0x68, "MPU-6050", 1024, 0xF8, -3920, 25), (0x70, "MPU-6500", 512, 0xF8, 1335, 25),
            (0x71, "MPU-9250", 512, 0xF8, 1335, 25), (0x73, "MPU-9255", 512, 0xF8, 1335, 25),
            (0x74, "MPU-6515", 512, 0xF8, 1335, 25), (0x72, "MPU-6050 copy (0x72)", 512, 0xF8, 1335, 25),
            (0x19, "MPU-6886", 1008, 0x18, 0, 25), (0x11, "ICM-20600", 1008, 0x18, 3268, 35),
            (0x12, "ICM-20602", 1008, 0x18, 3268, 35), (0xAF, "ICM-20608", 512, 0xF8, 3268, 35),
            (0xAE, "ICM-20608D", 512, 0xF8, 3268, 35), (0x98, "ICM-20689", 512, 0xF8, 3268, 35),
        ] as [(UInt8, String, Int, UInt8, Int16, Double)])
    func table(
        identity: UInt8, name: String, fifoSize: Int, fifoEnable: UInt8, counts: Int16, celsius: Double
    ) throws {
        let part = try #require(member(identity))
        #expect("\(part.name)" == name)
        #expect(part.fifo.size == fifoSize && fifoSize <= MPUFamily.largestFIFO)
        #expect(part.fifo.frameLength == 14)
        #expect(part.planned(0x23)?.value == fifoEnable)
        #expect(abs(part.celsius(counts) - celsius) < 0.01)
    }

    @Test("Other identities do not belong to the family", arguments: [0x00, 0xFF, 0x47, 0x20, 0x78, 0xA6] as [UInt8])
    func foreignIdentities(identity: UInt8) {
        #expect(member(identity) == nil)
    }

    @Test("In every row of every table the delays of accelerometer and gyroscope differ by at most 1.1 ms")
    func rows() {
        for table in [MPULowPassTable.mpu6050, .mpu9250, .icm206xx] {
            for setting: UInt8 in 1...6 {
                let row = table.row(setting)
                #expect(row.setting == setting)
                #expect(abs(row.delay - row.accelerometerDelay) < (table == .mpu6050 ? 0.001 : 0.0011))
                if table == .mpu6050 { #expect(abs(row.bandwidth - row.accelerometerBandwidth) <= 4) }
            }
        }
    }

    @Test(
        "At 200 Hz, ±8 g and ±2000 °/s, the registers written during configuration and at the start of the FIFO",
        arguments: [
            // The MPU-6050's registers, plus the accelerometer's low-pass.
            (0x70, 0xFF, 0xF8, true),
            // FIFO_EN has one bit per sensor, and bit 7 of CONFIG is ignored.
            (0x12, 0x7F, 0x18, true),
            // The FIFO is set to 512 bytes; a clone without that register is accepted.
            (0x98, 0x7F, 0xF8, false),
        ] as [(UInt8, UInt8, UInt8, Bool)])
    func configuration(identity: UInt8, mask: UInt8, fifoEnable: UInt8, keepsFilter: Bool) throws {
        let part = try #require(member(identity))
        let rows = part.plannedRegisters
        let filter = keepsFilter ? [PlannedRegister(0x1D, 2)] : []
        #expect(
            rows.filter { $0.stage == .configuration } == [
                PlannedRegister(0x6C, 0), PlannedRegister(0x19, 4), PlannedRegister(0x1A, 2, mask: mask),
                PlannedRegister(0x1B, 0x18), PlannedRegister(0x1C, 0x10), PlannedRegister(0x37, 0),
                PlannedRegister(0x38, 0),
            ] + filter)
        #expect(
            rows.filter { $0.stage == .fifo } == [
                PlannedRegister(0x23, fifoEnable, in: .fifo), PlannedRegister(0x6A, 0x40, in: .fifo),
            ])
        guard !keepsFilter else { return }
        #expect(part.plannedBringUp.last == .write(0x1D, 2))
        #expect(!part.plannedGroups.joined().contains(0x1D))
    }

    @Test("Brings an ICM-20602 up with exactly these transactions")
    func script() {
        let rig = MPU6050Rig()
        rig.script.read(0x75, 0x12)
        rig.script.write(0x6B, 0x80)
        rig.advanceAndPoll()
        rig.script.read(0x6B, 0x41)
        rig.script.write(0x6B, 0x01)
        rig.advanceAndPoll()
        rig.script.read(0x6B, 0x01)
        rig.script.write(0x11, 0xC9)
        rig.script.read(0x7A, 0x15)
        // CONFIG keeps the bit that is set after a reset.
        for (register, value, answer) in [
            (0x6C, 0, 0), (0x19, 4, 4), (0x1A, 2, 0x82), (0x1B, 0x18, 0x18), (0x1C, 0x10, 0x10), (0x37, 0, 0),
            (0x38, 0, 0), (0x1D, 2, 2),
        ] as [(UInt8, UInt8, UInt8)] {
            rig.script.write(register, value)
            rig.script.read(register, answer)
        }
        rig.script.write(0x23, 0)
        rig.script.write(0x6A, 0x04)
        rig.script.read(0x41, [0x00, 0x00])
        rig.script.write(0x23, 0x18)
        rig.script.write(0x6A, 0x40)
        rig.script.read(0x23, 0x18)
        rig.script.read(0x6A, 0x40)
        rig.advanceAndPoll()
        #expect(rig.script.remaining == 0)
        #expect(rig.status.state == .settling)
    }
}
