public import MotionCore

/// ST's LSM6DS3, LSM6DS3TR-C and LSM6DSO with their kin, read through the FIFO: the scripts that bring one up, and its
/// frames.
///
/// The temperature stays out of the FIFO: one kind has no room for it, the other takes it at a rate of its own, and a frame
/// is to be always the same. What differs from one to another is in `LSM6DSVariant`.
public struct LSM6DSFamily: ChipPart {
    let variant: LSM6DSVariant
    let configuration: LSM6DSConfiguration

    public init?(identity: UInt8, settings: IMUSettings) {
        guard let variant = LSM6DSVariant(identity: identity) else { return nil }
        self.variant = variant
        configuration = LSM6DSConfiguration(settings, variant: variant)
    }

    public init(settings: IMUSettings) {
        variant = .lsm6ds3trc
        configuration = LSM6DSConfiguration(settings, variant: variant)
    }

    public static var family: IMUFamily { .lsm6ds }
    /// SDO/SA0 low and high (datasheets, "I²C operation").
    public static var addresses: [UInt8] { [0x6A, 0x6B] }
    public static var identityRegister: UInt8 { LSM6DSRegister.whoAmI }
    public static var largestFIFO: Int { 8192 }
    public var name: StaticString { variant.name }
    public var figures: ChipFigures { configuration.figures }

