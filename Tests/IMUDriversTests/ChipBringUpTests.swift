import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

extension ScriptedChipRig {
    /// Expects and performs the bring-up of an ADXL345 or ADXL375.
    fileprivate func bringUpADXL345(format: UInt8) {
        script.read(0x00, 0xE5)
        script.write(0x2D, 0x00)
        script.write(0x38, 0x00)
        expect([(0x2C, 0x0B), (0x2E, 0x00), (0x31, format), (0x2D, 0x08)])
        script.write(0x38, 0x00)
        script.write(0x38, 0x80)
        script.read(0x38, 0x80)
        poll()
    }

    /// Expects and performs the reset of an ICM-42688-P or ICM-42605, and expects the selection of bank 1.
    fileprivate func resetICM42688(_ identity: UInt8) {
        script.read(0x75, identity)
        script.write(0x76, 0x00)
        script.write(0x11, 0x01)
        poll()
        #expect(state == .resetting)
        script.read(0x2D, 0x10)
        script.write(0x76, 0x01)
    }

    /// Expects and performs their configuration in bank 0, and the start of the FIFO.
    fileprivate func configureICM42688() {
        expect([
            (0x13, 0x09), (0x4C, 0x32), (0x4D, 0x51), (0x4F, 0x07), (0x50, 0x27), (0x52, 0x11), (0x51, 0x16),
            (0x53, 0x0D), (0x5F, 0x47), (0x16, 0x40),
        ])
        script.write(0x4E, 0x0F)
        poll()
        #expect(state == .configuring)
        script.read(0x4E, 0x0F)
        script.write(0x4B, 0x02)
        script.read(0x2D, [0x08, 0x00, 0x00])
        poll()
        #expect(state == .settling)
    }
}

/// Requirement: a chip is brought up by exactly these transactions, and its frames are decoded as the datasheet says.
@Suite struct ChipBringUpTests {
    @Test(
        "BMI160: reset, accelerometer, gyroscope, configuration with read-back, FIFO; values and temperature of a frame"
    )
    func bmi160() throws {
        let rig = ScriptedChipRig<BMI160Family>()
        rig.script.read(0x00, 0xD1)
        rig.script.write(0x7E, 0xB6)
        rig.poll()
        #expect(rig.state == .resetting)
        rig.script.write(0x7E, 0x11)
        rig.poll()
        #expect(rig.state == .waking)
        rig.script.write(0x7E, 0x15)
        rig.poll()
        rig.script.read(0x03, 0x18)
        rig.poll()
        rig.script.read(0x03, 0x14)
        rig.expect([
            (0x40, 0x29), (0x41, 0x08), (0x42, 0x29), (0x43, 0x00), (0x45, 0x88), (0x46, 0x80),
        ])
        rig.script.read(0x02, 0x00)
        rig.script.write(0x47, 0xC0)
        rig.script.write(0x7E, 0xB0)
        rig.script.read(0x47, 0xC0)
        rig.poll()
        #expect(rig.state == .settling)
        // -164, 328, -820; 1000, -2000, 4096: low byte first, the gyroscope first.
        let frame: [UInt8] = [0x5C, 0xFF, 0x48, 0x01, 0xCC, 0xFC, 0xE8, 0x03, 0x30, 0xF8, 0x00, 0x10]
        rig.script.read(0x20, [0x00, 0x04])
        rig.script.read(0x22, [36, 0])
        // Noise changes a bit between frames.
        let earlier = [0x5D] + frame.dropFirst()
        rig.script.read(0x24, frame + earlier + frame)
        rig.script.read(0x41, [0x08, 0x29, 0x00])
        rig.poll()
        #expect(rig.state == .streaming)
        let count = rig.batch.count
        try #require(count == 1)
        let sample = rig.batch[0]
        let force = 9.80665 / 4096 * Vector3(1000, -2000, 4096)
        let rate = Double.pi / 180 / 16.4 * Vector3(-164, 328, -820)
        #expect((sample.acceleration - force).length < 1e-9)
        #expect((sample.rotationRate - rate).length < 1e-9)
        #expect(sample.temperature == 25)
        #expect(sample.flags.contains(.rotationRate))
    }

