import IMUDrivers
import MotionCore
import Testing

@testable import VirtualIMU

/// The virtual chip answers according to RM-MPU-6000A-00 r4.2, so a driver that works with it works with the real chip.
@Suite("Virtual MPU-6050: registers")
struct RegisterTests {
    @Test("defaults: 0x40 in PWR_MGMT_1, 0x68 in WHO_AM_I, the factory's trim, all others zero (RM p. 8)")
    func defaults() throws {
        let rig = Rig()
        let all = try rig.read(0x00, count: 0x72)
        for (register, value) in all.enumerated() {
            switch register {
            case 0x6B: #expect(value == 0x40)
            case 0x0D...0x10: #expect(value != 0)
            default: #expect(value == 0, "register \(register)")
            }
        }
        #expect(try rig.read(0x75) == 0x68)
    }

    @Test("while asleep it takes no samples but stores writes")
    func asleep() throws {
        let rig = Rig(Steady())
        try rig.write(0x19, 0x04)
        rig.wait(1)
        #expect(try rig.read(0x19) == 0x04)
        #expect(try rig.outputs() == [0, 0, 0, 0, 0, 0, 0])
        #expect(try rig.read(0x3A) == 0)
        #expect(rig.chip.sampleCount == 0)
    }

    @Test("reset: defaults at once, the bit set until it is done, and no writes meanwhile (RM p. 41)")
    func reset() throws {
        let rig = Rig(Steady())
        try rig.start(fifo: 0x78)
        rig.wait(0.1)
        #expect(try rig.fifoCount() == 20 * 12)
        try rig.write(0x6B, 0x80)
        #expect(try rig.read(0x6B) == 0xC0)
        #expect(try rig.read(0x19) == 0)
        try rig.write(0x19, 9)
        rig.wait(0.004)
        #expect(try rig.read(0x6B) == 0xC0)
        rig.wait(0.002)
        #expect(try rig.read(0x6B) == 0x40)
        #expect(try rig.read(0x19) == 0)
        #expect(try rig.fifoCount() == 0)
        try rig.write(0x19, 9)
        #expect(try rig.read(0x19) == 9)
        rig.wait(1)
        #expect(try rig.fifoCount() == 0)
    }

    @Test("reserved and self-clearing bits read zero; read-only registers do not change")
    func masks() throws {
        let rig = Rig()
        for (register, kept) in [
            (0x1A, 0x3F), (0x1B, 0xF8), (0x1C, 0xF8), (0x37, 0xFE), (0x38, 0x19), (0x6C, 0xFF), (0x23, 0xFF),
            (0x68, 0x00), (0x3A, 0x00), (0x3B, 0x00), (0x48, 0x00), (0x72, 0x00), (0x75, 0x68),
        ] as [(UInt8, UInt8)] {
            try rig.write(register, 0xFF)
            #expect(try rig.read(register) == kept, "register \(register)")
        }
        try rig.write(0x6A, 0x07)
        #expect(try rig.read(0x6A) == 0)
        try rig.write(0x6B, 0x6F)
        #expect(try rig.read(0x6B) == 0x6F)
    }

    @Test("offsets and unnamed registers are storage; several bytes increment the address")
    func storage() throws {
        let rig = Rig()
        try rig.chip.write(0x06, 0x11, 0x22, 0x33, at: rig.clock.now())
        #expect(try rig.read(0x05, count: 5) == [0, 0x11, 0x22, 0x33, 0])
        try rig.chip.write(0x19, 7, 2, 0x18, 0x10, at: rig.clock.now())
        #expect(try rig.read(0x19, count: 4) == [7, 2, 0x18, 0x10])
    }

