internal import Glibc
internal import MotionCore

/// The registers and the FIFO of an MPU-6050 or another member of its family.
///
/// They behave according to RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4; the differences of the other members are in
/// `VirtualMPUModel`.
struct VirtualMPURegisters: ByteFIFORegisters {
    /// Seconds from the beginning of a reset until its bit clears itself and writes are accepted again. Drivers wait 10
    /// ms to 100 ms; RM p. 41 gives no value.
    private static let resetTime = 0.005

    /// The member of the family.
    private let variant: VirtualMPUModel

    /// Defaults: RM p. 8.
    var registers: RegisterFile
    var fifo: ByteFIFO

    /// FIFO_COUNT at the last read of its high byte (RM p. 43).
    private var latchedCount: UInt16 = 0

    /// The registers that make up a frame, in order, and the newest frame.
    private var frameRegisters: [UInt8] = []
    var frame = FrameWriter()

    init(_ variant: VirtualMPUModel) {
        self.variant = variant
        registers = RegisterFile(
            count: Register.count,
            defaults: [
                Register.powerManagement1: variant.powerManagement1Default,
                Register.configuration: variant.configurationDefault, Register.identity: variant.identity,
                Register.yOffset: variant.factoryYOffset ?? 0,
            ])
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
    }

    var identityRegister: UInt8 { Register.identity }

    /// I2C_BYPASS_EN connects the buses while I2C_MST_EN is clear, also in sleep (RM p. 26).
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool {
        registers[Int(Register.interruptPin)] & 0x02 != 0 && registers[Int(Register.userControl)] & 0x20 == 0
            && !registers.isResetting(at: now)
    }

    /// With an empty FIFO; the chip sleeps (RM p. 9).
    mutating func begin(_ engine: inout SensorEngine) {
        setSelfTestTrim(engine.imperfections)
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
        latchedCount = 0
        configure(&engine)
        engine.resetFilters()
    }

    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        if registers[Int(Register.powerManagement1)] & Bit.deviceReset != 0 {
            return reset(for: Self.resetTime, &engine)
        }
        configure(&engine)
    }
}

