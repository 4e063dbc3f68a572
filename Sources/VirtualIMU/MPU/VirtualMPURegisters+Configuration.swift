internal import Glibc
internal import MotionCore

extension VirtualMPURegisters {
    /// Sets clock, filters and FIFO frame according to the registers.
    ///
    /// The clock restarts if the rate or the clock source changes, the filters if they or the self-test change.
    mutating func configure(_ engine: inout SensorEngine) {
        frameRegisters = frameRegisters(enabled: registers[Int(Register.fifoEnable)])
        let lowPass = variant.lowPass(
            configuration: registers[Int(Register.configuration)],
            accelerometerConfiguration2: registers[Int(Register.accelerometerConfiguration2)])
        let power = registers[Int(Register.powerManagement1)]
        let imperfections = engine.imperfections
        var wanted: SensorModel.Setup?
        if let period = nominalPeriod(baseRate: lowPass.baseRate) {
            var setup = SensorModel.Setup(lowPass: lowPass, period: period)
            if variant.hasSelfTest {
                setup.selfTestForce = selfTestForce(imperfections)
                setup.selfTestRate = selfTestRate(imperfections)
            }
            wanted = setup
        }
        engine.run(
            wanted,
            oscillatorError: power & 0x07 == 0 ? imperfections.internalOscillatorError : imperfections.oscillatorError,
            isAwake: power & Bit.sleep == 0)
    }

    /// Nominal seconds between samples; `nil` if the chip takes none.
    private func nominalPeriod(baseRate: Double) -> Double? {
        let power = registers[Int(Register.powerManagement1)]
        // CLKSEL 4 and 5 are external clocks, which a plain board does not have; 7 stops the clock (RM p. 41).
        guard power & Bit.sleep == 0, power & 0x07 < 4 || power & 0x07 == 6 else { return nil }
        if power & Bit.cycle != 0 {
            // LP_WAKE_CTRL (RM p. 42).
            switch registers[Int(Register.powerManagement2)] >> 6 {
            case 0: return 1 / 1.25
            case 1: return 1.0 / 5
            case 2: return 1.0 / 20
            default: return 1.0 / 40
            }
        }
        return (1 + Double(registers[Int(Register.sampleRateDivider)])) / baseRate
    }

    /// The registers that a frame copies, in the order of their addresses (RM p. 16, 44). The auxiliary bus has no
    /// sensors. An ICM-20602 has a single bit for the gyroscope, and adds the temperature to either sensor (PX4
    /// icm20602).
    private func frameRegisters(enabled: UInt8) -> [UInt8] {
        var enabled = enabled
        if variant == .icm20602, enabled != 0 {
            enabled |= Bit.fifoTemperature | (enabled & 0x10 != 0 ? 0x70 : 0)
        }
        var result: [UInt8] = []
        if enabled & Bit.fifoAccelerometer != 0 {
            result += Register.accelerometerOutput..<Register.temperatureOutput
        }
        if enabled & Bit.fifoTemperature != 0 { result += Register.temperatureOutput..<Register.gyroscopeOutput }
        for axis: UInt8 in 0..<3 where enabled & (0x40 >> axis) != 0 {
            result += [Register.gyroscopeOutput + 2 * axis, Register.gyroscopeOutput + 2 * axis + 1]
        }
        return result
    }
}

// The self-test (RM p. 9 to 11): electrostatic forces move the proof masses as a known movement would.
extension VirtualMPURegisters {
    /// Writes the factory codes into SELF_TEST_X, _Y, _Z and _A.
    mutating func setSelfTestTrim(_ imperfections: Imperfections) {
        guard variant.hasSelfTest else { return }
        let force = imperfections.accelerometerTrim
        let rate = imperfections.gyroscopeTrim
        let first = Int(Register.selfTestX)
        registers[first] = (force.x >> 2 & 0x07) << 5 | rate.x & 0x1F
        registers[first + 1] = (force.y >> 2 & 0x07) << 5 | rate.y & 0x1F
        registers[first + 2] = (force.z >> 2 & 0x07) << 5 | rate.z & 0x1F
        registers[Int(Register.selfTestA)] = (force.x & 0x03) << 4 | (force.y & 0x03) << 2 | force.z & 0x03
    }

    /// The current contribution of the accelerometer's self-test, m/s²: 4096·0.34·(0.92/0.34)^((code - 1)/30) LSB at ±8
    /// g.
    private func selfTestForce(_ imperfections: Imperfections) -> Vector3 {
        response(
            enabled: registers[Int(Register.accelerometerConfiguration)], codes: imperfections.accelerometerTrim,
            deviation: imperfections.selfTestDeviation
        ) { standardGravity * 0.34 * pow(0.92 / 0.34, (Double($0) - 1) / 30) }
    }

    /// The current contribution of the gyroscope's self-test, rad/s: 25·131·1.046^(code - 1) LSB at ±250 °/s, with y
    /// negative.
    private func selfTestRate(_ imperfections: Imperfections) -> Vector3 {
        var result = response(
            enabled: registers[Int(Register.gyroscopeConfiguration)], codes: imperfections.gyroscopeTrim,
            deviation: imperfections.selfTestDeviation
        ) { radiansPerDegree * 25 * pow(1.046, Double($0) - 1) }
        result.y = -result.y
        return result
    }

    /// The factory response on the axes whose bit (7, 6, 5) is set; zero without a code.
    private func response(
        enabled: UInt8, codes: SelfTestCodes, deviation: Double, factory: (UInt8) -> Double
    ) -> Vector3 {
        func axis(_ bit: UInt8, _ code: UInt8) -> Double {
            enabled & bit != 0 && code != 0 ? factory(code) * (1 + deviation) : 0
        }
        return Vector3(axis(0x80, codes.x), axis(0x40, codes.y), axis(0x20, codes.z))
    }
}
