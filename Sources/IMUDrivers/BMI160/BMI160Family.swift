public import MotionCore

/// Bosch's BMI160, as scripts.
///
/// Its FIFO is read without headers: twelve bytes a frame, the gyroscope first. It drops whole frames when it is full, and
/// a length that is no multiple of a frame says that bytes were lost. Registers, codes, ranges, rates, pin and FIFO content were
/// compared to Linux bmi160_core.c and Bosch's BMI160_SensorAPI 3.8.1. Bandwidths and the thermometer's figures are the data
/// sheet's (BST-BMI160-DS000), which was not at hand to compare.
public struct BMI160Family: ChipPart {
    let configuration: BMI160Configuration

    public init?(identity: UInt8, settings: IMUSettings) {
        guard identity == BMI160Value.identity else { return nil }
        self.init(settings: settings)
    }

    public init(settings: IMUSettings) {
        configuration = BMI160Configuration(settings)
    }

    public static var family: IMUFamily { .bmi160 }
    /// SDO low and high (section 3.2).
    public static var addresses: [UInt8] { [0x68, 0x69] }
    public static var identityRegister: UInt8 { BMI160Register.chipID }
    public static var largestFIFO: Int { 1024 }
    public var name: StaticString { "BMI160" }
    public var figures: ChipFigures { configuration.figures }

    public var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: 1024, frameLength: 12, count: ChipRegisters(first: BMI160Register.fifoLength, count: 2),
            data: BMI160Register.fifoData)
        fifo.temperature = ChipRegisters(first: BMI160Register.temperature, count: 2)
        return fifo
    }

    public func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[1] & 0x07) << 8 | Int(registers[0]) }

    /// 23 °C and 1/512 K a count (register 0x20).
    public func celsius(_ raw: Int16) -> Double {
        raw == BMI160Value.invalid ? .nan : 23 + Double(raw) / 512
    }

    // MARK: Scripts

    /// The sensors wake first: while they are suspended, a write has to be followed by 450 µs of silence (section 3.2.1).
    public func bringUp(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .enter(.resetting)
        case 1: .write(BMI160Register.command, BMI160Value.softReset)
        case 2: .wait(BMI160Timing.reset)
        case 3: .enter(.waking)
        case 4: .write(BMI160Register.command, BMI160Value.accelerometerNormal)
        case 5: .wait(BMI160Timing.accelerometerStart)
        case 6: .write(BMI160Register.command, BMI160Value.gyroscopeNormal)
        case 7:
            .waitFor(
                BMI160Register.powerStatus, BMI160Value.bothNormal, mask: BMI160Value.powerBits,
                every: BMI160Timing.gyroscopePoll, within: BMI160Timing.gyroscopeDeadline)
        case 8: .enter(.configuring)
        case 9: configure(BMI160Register.accelerometerConfiguration)
        case 10: configure(BMI160Register.accelerometerRange)
        case 11: configure(BMI160Register.gyroscopeConfiguration)
        case 12: configure(BMI160Register.gyroscopeRange)
        case 13: configure(BMI160Register.fifoDownsampling)
        case 14: configure(BMI160Register.fifoWatermark)
        case 15: .check(BMI160Register.error, 0, mask: BMI160Value.fatalError)
        case 16 where configuration.signalsDataReady: configure(BMI160Register.interruptOutput)
        case 17 where configuration.signalsDataReady: configure(BMI160Register.interruptLatch)
        case 18 where configuration.signalsDataReady: configure(BMI160Register.interruptMap)
        case 19 where configuration.signalsDataReady: configure(BMI160Register.interruptEnable)
        default: nil
        }
    }

    public func startFIFO(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(BMI160Register.fifoConfiguration, BMI160Value.motionWithoutHeaders)
        case 1: .write(BMI160Register.command, BMI160Value.fifoFlush)
        default: nil
        }
    }

    public func confirmFIFO(_ step: Int) -> ChipStep? {
        step == 0 ? .check(BMI160Register.fifoConfiguration, BMI160Value.motionWithoutHeaders) : nil
    }

    public func sleep(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(BMI160Register.command, BMI160Value.gyroscopeSuspend)
        case 1: .write(BMI160Register.command, BMI160Value.accelerometerSuspend)
        default: nil
        }
    }

    public func healthGroup(_ number: Int) -> ChipRegisters? {
        switch number {
        case 0: ChipRegisters(first: BMI160Register.error, count: 2)
        case 1: ChipRegisters(first: BMI160Register.accelerometerConfiguration, count: 4)
        case 2: ChipRegisters(first: BMI160Register.fifoDownsampling, count: 3)
        case 3 where configuration.signalsDataReady: ChipRegisters(first: BMI160Register.interruptEnable, count: 4)
        case 4 where configuration.signalsDataReady: ChipRegisters(first: BMI160Register.interruptMap, count: 1)
        default: nil
        }
    }

    public func expected(_ register: UInt8) -> UInt8 {
        switch register {
        case BMI160Register.powerStatus: BMI160Value.bothNormal
        case BMI160Register.accelerometerConfiguration, BMI160Register.gyroscopeConfiguration:
            BMI160Value.normalBandwidth | configuration.rateCode
        case BMI160Register.accelerometerRange: configuration.accelerometerRangeBits
        case BMI160Register.gyroscopeRange: configuration.gyroscopeRangeBits
        case BMI160Register.fifoDownsampling: BMI160Value.filteredData
        case BMI160Register.fifoWatermark: BMI160Value.watermark
        case BMI160Register.fifoConfiguration: BMI160Value.motionWithoutHeaders
        case BMI160Register.interruptEnable where configuration.signalsDataReady: BMI160Value.dataReady
        case BMI160Register.interruptOutput where configuration.signalsDataReady: BMI160Value.pushPullActiveHigh
        case BMI160Register.interruptMap where configuration.signalsDataReady: BMI160Value.dataReadyOnPin1
        default: 0
        }
    }

    public func mask(_ register: UInt8) -> UInt8 {
        switch register {
        case BMI160Register.error: BMI160Value.fatalError
        case BMI160Register.powerStatus: BMI160Value.powerBits
        default: 0xFF
        }
    }

    private func configure(_ register: UInt8) -> ChipStep { .set(register, expected(register)) }

    // MARK: Frames

    /// Gyroscope and accelerometer, low bytes first (section 2.5.2).
    ///
    /// A value that the chip does not have reads as -32768. All bits one on every axis is a bus that nobody drives.
    public func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        var frame = ChipFrame(ax: value(3), ay: value(4), az: value(5))
        frame.gx = value(0)
        frame.gy = value(1)
        frame.gz = value(2)
        guard frame.gx != BMI160Value.invalid, frame.ax != BMI160Value.invalid else { return nil }
        let ones = frame.gx & frame.gy & frame.gz & frame.ax & frame.ay & frame.az
        return ones == -1 ? nil : frame
    }
}

/// A driver of a BMI160.
public typealias BMI160<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<BMI160Family, Bus, Clock, NoDataReadyLine>