    @Test(
        "ADXL345: standby, configuration with read-back, measuring, FIFO; one entry per transaction, no rotation rate")
    func adxl345() throws {
        let rig = ScriptedChipRig<ADXL345Family>()
        rig.bringUpADXL345(format: 0x0A)
        #expect(rig.state == .settling)
        rig.script.read(0x39, 4)
        // 100, -200, 256.
        for noise in [1, 0, 1, 0] as [UInt8] { rig.script.read(0x32, [0x64 + noise, 0x00, 0x38, 0xFF, 0x00, 0x01]) }
        rig.script.read(0x31, 0x0A)
        rig.poll()
        #expect(rig.state == .streaming)
        let count = rig.batch.count
        try #require(count >= 1)
        let sample = rig.batch[count - 1]
        // At 3.3 V, x and y have 265 counts per g and read 25 mg more, and z reads 20 mg less.
        let gravities = Vector3(100.0 / 265 - 0.025, -200.0 / 265 - 0.025, 1.020)
        #expect((sample.acceleration - 9.80665 * gravities).length < 1e-9)
        #expect(sample.rotationRate == .zero)
        #expect(!sample.flags.contains(.rotationRate))
        #expect(sample.temperature.isNaN)
        #expect(rig.driver.info.gyroscopeRange == 0)
    }

    @Test("ADXL375: its only range with full resolution, 49 mg per count on every axis")
    func adxl375() throws {
        let rig = ScriptedChipRig<ADXL375Family>()
        rig.bringUpADXL345(format: 0x0B)
        rig.script.read(0x39, 4)
        for noise in [1, 0, 1, 0] as [UInt8] { rig.script.read(0x32, [0x64 + noise, 0x00, 0x38, 0xFF, 0x00, 0x01]) }
        rig.script.read(0x31, 0x0B)
        rig.poll()
        let count = rig.batch.count
        try #require(count >= 1)
        #expect((rig.batch[count - 1].acceleration - 9.80665 * 0.049 * Vector3(100, -200, 256)).length < 1e-9)
        #expect(rig.driver.info.name.description == "ADXL375")
        #expect(abs(rig.driver.info.accelerometerRange - 200 * 9.80665) < 1e-9)
        #expect(ADXL375Family(settings: IMUSettings()).accelerometerLimit == 4079)
    }

    @Test(
        "ADXL345: zeros on every axis are a sample only if the settings are intact", arguments: [true, false])
    func adxl345Zeros(isFalling: Bool) throws {
        let rig = ScriptedChipRig<ADXL345Family>()
        rig.bringUpADXL345(format: 0x0A)
        rig.script.read(0x39, 4)
        for noise in [1, 0, 1] as [UInt8] { rig.script.read(0x32, [0x64 + noise, 0x00, 0x38, 0xFF, 0x00, 0x01]) }
        rig.script.read(0x32, [0, 0, 0, 0, 0, 0])
        rig.script.read(0x2C, isFalling ? [0x0B, 0x08, 0x00] : [0x0A, 0x00, 0x00])
        if isFalling {
            rig.script.read(0x31, 0x0A)
            rig.script.read(0x38, 0x80)
        } else {
            rig.script.read(0x2C, [0x0A, 0x00, 0x00])
        }
        rig.poll()
        let zeros = 9.80665 * Vector3(-0.025, -0.025, 0.020)
        let hasZeros = (0..<rig.batch.count).contains { (rig.batch[$0].acceleration - zeros).length < 1e-9 }
        #expect(hasZeros == isFalling)
        #expect(rig.state == (isFalling ? .streaming : .recovering))
    }

