import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

extension ScriptedChipRig where Part == ICM20948Family {
    /// Expects and performs the transactions up to the selection of bank 2.
    fileprivate func wake() {
        script.read(0x00, 0xEA)
        script.write(0x7F, 0x00)
        script.write(0x06, 0x80)
        poll()
        #expect(state == .resetting)
        script.read(0x06, 0x80)
        poll()
        script.read(0x06, 0x41)
        script.write(0x06, 0x01)
        poll()
        #expect(state == .waking)
        script.read(0x06, 0x01)
        script.write(0x7F, 0x20)
    }

    /// Expects and performs the whole bring-up. `pin` are the registers of the pin, and their values.
    func bringUp(pin: [(UInt8, UInt8)] = []) {
        wake()
        // 225 Hz; 119.5 and 111.4 Hz, ±2000 °/s and ±8 g.
        expect([(0x00, 4), (0x01, 0x17), (0x09, 0x01), (0x10, 0x00), (0x11, 4), (0x14, 0x15)])
        script.write(0x7F, 0x00)
        expect([(0x07, 0x00), (0x66, 0x00), (0x69, 0x00)] + pin)
        expectFIFOStart()
        script.read(0x03, 0x40)
        script.read(0x67, 0x1F)
        poll()
    }

    /// The FIFO is stopped, emptied and started at 25 °C.
    fileprivate func expectFIFOStart() {
        script.write(0x67, 0x00)
        script.write(0x03, 0x00)
        script.write(0x68, 0x1F)
        script.write(0x68, 0x00)
        script.read(0x39, [0x05, 0x37])
        script.write(0x03, 0x40)
        script.write(0x67, 0x1F)
    }
}

/// Requirement: an ICM-20948 is brought up by exactly these transactions.
@Suite struct ICM20948Tests {
    /// 1000, -2000, 4096; -164, 328, -820; 4 K above 21 °C.
    private static let frame: [UInt8] = [
        0x03, 0xE8, 0xF8, 0x30, 0x10, 0x00, 0xFF, 0x5C, 0x01, 0x48, 0xFC, 0xCC, 0x05, 0x37,
    ]

    @Test("Reset, clock, bank 2 with read-back, bank 0, FIFO; values of a frame")
    func bringUp() throws {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.bringUp()
        #expect(rig.driver.status.state == .settling)
        #expect(rig.driver.info.name.description == "ICM-20948" && rig.driver.info.nominalRate == 225)
        // The ranges, in bank 2, are read with each batch.
        let part = try #require(ICM20948Family(identity: 0xEA, settings: IMUSettings()))
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        rig.script.read(0x01, 0x17)
        rig.script.read(0x14, 0x15)
        rig.script.write(0x7F, 0x00)
        rig.poll()
        // More than 32 frames may be corrupt.
        rig.script.read(0x70, [0x01, 0xCE])
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.driver.status.overflows == 1)
        let decoded = try #require(Self.frame.withUnsafeBytes { part.frame($0, at: 0) })
        #expect(decoded.ax == 1000 && decoded.ay == -2000 && decoded.az == 4096)
        #expect(decoded.gx == -164 && decoded.gy == 328 && decoded.gz == -820)
        #expect(abs(part.celsius(decoded.temperature ?? 0) - 25) < 0.01)
        #expect(abs(part.accelerometerScale - 9.80665 / 4096) < 1e-9)
        #expect(abs(part.gyroscopeScale - Double.pi / 180 / 16.375) < 1e-9)
        #expect([UInt8](repeating: 0, count: 14).withUnsafeBytes { part.frame($0, at: 0) } == nil)
        #expect(ICM20948Family(identity: 0xE1, settings: IMUSettings()) == nil)
    }

    @Test("After a failure with bank 2 selected, it selects bank 0 before it identifies the chip")
    func bank() {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.wake()
        // A write that timed out is repeated once.
        for _ in 0..<2 { rig.script.write(0x00, 4, failing: BusError(.timedOut)) }
        rig.poll()
        #expect(rig.driver.status.state == .recovering)
        rig.script.read(0x00, 0x00)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x00, 0xEA)
        rig.script.write(0x7F, 0x00)
        rig.script.write(0x06, 0x80)
        rig.poll()
        #expect(rig.driver.status.state == .resetting)
    }

    @Test(
        "A chip in which a program that ended has left bank 2 selected is identified; another chip is not written to",
        arguments: [true, false])
    func abandonedBank(isOurs: Bool) {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.script.read(0x00, 0x04)
        rig.script.read(0x7F, 0x20)
        rig.script.read(0x09, 0x01)
        rig.script.read(0x10, 0x00)
        rig.script.read(0x01, isOurs ? 0x17 : 0x16)
        if isOurs {
            rig.script.read(0x14, 0x15)
            rig.script.write(0x7F, 0x00)
            rig.script.read(0x00, 0xEA)
            rig.script.write(0x7F, 0x00)
            rig.script.write(0x06, 0x80)
        }
        rig.poll()
        #expect(rig.driver.status.state == (isOurs ? .resetting : .recovering))
    }

    @Test("If bank 0 cannot be selected again after the check of the ranges, the next transaction selects it")
    func bankAfterRanges() {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.bringUp()
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        rig.script.read(0x01, 0x17)
        rig.script.read(0x14, 0x15)
        let noAnswer = BusError(.notAcknowledged)
        for _ in 0..<3 { rig.script.write(0x7F, 0x00, failing: noAnswer) }
        rig.poll()
        #expect(rig.driver.status.state == .settling)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x70, [0x00, 0x00])
        rig.poll()
        // A lost chip is identified before anything is written to it.
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        for _ in 0..<2 { rig.script.read(0x01, 0x11) }
        for _ in 0..<3 { rig.script.write(0x7F, 0x00, failing: noAnswer) }
        rig.poll()
        #expect(rig.driver.status.lastFault == .configurationLost(register: 0x01))
        rig.script.read(0x00, 0x04)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x00, 0xEA)
        rig.script.write(0x7F, 0x00)
        rig.script.write(0x06, 0x80)
        rig.poll()
        #expect(rig.driver.status.state == .resetting)
    }
}