    /// Untagged: six words of two bytes, and the pattern is read along with the count. Tagged: two words of seven bytes.
    public var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: variant.fifoSize, frameLength: variant.isTagged ? 14 : 12,
            count: ChipRegisters(first: LSM6DSRegister.fifoStatus1, count: variant.isTagged ? 2 : 4),
            data: variant.isTagged ? LSM6DSRegister.taggedData : LSM6DSRegister.untaggedData)
        fifo.temperature = ChipRegisters(first: LSM6DSRegister.temperature, count: 2)
        fifo.tellsOverflow = true
        return fifo
    }

    public var dataReadyPulse: DataReadyPulse { variant.pulsesDataReady ? .everySample : .never }

    public func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / variant.countsPerKelvin }

    /// An untagged FIFO also says which word of a frame comes next, FIFO_STATUS3 and 4: any but the first, and frames
    /// would be read askew, which a count that is no multiple of a frame says.
    public func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let flags = registers[1]
        let words = Int(flags & variant.countMask) << 8 | Int(registers[0])
        guard flags & (variant.isTagged ? LSM6DSValue.taggedOverrun : LSM6DSValue.untaggedOverrun) == 0 else {
            // More than it holds, and whole frames: reading it again would find the flag gone.
            return (fifo.mostFrames + 1) * fifo.frameLength
        }
        guard !variant.isTagged else { return 7 * words }
        guard flags & LSM6DSValue.untaggedEmpty == 0 else { return 0 }
        let isFirst = registers[2] == 0 && registers[3] & 0x03 == 0
        return isFirst ? 2 * words : 2 * words | 1
    }

    // MARK: Scripts

    public func bringUp(_ step: Int) -> ChipStep? {
        switch step {
        case 0: return .enter(.resetting)
        case 1: return .write(LSM6DSRegister.control3, LSM6DSValue.addressIncrement | LSM6DSValue.reset)
        case 2:
            return .waitFor(
                LSM6DSRegister.control3, 0, mask: LSM6DSValue.reset, every: LSM6DSTiming.resetPoll,
                within: LSM6DSTiming.resetDeadline)
        case 3: return .enter(.waking)
        case 4: return configure(LSM6DSRegister.control3)
        case 5: return .enter(.configuring)
        case 6: return configure(LSM6DSRegister.control4)
        case 7: return configure(LSM6DSRegister.control5)
        case 8: return configure(LSM6DSRegister.control6)
        case 9: return configure(LSM6DSRegister.control7)
        case 10: return configure(LSM6DSRegister.control8)
        case 11: return configure(fifoControl + 2)
        // The sensors last: from here on they take samples.
        case 12: return configure(LSM6DSRegister.gyroscope)
        case 13: return configure(LSM6DSRegister.accelerometer)
        case 14: return .settle(LSM6DSTiming.gyroscopeStartUp)
        case 15 where variant.isTagged: return configure(LSM6DSRegister.control9)
        case 15: return .wait(LSM6DSTiming.bothStarting)
        case 16 where variant.isTagged: return .wait(LSM6DSTiming.bothStarting)
        case 16...18 where configuration.interrupts != 0: return signal(step - (variant.isTagged ? 17 : 16))
        default: return nil
        }
    }

    /// The steps that let the pin pulse.
    private func signal(_ step: Int) -> ChipStep? {
        switch step {
        case 0: configure(LSM6DSRegister.dataReadyPulse)
        case 1: configure(LSM6DSRegister.interrupt1)
        default: nil
        }
    }

    /// Off, which empties it, and on again. An overflow of before that is still latched goes by reading it.
    public func startFIFO(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(fifoMode, LSM6DSValue.bypass)
        case 1 where variant.isTagged: .check(LSM6DSRegister.fifoStatus2, 0, mask: 0)
        case 1: .write(fifoMode, expected(fifoMode))
        case 2 where variant.isTagged: .write(fifoMode, expected(fifoMode))
        default: nil
        }
    }

    public func confirmFIFO(_ step: Int) -> ChipStep? {
        step == 0 ? .check(fifoMode, expected(fifoMode)) : nil
    }

    /// FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    public func sleep(_ step: Int) -> ChipStep? {
        switch step {
        case 0: .write(fifoMode, LSM6DSValue.bypass)
        case 1: .write(LSM6DSRegister.gyroscope, 0)
        case 2: .write(LSM6DSRegister.accelerometer, 0)
        default: nil
        }
    }

    public func healthGroup(_ number: Int) -> ChipRegisters? {
        switch number {
        case 0: ChipRegisters(first: LSM6DSRegister.accelerometer, count: 4)
        case 1: ChipRegisters(first: fifoControl, count: 4)
        case 2: ChipRegisters(first: LSM6DSRegister.control5, count: 4)
        case 3 where variant.isTagged: ChipRegisters(first: LSM6DSRegister.control9, count: 1)
        case 3: ChipRegisters(first: LSM6DSRegister.untaggedControl5, count: 1)
        case 4 where configuration.interrupts != 0: ChipRegisters(first: LSM6DSRegister.interrupt1, count: 1)
        case 5 where configuration.interrupts != 0: ChipRegisters(first: LSM6DSRegister.dataReadyPulse, count: 1)
        default: nil
        }
    }

    public func expected(_ register: UInt8) -> UInt8 {
        let rate = configuration.rateCode
        return switch register {
        case LSM6DSRegister.accelerometer: rate << 4 | configuration.accelerometerRangeBits
        case LSM6DSRegister.gyroscope: rate << 4 | configuration.gyroscopeRangeBits
        case LSM6DSRegister.dataReadyPulse: configuration.pulses
        case LSM6DSRegister.interrupt1: configuration.interrupts
        case LSM6DSRegister.control3: LSM6DSValue.blockDataUpdate | LSM6DSValue.addressIncrement
        case LSM6DSRegister.control4 where variant.filtersGyroscope: LSM6DSValue.gyroscopeFilter
        case LSM6DSRegister.control9 where variant.isTagged: LSM6DSValue.plainBus
        case LSM6DSRegister.untaggedControl3 where !variant.isTagged: LSM6DSValue.noDecimation
        case LSM6DSRegister.untaggedControl5 where !variant.isTagged: rate << 3 | LSM6DSValue.continuous
        case LSM6DSRegister.taggedControl3 where variant.isTagged: rate << 4 | rate
        case LSM6DSRegister.taggedControl4 where variant.isTagged: LSM6DSValue.continuous
        default: 0
        }
    }

    private func configure(_ register: UInt8) -> ChipStep { .set(register, expected(register)) }

    /// FIFO_CTRL1, after which comes, two further, what of the sensors goes into the FIFO; and the register of its mode.
    private var fifoControl: UInt8 {
        variant.isTagged ? LSM6DSRegister.taggedControl1 : LSM6DSRegister.untaggedControl1
    }
    private var fifoMode: UInt8 {
        variant.isTagged ? LSM6DSRegister.taggedControl4 : LSM6DSRegister.untaggedControl5
    }

    // MARK: Frames

    /// Gyroscope and accelerometer, each value two bytes with the low one first; `nil` where that cannot be.
    ///
    /// Without tags the gyroscope's data set comes first (Linux st_lsm6dsx_buffer.c).
    public func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        variant.isTagged
            ? taggedFrame(bytes, at: offset) : frame(bytes, gyroscope: offset, accelerometer: offset + 6)
    }

    /// Two words of one time slot, in either order: TAG_CNT, bits 2…1 of the tag, counts the slots.
    private func taggedFrame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let first = bytes[offset]
        let second = bytes[offset + 7]
        guard (first ^ second) & 0x06 == 0 else { return nil }
        switch (first >> 3, second >> 3) {
        case (LSM6DSValue.gyroscopeTag, LSM6DSValue.accelerometerTag):
            return frame(bytes, gyroscope: offset + 1, accelerometer: offset + 8)
        case (LSM6DSValue.accelerometerTag, LSM6DSValue.gyroscopeTag):
            return frame(bytes, gyroscope: offset + 8, accelerometer: offset + 1)
        default:
            return nil
        }
    }

    /// Where all bytes are the same it is no frame, but an empty FIFO, a chip in reset or a bus without an answer.
    private func frame(_ bytes: UnsafeRawBufferPointer, gyroscope: Int, accelerometer: Int) -> ChipFrame? {
        func value(_ offset: Int) -> Int16 {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))
        }
        var frame = ChipFrame(
            ax: value(accelerometer), ay: value(accelerometer + 2), az: value(accelerometer + 4))
        frame.gx = value(gyroscope)
        frame.gy = value(gyroscope + 2)
        frame.gz = value(gyroscope + 4)
        let word = UInt16(bitPattern: frame.ax)
        let isOneByteRepeated =
            word >> 8 == word & 0xFF && frame.ay == frame.ax && frame.az == frame.ax && frame.gx == frame.ax
            && frame.gy == frame.ax && frame.gz == frame.ax
        return isOneByteRepeated ? nil : frame
    }
}

/// A driver of an LSM6DS3 or one of its kin.
public typealias LSM6DS<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<LSM6DSFamily, Bus, Clock, NoDataReadyLine>