    @Test("outputs: big-endian, x y z, temperature between, by sensitivity (PS p. 12, 13)")
    func outputs() throws {
        var imperfections = Imperfections.ideal
        imperfections.ambientTemperature = 30
        for range: UInt8 in 0..<4 {
            let rig = Rig(Steady(), imperfections)
            try rig.start(gyroscope: range, accelerometer: range)
            rig.wait(0.011)
            let force = 16384 >> Int(range)
            let rate = [131, 65.5, 32.8, 16.4][Int(range)]
            #expect(
                try rig.outputs() == [
                    force / 2, -force / 4, force * 3 / 4, -2220, Int((100 * rate).rounded()),
                    Int((-50 * rate).rounded()), Int((25 * rate).rounded()),
                ])
        }
    }

    @Test("saturation at both ends of the range")
    func saturation() throws {
        let rig = Rig(Steady(force: Vector3(2.1, -2.1, 1.5), rate: Vector3(-260, 260, 240)))
        try rig.start(gyroscope: 0, accelerometer: 0)
        rig.wait(0.011)
        let out = try rig.outputs()
        #expect(out[0] == 32767 && out[1] == -32768 && out[2] == 24576)
        #expect(out[4] == -32768 && out[5] == 32767 && out[6] == 31440)
    }

    @Test("INT_STATUS: set by a sample, cleared by reading it, or by any read if INT_PIN_CFG says so")
    func interruptStatus() throws {
        let rig = Rig()
        try rig.start()
        rig.wait(0.0049)
        #expect(try rig.read(0x3A) == 0)
        rig.wait(0.0002)
        #expect(try rig.read(0x75) == 0x68)
        #expect(try rig.read(0x3A) == 0x01)
        #expect(try rig.read(0x3A) == 0)
        try rig.write(0x37, 0x10)
        rig.wait(0.005)
        #expect(try rig.read(0x75) == 0x68)
        #expect(try rig.read(0x3A) == 0)
    }

    @Test("standby holds single axes, TEMP_DIS the temperature, CLKSEL 7 everything")
    func standby() throws {
        let rig = Rig(Steady())
        try rig.write(0x6C, 0x20 | 0x10 | 0x02)
        try rig.start()
        try rig.write(0x6B, 0x09)
        rig.wait(0.011)
        let out = try rig.outputs()
        #expect(out[0] == 0 && out[1] == 0 && out[2] == 3072)
        #expect(out[3] == 0)
        #expect(out[4] == 1640 && out[5] == 0 && out[6] == 410)
        let count = rig.chip.sampleCount
        try rig.write(0x6B, 0x07)
        rig.wait(0.1)
        #expect(try rig.read(0x6B) == 0x07)
        #expect(rig.chip.sampleCount == count)
    }

    @Test("USER_CTRL's signal reset clears the outputs; SIGNAL_PATH_RESET leaves them (RM p. 37, 38)")
    func signalReset() throws {
        let rig = Rig(Steady())
        try rig.start()
        rig.wait(0.011)
        let out = try rig.outputs()
        try rig.write(0x68, 0x07)
        #expect(try rig.outputs() == out)
        try rig.write(0x6A, 0x01)
        #expect(try rig.outputs() == [0, 0, 0, 0, 0, 0, 0])
        rig.wait(0.005)
        #expect(try rig.outputs() == out)
    }

    @Test("a read that is empty or longer than the bus allows is rejected")
    func readLength() throws {
        let rig = Rig(maximumReadLength: 32)
        #expect(rig.bus.maximumReadLength == 32)
        #expect(try rig.read(0x3B, count: 32).count == 32)
        #expect(throws: BusError(.unsupported, code: 22)) { try rig.read(0x3B, count: 33) }
        #expect(throws: BusError(.unsupported, code: 22)) { try rig.read(0x3B, count: 0) }
    }

    @Test("self-test shifts the outputs by the factory response, with gyroscope y negative (RM p. 9 to 11)")
    func selfTest() throws {
        var imperfections = Imperfections.ideal
        imperfections.accelerometerTrim = SelfTestCodes(x: 10, y: 31, z: 5)
        imperfections.gyroscopeTrim = SelfTestCodes(x: 1, y: 20, z: 31)
        imperfections.selfTestDeviation = 0.1
        let rig = Rig(Rest(), imperfections)
        // The upper three bits of the accelerometer's codes are beside the gyroscope's, the lower two in SELF_TEST_A.
        #expect(try rig.read(0x0D, count: 4) == [0x41, 0xF4, 0x3F, 0x2D])
        try rig.start(lowPass: 2, gyroscope: 0, accelerometer: 2)
        rig.wait(0.3)
        let before = try rig.outputs()
        try rig.write(0x1B, 0xE0)
        try rig.write(0x1C, 0xF0)
        rig.wait(0.3)
        let after = try rig.outputs()
        let response = zip(after, before).map { $0 - $1 }
        // 4096·0.34·(0.92/0.34)^((c - 1)/30) and 25·131·1.046^(c - 1), 10 % more.
        for (axis, wanted) in [(0, 2065.0), (1, 4145.2), (2, 1749.3), (4, 3602.5), (5, -8466.5), (6, 13885.6)] {
            #expect(abs(Double(response[axis]) - wanted) <= 2, "word \(axis): \(response[axis])")
        }
        #expect(response[3] == 0)
    }
}