    @Test(
        "ICM-42688-P: reset, I2C settings, configuration with read-back, both sensors, flush; values of a packet",
        arguments: [true, false])
    func icm42688(acknowledgesSpikeFilter: Bool) throws {
        let rig = ScriptedChipRig<ICM42688Family>()
        rig.resetICM42688(0x47)
        rig.script.write(0x7C, 0x50, failing: acknowledgesSpikeFilter ? nil : BusError(.notAcknowledged))
        rig.script.write(0x76, 0x00)
        rig.configureICM42688()
        // The FIFO was full since the last read: what it holds is not read, but flushed.
        rig.script.read(0x2D, [0x0A, 0x07, 0xF0])
        rig.script.write(0x4B, 0x02)
        rig.script.read(0x2D, [0x08, 0x00, 0x00])
        rig.poll()
        #expect(rig.driver.status.overflows == 1)
        // 1000, -2000, 4096; -164, 328, -820; -4 counts at 2.07 per kelvin.
        let packet: [UInt8] = [
            0x68, 0x03, 0xE8, 0xF8, 0x30, 0x10, 0x00, 0xFF, 0x5C, 0x01, 0x48, 0xFC, 0xCC, 0xFC, 0x12, 0x34,
        ]
        let part = ICM42688Family(settings: IMUSettings())
        let frame = try #require(packet.withUnsafeBytes { part.frame($0, at: 0) })
        #expect(frame.ax == 1000 && frame.ay == -2000 && frame.az == 4096)
        #expect(frame.gx == -164 && frame.gy == 328 && frame.gz == -820)
        #expect(abs(part.celsius(frame.temperature ?? 0) - 23.07) < 0.01)
        #expect(abs(part.accelerometerScale - 9.80665 / 4096) < 1e-6)
        #expect(abs(part.gyroscopeScale - Double.pi / 180 / 16.384) < 1e-9)
        // An empty FIFO's message, and values that are not available yet.
        var empty = packet
        empty[0] = 0x80
        #expect(empty.withUnsafeBytes { part.frame($0, at: 0) } == nil)
        var early = packet
        early[7] = 0x80
        early[8] = 0x00
        #expect(early.withUnsafeBytes { part.frame($0, at: 0) } == nil)
    }

    @Test("ICM-42605: like the ICM-42688-P, with the widest anti-alias filters in banks 1 and 2, read back")
    func icm42605() {
        let rig = ScriptedChipRig<ICM42688Family>()
        rig.resetICM42688(0x42)
        rig.script.write(0x7C, 0x50)
        // DELT 63, DELTSQR 3968, BITSHIFT 3.
        rig.expect([(0x0C, 0x3F), (0x0D, 0x80), (0x0E, 0x3F)])
        rig.script.write(0x76, 0x02)
        rig.expect([(0x03, 0x7E), (0x04, 0x80), (0x05, 0x3F)])
        rig.script.write(0x76, 0x00)
        rig.configureICM42688()
        #expect(rig.driver.info.name.description == "ICM-42605" && rig.driver.info.identity == 0x42)
    }

    @Test("ICM-42688-P: after a failure with the other bank selected, it selects bank 0 before it identifies the chip")
    func icm42688Bank() {
        let rig = ScriptedChipRig<ICM42688Family>()
        rig.resetICM42688(0x47)
        rig.script.write(0x7C, 0x50)
        for _ in 0..<2 { rig.script.write(0x76, 0x00, failing: BusError(.timedOut)) }
        rig.poll()
        #expect(rig.state == .recovering)
        rig.script.read(0x75, 0x00)
        rig.script.write(0x76, 0x00)
        rig.script.read(0x75, 0x47)
        rig.script.write(0x76, 0x00)
        rig.script.write(0x11, 0x01)
        rig.poll()
        #expect(rig.state == .resetting)
    }

    @Test("ICM-42688-P: a chip that was never identified is not written to")
    func icm42688Stranger() {
        let rig = ScriptedChipRig<ICM42688Family>()
        rig.script.read(0x75, 0x00)
        // Only the values that a program leaves behind in bank 1 or 2 would be a reason to select bank 0.
        rig.script.read(0x76, 0x01)
        rig.script.read(0x7C, 0x5F)
        rig.script.read(0x76, 0x01)
        rig.poll()
        #expect(rig.driver.status.lastFault == .identity(found: 0x00))
    }
}
