package import MotionCore

/// TDK InvenSense's ICM-42688-P and ICM-42605, as registers and scripts.
///
/// Its FIFO holds packets of 16 bytes with a header each, which reveals lost framing. It shares the address and the
/// identity register of the MPU family but has a different identity. "DS" is DS-000347 r1.8. What it does not say comes
/// from Linux inv_icm42600, ArduPilot's Invensensev3 and Betaflight, as noted. Of the ICM-42605's datasheet, DS-000292, only
/// table 5.3 was at hand: what the chip shares with the ICM-42688-P is taken from these drivers, which treat both alike.
package struct ICM42688Family: ChipPart {
    let variant: ICM42688Variant
    let configuration: ICM42688Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard let variant = ICM42688Variant(identity: identity) else { return nil }
        self.init(variant, settings)
    }

    package init(settings: IMUSettings) {
        self.init(.icm42688p, settings)
    }

    private init(_ variant: ICM42688Variant, _ settings: IMUSettings) {
        self.variant = variant
        configuration = ICM42688Configuration(settings, variant: variant)
    }

    package static var family: IMUFamily { .icm42688 }
    /// AP_AD0 low and high.
    package static var addresses: [UInt8] { [0x68, 0x69] }
    package static var identityRegister: RegisterAddress { ICM42688Register.whoAmI }
    package static var bankRegister: RegisterAddress? { ICM42688Register.bank }
    package static var abandonedBanks: [[RegisterSetting]] {
        [
            [
                RegisterSetting(ICM42688Register.bank, set: RegisterValue(ICM42688Register.interface6.bank)),
                RegisterSetting(ICM42688Register.interface6, set: ICM42688Value.plainBus).inSelectedBank,
            ],
            [
                RegisterSetting(
                    ICM42688Register.bank, set: RegisterValue(ICM42688Register.accelerometerAntiAlias.bank)),
                RegisterSetting(ICM42688Register.accelerometerAntiAlias, set: ICM42688Value.accelerometerAntiAlias)
                    .inSelectedBank,
                RegisterSetting(ICM42688Register.accelerometerAntiAliasSquare, set: ICM42688Value.antiAliasSquare)
                    .inSelectedBank,
            ],
        ]
    }
    package static var largestFIFO: Int { 2080 }
    package var name: StaticString { variant.name }
    package var unsourced: StaticString? { variant.unsourced }
    package var figures: ChipFigures { configuration.figures }

    /// While nothing is read, the FIFO holds 2048 bytes less one packet, and up to one packet more than 2048 bytes during
    /// a read (DS 6.3). So a larger count than `size` also means that packets may have been lost. INT_STATUS precedes the
    /// count and is read along with it.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: 2032, frameLength: 16, count: ChipRegisters(first: ICM42688Register.interruptStatus, count: 3),
            data: ICM42688Register.fifoData)
        fifo.reportsOverflow = true
        return fifo
    }

    /// A FIFO that has been full since the last read reports an overflow: more than it holds, in whole packets.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        guard registers[0] & ICM42688Value.fifoFull == 0 else { return (fifo.mostFrames + 1) * fifo.frameLength }
        return Int(registers[1]) << 8 | Int(registers[2])
    }

    /// From the packet's eight bits: 2.07 counts per kelvin from 25 °C (DS 14.6).
    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 2.07 }

    // MARK: Registers

    /// While a sensor runs, only rates, ranges and power may be changed (DS 12.9). So everything else, the pin included,
    /// precedes the sensors, and a restart of the FIFO only flushes it.
    package func addRegisters(to table: inout RegisterTable) {
        if variant.setsAntiAlias { addAntiAlias(to: &table) }
        table.add(ICM42688Register.interface, ICM42688Value.bigEndianBytes, in: .configuration)
        table.add(ICM42688Value.fixedScale, in: .configuration)
        table.addRange(ICM42688Register.gyroscope, configuration.gyroscopeBits, in: .configuration)
        table.addRange(ICM42688Register.accelerometer, configuration.accelerometerBits, in: .configuration)
        table.add(ICM42688Register.lowPass, configuration.lowPass, in: .configuration)
        table.add(ICM42688Register.gyroscopeFilter, ICM42688Value.gyroscopeSecondOrder, in: .configuration)
        table.add(ICM42688Register.accelerometerFilter, ICM42688Value.accelerometerSecondOrder, in: .configuration)
        table.add(ICM42688Register.fifoContent, ICM42688Value.packet3, in: .configuration)
        table.add(ICM42688Register.fifoMode, ICM42688Value.stream, in: .configuration)
        table.add(ICM42688Register.power, ICM42688Value.lowNoise, in: .sensors)
        guard configuration.signalsDataReady else { return }
        table.add(ICM42688Register.interruptPin, ICM42688Value.pushPullActiveHigh, in: .dataReady)
        table.add(ICM42688Register.interruptPulse, ICM42688Value.shortPulse, in: .dataReady)
        table.add(ICM42688Register.interruptSource, ICM42688Value.dataReadyOnPin1, in: .dataReady)
    }

    /// The widest anti-alias filters.
    private func addAntiAlias(to table: inout RegisterTable) {
        table.add(ICM42688Register.gyroscopeAntiAlias, ICM42688Value.gyroscopeAntiAlias, in: .waking)
        table.add(ICM42688Register.gyroscopeAntiAliasSquare, ICM42688Value.antiAliasSquare, in: .waking)
        table.add(ICM42688Register.gyroscopeAntiAliasShift, ICM42688Value.antiAliasShift, in: .waking)
        table.add(ICM42688Register.accelerometerAntiAlias, ICM42688Value.accelerometerAntiAlias, in: .waking)
        table.add(ICM42688Register.accelerometerAntiAliasSquare, ICM42688Value.antiAliasSquare, in: .waking)
        table.add(ICM42688Register.accelerometerAntiAliasShift, ICM42688Value.antiAliasShift, in: .waking)
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(ICM42688Register.bank, .none))
        script.add(.write(ICM42688Register.device, ICM42688Value.softReset))
        script.add(
            .waitFor(
                RegisterSetting(
                    ICM42688Register.interruptStatus, set: ICM42688Value.resetDone, clear: .none),
                every: ICM42688Timing.resetPoll, within: ICM42688Timing.resetDeadline))
        script.add(.enter(.configuring))
        // Switches a spike filter on, which may hide the acknowledgement of this write (Linux inv_icm42600_i2c.c).
        script.add(.attempt(ICM42688Register.interface6, ICM42688Value.plainBus))
        script.add(.configure(.waking))
        script.add(.write(ICM42688Register.drive, ICM42688Value.slewRates))
        script.add(.check(RegisterSetting(ICM42688Register.drive, set: ICM42688Value.slewRates)))
        script.add(.configure(.configuration))
        script.add(.configure(.dataReady))
        script.add(.apply(.sensors))
        script.add(
            .settle(ICM42688Timing.gyroscopeStartUp + ICM42688Timing.settlingDelays * configuration.figures.delay))
        script.add(.wait(ICM42688Timing.power))
        script.add(.verify(.sensors))
    }

    /// The first count after a flush is 0, whatever the FIFO holds (Linux inv_icm42600_buffer.c).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(ICM42688Register.signalPathReset, ICM42688Value.flush))
        script.add(.discardCount)
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(ICM42688Register.power, .none))
    }

    // MARK: Frames

    /// Header, accelerometer, gyroscope, eight bits of temperature, timestamp; high bytes first (DS 6.1).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
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

/// A driver for an ICM-42688-P or ICM-42605.
package typealias ICM42688<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<ICM42688Family, Bus, Clock, NoDataReadyLine>
