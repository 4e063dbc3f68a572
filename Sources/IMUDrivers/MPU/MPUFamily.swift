public import MotionCore

/// InvenSense's MPU-6050 and its kin, read through the FIFO: the scripts that bring one up, and its frames.
///
/// "RM" is RM-MPU-6000A-00 r4.2, "PS" is PS-MPU-6000A-00 r3.4; what the others have differently is in `MPUVariant`.
public struct MPUFamily: ChipPart {
    let variant: MPUVariant
    let configuration: MPUConfiguration

    public init?(identity: UInt8, settings: IMUSettings) {
        guard let variant = MPUVariant(identity: identity) else { return nil }
        self.variant = variant
        configuration = MPUConfiguration(settings, lowPass: variant.lowPass)
    }

    public init(settings: IMUSettings) {
        variant = .usual
        configuration = MPUConfiguration(settings)
    }

    public static var family: IMUFamily { .mpu6050 }
    /// AD0 low and high (PS 9.2).
    public static var addresses: [UInt8] { [0x68, 0x69] }
    public static var identityRegister: UInt8 { MPU6050Register.whoAmI }
    public static var largestFIFO: Int { 1024 }
    public var name: StaticString { variant.name }
    public var figures: ChipFigures { configuration.figures }

    /// Reading the count's high byte latches both (RM p. 43). The size is no multiple of a frame: once it has run over,
    /// frames begin anywhere.
    public var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: variant.fifoSize, frameLength: 14, count: ChipRegisters(first: MPU6050Register.fifoCount, count: 2),
            data: MPU6050Register.fifoData)
        fifo.tellsOverflow = !variant.isFIFOSizeCertain
        return fifo
    }

    public func celsius(_ raw: Int16) -> Double { Double(raw) / variant.countsPerKelvin + variant.celsiusAtZero }

    public func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0]) << 8 | Int(registers[1]) }

    // MARK: Scripts

    public func bringUp(_ step: Int) -> ChipStep? {
        switch step {
        case 0: return .enter(.resetting)
        case 1: return .write(MPU6050Register.powerManagement1, MPU6050Value.deviceReset)
        // The bit clears itself; less than 10 ms on the parts seen, 100 ms from power-up (RM p. 40, PS 6.3).
        case 2:
            return .waitFor(
                MPU6050Register.powerManagement1, 0, mask: MPU6050Value.deviceReset, every: MPU6050Timing.resetPoll,
                within: MPU6050Timing.resetDeadline)
        case 3: return .enter(.waking)
        case 4: return .write(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock)
        case 5: return .settle(variant.gyroscopeStartUp)
        case 6: return .wait(MPU6050Timing.clockSettling)
        case 7: return .check(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock)
        case 8: return .enter(.configuring)
        case 9: return configure(MPU6050Register.powerManagement2)
        case 10: return configure(MPU6050Register.sampleRateDivider)
        case 11: return configure(MPU6050Register.configuration)
        case 12: return configure(MPU6050Register.gyroscopeConfiguration)
        case 13: return configure(MPU6050Register.accelerometerConfiguration)
        case 14: return configure(MPU6050Register.interruptPin)
        case 15: return configure(MPU6050Register.interruptEnable)
        case 16 where variant.filtersAccelerometer:
            let register = MPU6050Register.accelerometerConfiguration2
            return variant.keepsAccelerometerFilter ? configure(register) : .write(register, expected(register))
        default: return nil
        }
    }

    public func startFIFO(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(MPU6050Register.fifoEnable, 0)
        case 1: .write(MPU6050Register.userControl, MPU6050Value.fifoReset)
        case 2: .noteTemperature(MPU6050Register.temperature)
        case 3: .write(MPU6050Register.fifoEnable, variant.fifoEnable)
        case 4: .write(MPU6050Register.userControl, MPU6050Value.fifoOn)
        default: nil
        }
    }

    public func confirmFIFO(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .check(MPU6050Register.fifoEnable, variant.fifoEnable)
        case 1: .check(MPU6050Register.userControl, MPU6050Value.fifoOn)
        default: nil
        }
    }

    public func sleep(_ step: Int) -> ChipStep? {
        step == 0
            ? .write(MPU6050Register.powerManagement1, MPU6050Value.sleep | MPU6050Value.gyroscopeClock) : nil
    }

    public func healthGroup(_ number: Int) -> ChipRegisters? {
        switch number {
        case 0: ChipRegisters(first: MPU6050Register.userControl, count: 3)
        case 1: ChipRegisters(first: MPU6050Register.sampleRateDivider, count: 4)
        case 2: ChipRegisters(first: MPU6050Register.fifoEnable, count: 1)
        case 3: ChipRegisters(first: MPU6050Register.interruptPin, count: 2)
        case 4 where variant.filtersAccelerometer && variant.keepsAccelerometerFilter:
            ChipRegisters(first: MPU6050Register.accelerometerConfiguration2, count: 1)
        default: nil
        }
    }

    public func expected(_ register: UInt8) -> UInt8 {
        switch register {
        case MPU6050Register.sampleRateDivider: configuration.sampleRateDivider
        case MPU6050Register.configuration: configuration.lowPass
        case MPU6050Register.gyroscopeConfiguration: configuration.gyroscopeRangeBits
        case MPU6050Register.accelerometerConfiguration: configuration.accelerometerRangeBits
        // The accelerometer's low-pass of the same number; zeros in all other bits.
        case MPU6050Register.accelerometerConfiguration2: configuration.lowPass
        case MPU6050Register.fifoEnable: variant.fifoEnable
        case MPU6050Register.interruptEnable: configuration.interrupts
        case MPU6050Register.userControl: MPU6050Value.fifoOn
        case MPU6050Register.powerManagement1: MPU6050Value.gyroscopeClock
        default: 0
        }
    }

    public func mask(_ register: UInt8) -> UInt8 {
        register == MPU6050Register.configuration ? variant.configurationMask : 0xFF
    }

    private func configure(_ register: UInt8) -> ChipStep {
        .set(register, expected(register), mask: mask(register))
    }

    // MARK: Frames

    /// Accelerometer, temperature and gyroscope in the order of their registers, each value two bytes with the high one
    /// first (RM p. 16, 29…31).
    ///
    /// Where all bytes are the same it is no frame: an empty FIFO repeats its last byte, a chip in reset sends zeros, and a
    /// bus without an answer reads as ones (RM p. 44).
    public func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        var frame = ChipFrame(ax: value(0), ay: value(1), az: value(2))
        let temperature = value(3)
        frame.temperature = temperature
        frame.gx = value(4)
        frame.gy = value(5)
        frame.gz = value(6)
        let word = UInt16(bitPattern: temperature)
        let isOneByteRepeated =
            word >> 8 == word & 0xFF && frame.ax == temperature && frame.ay == temperature && frame.az == temperature
            && frame.gx == temperature && frame.gy == temperature && frame.gz == temperature
        return isOneByteRepeated ? nil : frame
    }
}

/// A driver of an MPU-6050 or one of its kin.
public typealias MPU6050<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<MPUFamily, Bus, Clock, NoDataReadyLine>
