public import MotionCore

/// TDK InvenSense's ICM-42688-P, as scripts.
///
/// Its FIFO holds packets of 16 bytes with a header each, which say by themselves whether it has slipped. It has address and
/// identity register of the MPU family and another identity. Its registers, codes and packets
/// are as in Linux inv_icm42600 and Betaflight, to which they were compared; DS-000347 itself was not at hand.
public struct ICM42688Family: ChipPart {
    let configuration: ICM42688Configuration

    public init?(identity: UInt8, settings: IMUSettings) {
        guard identity == ICM42688Value.identity else { return nil }
        self.init(settings: settings)
    }

    public init(settings: IMUSettings) {
        configuration = ICM42688Configuration(settings)
    }

    public static var family: IMUFamily { .icm42688 }
    /// AP_AD0 low and high.
    public static var addresses: [UInt8] { [0x68, 0x69] }
    public static var identityRegister: UInt8 { ICM42688Register.whoAmI }
    public static var largestFIFO: Int { 2048 }
    public var name: StaticString { "ICM-42688-P" }
    public var figures: ChipFigures { configuration.figures }

    public var fifo: ChipFIFO {
        ChipFIFO(
            size: 2048, frameLength: 16, count: ChipRegisters(first: ICM42688Register.fifoCount, count: 2),
            data: ICM42688Register.fifoData)
    }

    public func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0]) << 8 | Int(registers[1]) }

    /// Of the eight bits in a packet: 2.07 counts a kelvin from 25 °C.
    public func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 2.07 }

    // MARK: Scripts

    public func bringUp(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .enter(.resetting)
        case 1: .write(ICM42688Register.bank, 0)
        case 2: .write(ICM42688Register.device, ICM42688Value.softReset)
        case 3:
            .waitFor(
                ICM42688Register.interruptStatus, ICM42688Value.resetDone, mask: ICM42688Value.resetDone,
                every: ICM42688Timing.resetPoll, within: ICM42688Timing.resetDeadline)
        case 4: .enter(.configuring)
        case 5: configure(ICM42688Register.interface)
        case 6: configure(ICM42688Register.gyroscope)
        case 7: configure(ICM42688Register.accelerometer)
        case 8: configure(ICM42688Register.lowPass)
        case 9: configure(ICM42688Register.gyroscopeFilter)
        case 10: configure(ICM42688Register.accelerometerFilter)
        case 11: configure(ICM42688Register.fifoContent)
        case 12: .write(ICM42688Register.power, ICM42688Value.lowNoise)
        case 13: .settle(ICM42688Timing.gyroscopeStartUp)
        case 14: .wait(ICM42688Timing.power)
        case 15: .check(ICM42688Register.power, ICM42688Value.lowNoise)
        case 16 where configuration.signalsDataReady: configure(ICM42688Register.interruptPin)
        case 17 where configuration.signalsDataReady: configure(ICM42688Register.interruptPulse)
        case 18 where configuration.signalsDataReady: configure(ICM42688Register.interruptSource)
        default: nil
        }
    }

    public func startFIFO(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(ICM42688Register.fifoMode, ICM42688Value.bypass)
        case 1: .write(ICM42688Register.signalPathReset, ICM42688Value.flush)
        case 2: .write(ICM42688Register.fifoMode, ICM42688Value.stream)
        default: nil
        }
    }

    public func confirmFIFO(_ step: Int) -> ChipStep? {
        step == 0 ? .check(ICM42688Register.fifoMode, ICM42688Value.stream) : nil
    }

    public func sleep(_ step: Int) -> ChipStep? { step == 0 ? .write(ICM42688Register.power, 0) : nil }

    public func healthGroup(_ number: Int) -> ChipRegisters? {
        switch number {
        case 0: ChipRegisters(first: ICM42688Register.interface, count: 4)
        case 1: ChipRegisters(first: ICM42688Register.accelerometer, count: 4)
        case 2: ChipRegisters(first: ICM42688Register.fifoMode, count: 1)
        case 3: ChipRegisters(first: ICM42688Register.fifoContent, count: 1)
        case 4 where configuration.signalsDataReady: ChipRegisters(first: ICM42688Register.interruptPin, count: 1)
        case 5 where configuration.signalsDataReady: ChipRegisters(first: ICM42688Register.interruptPulse, count: 2)
        default: nil
        }
    }

    public func expected(_ register: UInt8) -> UInt8 {
        switch register {
        case ICM42688Register.interface: ICM42688Value.bigEndianBytes
        case ICM42688Register.gyroscope: configuration.gyroscopeBits
        case ICM42688Register.accelerometer: configuration.accelerometerBits
        case ICM42688Register.lowPass: configuration.lowPass
        case ICM42688Register.gyroscopeFilter: ICM42688Value.gyroscopeSecondOrder
        case ICM42688Register.accelerometerFilter: ICM42688Value.accelerometerSecondOrder
        case ICM42688Register.fifoContent: ICM42688Value.packet3
        case ICM42688Register.power: ICM42688Value.lowNoise
        case ICM42688Register.fifoMode: ICM42688Value.stream
        case ICM42688Register.interruptPin: ICM42688Value.pushPullActiveHigh
        case ICM42688Register.interruptPulse: ICM42688Value.shortPulse
        case ICM42688Register.interruptSource: ICM42688Value.dataReadyOnPin1
        default: 0
        }
    }

    /// INTF_CONFIG1, which lies between the others, keeps its reset value.
    public func mask(_ register: UInt8) -> UInt8 { register == 0x4D ? 0 : 0xFF }

    private func configure(_ register: UInt8) -> ChipStep { .set(register, expected(register)) }

    // MARK: Frames

    /// Header, accelerometer, gyroscope, eight bits of temperature, timestamp; high bytes first.
    public func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        guard bytes[offset] & ICM42688Value.headerBits == ICM42688Value.header else { return nil }
        func value(_ index: Int) -> Int16 {
            Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 1 + 2 * index, as: Int16.self))
        }
        var frame = ChipFrame(ax: value(0), ay: value(1), az: value(2))
        frame.gx = value(3)
        frame.gy = value(4)
        frame.gz = value(5)
        frame.temperature = Int16(Int8(bitPattern: bytes[offset + 13]))
        return frame.ax == ICM42688Value.invalid || frame.gx == ICM42688Value.invalid ? nil : frame
    }
}

/// A driver of an ICM-42688-P.
public typealias ICM42688<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<ICM42688Family, Bus, Clock, NoDataReadyLine>
