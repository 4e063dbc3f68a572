package import MotionCore

/// ST's LSM6DS3, LSM6DS3TR-C, LSM6DSO and their relatives, read through the FIFO: registers, scripts and frames.
///
/// The temperature is not put into the FIFO: one kind of FIFO has no room for it, the other batches it at a separate
/// rate, and frames must have a fixed layout. `LSM6DSVariant` holds the differences between the parts.
package struct LSM6DSPart<Kind: ChipKind>: ChipPart {
    let variant: LSM6DSVariant
    let configuration: LSM6DSConfiguration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard let usual = LSM6DSVariant(identity: identity) else { return nil }
        if Self.isLSM6DSO32, usual != .lsm6dso { return nil }
        variant = Self.isLSM6DSO32 ? .lsm6dso32 : usual
        configuration = LSM6DSConfiguration(settings, variant: variant)
    }

    package init(settings: IMUSettings) {
        variant = Self.isLSM6DSO32 ? .lsm6dso32 : .lsm6ds3trc
        configuration = LSM6DSConfiguration(settings, variant: variant)
    }

    package static var family: IMUFamily { Kind.family }
    private static var isLSM6DSO32: Bool { family == .lsm6dso32 }
    /// SDO/SA0 low and high (datasheets, "I²C operation").
    package static var addresses: [UInt8] { [0x6A, 0x6B] }
    package static var identityRegister: RegisterAddress { LSM6DSRegister.whoAmI }
    package static var largestFIFO: Int { 4096 }
    package var name: StaticString { variant.name }
    package var unsourced: StaticString? { variant.unsourced }
    package var figures: ChipFigures { configuration.figures }

    /// Untagged: six words of two bytes; the pattern is read along with the count. Tagged: two words of seven bytes.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: variant.fifoSize, frameLength: variant.isTagged ? 14 : 12,
            count: ChipRegisters(first: LSM6DSRegister.fifoStatus1, count: variant.isTagged ? 2 : 4),
            data: variant.isTagged ? LSM6DSRegister.taggedData : LSM6DSRegister.untaggedData)
        fifo.temperature = ChipRegisters(first: LSM6DSRegister.temperature, count: 2)
        fifo.reportsOverflow = true
        return fifo
    }

    package var dataReadyPulse: DataReadyPulse { variant.pulsesDataReady ? .everySample : .never }

    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / variant.countsPerKelvin }

    /// An untagged FIFO also reports which word of a frame comes next, in FIFO_STATUS3 and 4. If it is not the first,
    /// frames would be misaligned, which is reported as a count that is not a multiple of a frame.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let flags = registers[1]
        let words = Int(flags & variant.countMask) << 8 | Int(registers[0])
        guard flags & (variant.isTagged ? LSM6DSValue.taggedOverrun : LSM6DSValue.untaggedOverrun) == 0 else {
            // More than the FIFO holds, and a whole number of frames: a second read would find the flag cleared.
            return (fifo.mostFrames + 1) * fifo.frameLength
        }
        guard !variant.isTagged else { return 7 * words }
        guard flags & LSM6DSValue.untaggedEmpty == 0 else { return 0 }
        let isFirst = registers[2] == 0 && registers[3] & 0x03 == 0
        return isFirst ? 2 * words : 2 * words | 1
    }

    // MARK: Registers

    /// The sensors come last, because they start sampling at once.
    package func addRegisters(to table: inout RegisterTable) {
        let filter = variant.filtersGyroscope ? LSM6DSValue.gyroscopeFilter : .none
        let control4 = filter | LSM6DSValue.dataReadyMask
        let rate = configuration.rateCode
        table.add(
            LSM6DSRegister.control3, LSM6DSValue.blockDataUpdate | LSM6DSValue.addressIncrement, in: .waking)
        table.add(LSM6DSRegister.control4, control4, in: .configuration)
        if variant.isTagged {
            table.add(LSM6DSRegister.taggedControl1, .none, in: .observed)
            table.add(LSM6DSRegister.taggedControl2, .none, in: .observed)
        } else {
            table.add(LSM6DSRegister.untaggedControl1, .none, in: .observed)
            table.add(LSM6DSRegister.untaggedControl2, .none, in: .observed)
            table.add(LSM6DSRegister.untaggedControl4, .none, in: .observed)
        }
        table.add(LSM6DSRegister.control5, .none, in: .configuration)
        table.add(LSM6DSRegister.control6, .none, in: .configuration)
        table.add(LSM6DSRegister.control7, .none, in: .configuration)
        if variant.hasRangeMode {
            table.addRange(LSM6DSRegister.control8, .none, in: .configuration)
        } else {
            table.add(LSM6DSRegister.control8, .none, in: .configuration)
        }
        if variant.isTagged {
            table.add(LSM6DSRegister.taggedControl3, RegisterValue(rate << 4 | rate), in: .configuration)
        } else {
            table.add(LSM6DSRegister.untaggedControl3, LSM6DSValue.noDecimation, in: .configuration)
        }
        let rateOfSensors = RegisterValue(rate << 4)
        table.addRange(LSM6DSRegister.gyroscope, rateOfSensors | configuration.gyroscopeRangeBits, in: .sensors)
        table.addRange(LSM6DSRegister.accelerometer, rateOfSensors | configuration.accelerometerRangeBits, in: .sensors)
        if variant.isTagged { table.add(LSM6DSRegister.control9, LSM6DSValue.plainBus, in: .sensors) }
        table.add(fifoMode, fifoOn, in: .fifo)
        guard configuration.interrupts != .none else { return }
        table.add(LSM6DSRegister.dataReadyPulse, configuration.pulses, in: .dataReady)
        table.add(LSM6DSRegister.interrupt1, configuration.interrupts, in: .dataReady)
    }

    /// The register of the FIFO's mode, and its value while samples flow.
    private var fifoMode: RegisterAddress {
        variant.isTagged ? LSM6DSRegister.taggedControl4 : LSM6DSRegister.untaggedControl5
    }
    private var fifoOn: RegisterValue {
        let rate = RegisterValue(configuration.rateCode << 3)
        return variant.isTagged ? LSM6DSValue.continuous : rate | LSM6DSValue.continuous
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(LSM6DSRegister.control3, LSM6DSValue.addressIncrement | LSM6DSValue.reset))
        script.add(
            .waitFor(
                RegisterSetting(LSM6DSRegister.control3, clear: LSM6DSValue.reset), every: LSM6DSTiming.resetPoll,
                within: LSM6DSTiming.resetDeadline))
        script.add(.enter(.waking))
        script.add(.configure(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        script.add(.settle(settlingTime))
        script.add(.wait(LSM6DSTiming.bothStarting))
        script.add(.configure(.dataReady))
    }

    /// Until the gyroscope has turned on and its filters have settled, seconds: with one sample more, because samples come
    /// at unknown phases, and with a chip that runs 10 % slow.
    private var settlingTime: Double {
        let samples = LSM6DSConfiguration.settlingSamples(code: configuration.rateCode) + 1
        return LSM6DSTiming.gyroscopeTurnOn + 1.1 * samples / rate
    }

    /// Switches the FIFO off, which empties it, and on again. Reading the status clears a latched overflow.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(fifoMode, LSM6DSValue.bypass))
        if variant.isTagged { script.add(.read(LSM6DSRegister.fifoStatus2)) }
        script.add(.apply(.fifo))
    }

    /// Switches FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(fifoMode, LSM6DSValue.bypass))
        script.add(.write(LSM6DSRegister.gyroscope, .none))
        script.add(.write(LSM6DSRegister.accelerometer, .none))
    }

    // MARK: Frames

    /// With DRDY_MASK, the chip replaces samples by 0x7FFD … 0x7FFF until its last filters have settled (AN5040 4.3.1). The
    /// mark does not cover the gyroscope's first filter, LPF1.
    package func isUnsettled(_ frame: ChipFrame) -> Bool {
        let first = LSM6DSValue.firstMark
        return frame.gx >= first || frame.gy >= first || frame.gz >= first || frame.ax >= first || frame.ay >= first
            || frame.az >= first
    }

    /// Gyroscope and accelerometer; each value is two bytes, low byte first. `nil` if the bytes are not a valid frame.
    ///
    /// Without tags, the gyroscope's data set comes first (Linux st_lsm6dsx_buffer.c).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        variant.isTagged
            ? taggedFrame(bytes, at: offset) : frame(bytes, gyroscope: offset, accelerometer: offset + 6)
    }

    /// Two words of one time slot, in either order. TAG_CNT, bits 2…1 of the tag, counts the slots.
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

    /// If all bytes are equal, it is not a frame but an empty FIFO, a chip in reset or a bus without an answer.
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

/// The chips that the identities usually belong to.
package enum LSM6DSUsual: ChipKind {
    package static var family: IMUFamily { .lsm6ds }
}

/// The LSM6DSO32, which the user names.
package enum LSM6DSO32Named: ChipKind {
    package static var family: IMUFamily { .lsm6dso32 }
}

package typealias LSM6DSFamily = LSM6DSPart<LSM6DSUsual>
package typealias LSM6DSO32Family = LSM6DSPart<LSM6DSO32Named>

/// A driver for an LSM6DS3 or one of its relatives.
package typealias LSM6DS<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<LSM6DSFamily, Bus, Clock, NoDataReadyLine>
