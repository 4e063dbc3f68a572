import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: a motion chip connects the magnetometer in its package with the bus if the settings say so, and only then.
@Suite struct MagnetometerBypassTests {
    private static var settings: IMUSettings {
        var settings = IMUSettings()
        settings.connectsMagnetometer = true
        return settings
    }

    @Test(
        "The MPU-9250 and the MPU-9255 set the bypass; other members and other settings leave it",
        arguments: [
            (0x71, true, 0x02), (0x73, true, 0x02), (0x71, false, 0x00), (0x70, true, 0x00), (0x68, true, 0x00),
            (0x74, true, 0x00), (0x12, true, 0x00),
        ] as [(UInt8, Bool, UInt8)])
    func mpu(identity: UInt8, connects: Bool, value: UInt8) throws {
        var settings = IMUSettings()
        settings.connectsMagnetometer = connects
        let part = try #require(MPUFamily(identity: identity, settings: settings))
        #expect(part.planned(0x37) == PlannedRegister(0x37, value))
        // The bypass works only while the chip's own I2C master is off.
        #expect(part.planned(0x6A) == PlannedRegister(0x6A, 0x40, in: .fifo))
    }

    @Test("MPU-9250: brought up with the bypass by exactly these transactions")
    func mpu9250() {
        let rig = ScriptedChipRig<MPUFamily>(Self.settings)
        rig.script.read(0x75, 0x71)
        rig.script.write(0x6B, 0x80)
        rig.poll()
        rig.script.read(0x6B, 0x01)
        rig.script.write(0x6B, 0x01)
        rig.poll()
        rig.script.read(0x6B, 0x01)
        rig.expect([
            (0x6C, 0), (0x19, 4), (0x1A, 2), (0x1B, 0x18), (0x1C, 0x10), (0x37, 0x02), (0x38, 0), (0x1D, 2),
        ])
        rig.script.write(0x23, 0)
        rig.script.write(0x6A, 0x04)
        rig.script.read(0x41, [0x05, 0x37])
        rig.script.write(0x23, 0xF8)
        rig.script.write(0x6A, 0x40)
        rig.script.read(0x23, 0xF8)
        rig.script.read(0x6A, 0x40)
        rig.poll()
        #expect(rig.state == .settling && rig.script.remaining == 0)
    }

    @Test("ICM-20948: brought up with the bypass by exactly these transactions")
    func icm20948() {
        let rig = ScriptedChipRig<ICM20948Family>(Self.settings)
        rig.bringUp(pin: [(0x0F, 0x02)])
        #expect(rig.state == .settling && rig.script.remaining == 0)
    }

    @Test("ICM-20948: with a data-ready line the pin's register has both settings, once")
    func icm20948WithLine() throws {
        var settings = Self.settings
        settings.signalsDataReady = true
        let registers = ICM20948Family(settings: settings).plannedRegisters
        #expect(registers.filter { $0.register == 0x0F } == [PlannedRegister(0x0F, 0x02)])
        #expect(registers.contains(PlannedRegister(0x11, 0x01, in: .dataReady)))
        settings.connectsMagnetometer = false
        let others = ICM20948Family(settings: settings).plannedRegisters
        #expect(others.filter { $0.register == 0x0F } == [PlannedRegister(0x0F, 0x00, in: .dataReady)])
        #expect(ICM20948Family(settings: IMUSettings()).planned(0x0F) == nil)
    }
}