extension VirtualMPURegisters {
    /// Answers a read transaction that begins at `register`.
    ///
    /// The address is incremented except at FIFO_R_W, where it stays the same (RM p. 44). Samples are taken between
    /// transactions only: a burst sees the registers of one instant (RM p. 30).
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = register
        for index in buffer.indices {
            buffer[index] = readByte(address, at: engine.now)
            address = self.address(after: address)
        }
        if registers[Int(Register.interruptPin)] & Bit.clearOnAnyRead != 0 {
            registers[Int(Register.interruptStatus)] = 0
        }
    }

    func address(after register: UInt8) -> UInt8 {
        register == Register.fifoData ? register : (register + 1) & 0x7F
    }

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        switch address {
        case Register.interruptStatus:
            let status = registers[Int(address)]
            registers[Int(address)] = 0
            return status
        case Register.powerManagement1:
            return registers[Int(address)] | (registers.isResetting(at: now) ? Bit.deviceReset : 0)
        case Register.fifoCountHigh:
            latchedCount = UInt16(fifo.count)
            return UInt8(latchedCount >> 8)
        case Register.fifoCountLow:
            return UInt8(latchedCount & 0xFF)
        case Register.fifoData:
            // While disabled it can be neither read nor written, and its state stays the same (RM p. 38).
            return fills ? fifo.removeFirst() : fifo.lastRead
        default:
            return registers[Int(address)]
        }
    }

    /// The address is incremented as for a read.
    mutating func write(_ address: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        let before = registers[Int(address)]
        let writable = variant.writableBits(address)
        registers[Int(address)] = before & ~writable | value & writable
        switch address {
        case Register.powerManagement1 where value & Bit.deviceReset != 0:
            reset(for: Self.resetTime, &engine)
        case Register.userControl:
            control(value, &engine)
        case Register.signalPathReset where value & 0x07 != 0:
            engine.resetFilters()
        case Register.fifoData where fills:
            push(value)
        case Register.powerManagement1, Register.powerManagement2:
            let wakes = before & Bit.sleep != 0 && value & Bit.sleep == 0
            // The gyroscope's bits of PWR_MGMT_2 are 2 to 0.
            let starts = address == Register.powerManagement2 && before & ~value & 0x07 != 0
            if address == Register.powerManagement1 ? wakes : starts { engine.gyroscopeStart = engine.now }
            configure(&engine)
        case Register.sampleRateDivider...Register.accelerometerConfiguration, Register.fifoEnable,
            Register.selfTestX...Register.selfTestA:
            configure(&engine)
        case Register.accelerometerConfiguration2 where variant.hasAccelerometerConfiguration2:
            let size = variant.fifoSize(accelerometerConfiguration2: registers[Int(address)])
            if size != fifo.capacity { fifo = ByteFIFO(capacity: size) }
            configure(&engine)
        default:
            break
        }
    }

    /// Performs the actions of the self-clearing bits of USER_CTRL (RM p. 38).
    private mutating func control(_ value: UInt8, _ engine: inout SensorEngine) {
        // "This bit resets the FIFO buffer when set to 1 while FIFO_EN equals 0."
        if value & Bit.fifoReset != 0, !fills {
            fifo.removeAll()
            frame.discardRest()
        }
        if value & Bit.signalConditionReset != 0 {
            engine.resetFilters()
            for address in Register.accelerometerOutput...Register.externalSensorLast { registers[Int(address)] = 0 }
        }
    }

    /// Whether USER_CTRL enables the FIFO.
    var fills: Bool { registers[Int(Register.userControl)] & Bit.fifoEnable != 0 }

    /// Appends a byte, and sets the overflow flag in INT_STATUS if it replaced the oldest one.
    mutating func push(_ byte: UInt8) {
        if !fifo.append(byte) { registers[Int(Register.interruptStatus)] |= Bit.fifoOverflow }
    }
}

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
            return [1 / 1.25, 1.0 / 5, 1.0 / 20, 1.0 / 40][Int(registers[Int(Register.powerManagement2)] >> 6)]
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
    private mutating func setSelfTestTrim(_ imperfections: Imperfections) {
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

extension VirtualMPURegisters {
    /// The frames that fit into the FIFO, or only the output registers.
    var retainedSamples: Int { fills && !frameRegisters.isEmpty ? fifo.capacity / frameRegisters.count + 2 : 1 }

    /// Active high, push-pull and pulsed; with any other setting the host sees no edge (RM p. 26).
    var raisesPin: Bool {
        registers[Int(Register.interruptEnable)] & Bit.dataReady != 0
            && registers[Int(Register.interruptPin)] & 0xE0 == 0
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading {
            storeOutputs(reading, isForceNew: isAccelerometerDue(sample.index, engine))
        }
        registers[Int(Register.interruptStatus)] |= Bit.dataReady
        guard fills, !frameRegisters.isEmpty else { return }
        writeFrame(until: nil, engine)
        frame.begin(at: sample.time)
        for register in frameRegisters { frame.append(registers[Int(register)]) }
    }

    /// Stores a reading in the output registers as 16-bit values within the range.
    private mutating func storeOutputs(_ reading: SensorEngine.Reading, isForceNew: Bool) {
        let standby = registers[Int(Register.powerManagement2)]
        let forceRange = registers[Int(Register.accelerometerConfiguration)] >> 3 & 0x03
        let forceScale = Double(16384 >> Int(forceRange)) / standardGravity
        // LSB per °/s for FS_SEL (PS p. 12).
        let rateRange = registers[Int(Register.gyroscopeConfiguration)] >> 3 & 0x03
        let rateScale = [131, 65.5, 32.8, 16.4][Int(rateRange)] * degreesPerRadian
        // An axis in standby keeps its last value. The bits of PWR_MGMT_2 from 5 down: x, y, z, x, y, z.
        for axis in 0..<3 {
            if isForceNew, standby & (0x20 >> UInt8(axis)) == 0 {
                let force = reading.force[axis] + (axis == 1 ? yError : 0)
                store(force * forceScale, Register.accelerometerOutput + 2 * UInt8(axis))
            }
            if standby & (0x04 >> UInt8(axis)) == 0 {
                store(reading.rate[axis] * rateScale, Register.gyroscopeOutput + 2 * UInt8(axis))
            }
        }
        if registers[Int(Register.powerManagement1)] & Bit.temperatureDisable == 0 {
            store(variant.temperatureCounts(reading.temperature), Register.temperatureOutput)
        }
    }

    /// The error of an ICM-20602's y axis, m/s²: of the undocumented register, unless it is 0xC9 (ArduPilot), and of a change
    /// of YA_OFFS_H, whose count is taken as 2⁷ times 0.98 mg.
    private var yError: Double {
        guard let factory = variant.factoryYOffset else { return 0 }
        let change = Double(registers[Int(Register.yOffset)]) - Double(factory)
        return (registers[Int(Register.undocumented)] == 0xC9 ? 0 : 2.7) + change * 128 * 0.00098 * standardGravity
    }

    /// Whether the accelerometer has a new value for a sample: it has one per millisecond, even if the gyroscope
    /// delivers 8000 a second (RM p. 11).
    private func isAccelerometerDue(_ index: UInt64, _ engine: SensorEngine) -> Bool {
        let divisor = UInt64(registers[Int(Register.sampleRateDivider)]) + 1
        guard engine.setup.lowPass.baseRate > 1000, divisor < 8 else { return true }
        let ticks = (index - engine.clock.firstIndex) * divisor
        return ticks == 0 || (ticks + divisor) / 8 != ticks / 8
    }

    private mutating func store(_ value: Double, _ register: UInt8) {
        registers.storeBigEndian(counts(value, within: wholeRange), at: Int(register))
    }
}

/// A member of InvenSense's MPU family.
///
/// The values are from the data sheets (RM-MPU-6000A-00 r4.2, RM-MPU-6500A-00 r2.1, RM-MPU-9250A-00 r1.6, DS-000176,
/// DS-000143) and, if those were not available, from Linux' inv_mpu6050 and PX4's drivers. They are deliberately not
/// shared with the driver, so that a mistake in its table is detected.
enum VirtualMPUModel: Sendable {
    case mpu6050
    case mpu6500
    /// An MPU-6500 with an AK8963 on its auxiliary bus.
    case mpu9250
    case icm20602
    case icm20689

    /// The value of WHO_AM_I.
    var identity: UInt8 {
        switch self {
        case .mpu6050: 0x68
        case .mpu6500: 0x70
        case .mpu9250: 0x71
        case .icm20602: 0x12
        case .icm20689: 0x98
        }
    }

    /// The FIFO's capacity in bytes for a value of ACCEL_CONFIG2, whose bits 7…6 are the ICM-20689's FIFO_SIZE.
    func fifoSize(accelerometerConfiguration2: UInt8) -> Int {
        switch self {
        case .mpu6050: 1024
        case .mpu6500, .mpu9250: 512
        case .icm20602: 1008
        case .icm20689: 512 << Int(accelerometerConfiguration2 >> 6)
        }
    }

    /// The factory's value of YA_OFFS_H; `nil` if it has no effect here.
    var factoryYOffset: UInt8? { self == .icm20602 ? 0x15 : nil }

    /// Converts °C to counts.
    func temperatureCounts(_ celsius: Double) -> Double {
        switch self {
        case .mpu6050: (celsius - 36.53) * 340
        case .mpu6500, .mpu9250: (celsius - 21) * 333.87
        case .icm20602, .icm20689: (celsius - 25) * 326.8
        }
    }

    /// Whether ACCEL_CONFIG2 sets a low-pass for the accelerometer.
    var hasAccelerometerConfiguration2: Bool { self != .mpu6050 }

    /// Whether the self-test is that of the MPU-6050.
    var hasSelfTest: Bool { self == .mpu6050 }

    /// CONFIG and PWR_MGMT_1 after a reset.
    var configurationDefault: UInt8 {
        switch self {
        case .mpu6050, .mpu6500, .mpu9250: 0
        case .icm20602, .icm20689: 0x80
        }
    }
    var powerManagement1Default: UInt8 {
        switch self {
        case .mpu6050: Bit.sleep
        case .mpu6500, .mpu9250, .icm20602, .icm20689: Bit.sleep | 0x01
        }
    }

    /// The writable bits of a register.
    func writableBits(_ register: UInt8) -> UInt8 {
        switch (self, register) {
        case (.icm20602, Register.fifoEnable): 0x18
        case (.mpu6500, Register.accelerometerConfiguration2), (.mpu9250, Register.accelerometerConfiguration2):
            0x0F
        case (.icm20602, Register.accelerometerConfiguration2): 0x3F
        case (.icm20602, Register.configuration), (.icm20689, Register.configuration): 0xFF
        case (.mpu6500, Register.gyroscopeConfiguration), (.mpu9250, Register.gyroscopeConfiguration),
            (.icm20602, Register.gyroscopeConfiguration), (.icm20689, Register.gyroscopeConfiguration):
            0xFB
        default: Register.writableBits(register)
        }
    }

    /// The configured low-passes.
    func lowPass(configuration: UInt8, accelerometerConfiguration2: UInt8) -> LowPassSetting {
        let code = configuration & 0x07
        guard hasAccelerometerConfiguration2 else { return LowPassSetting(code: code) }
        return LowPassSetting(
            gyroscopeCode: code, accelerometerCode: accelerometerConfiguration2 & 0x07,
            isWideGyroscope: self == .mpu6500 || self == .mpu9250)
    }
}
