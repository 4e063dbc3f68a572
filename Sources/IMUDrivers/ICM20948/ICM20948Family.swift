package import MotionCore

/// TDK InvenSense's ICM-20948, as registers and scripts: accelerometer and gyroscope. Its magnetometer is a device of its
/// own, an AK09916, which this driver at most connects with the bus.
///
/// It has the address of the MPU family, but an identity in another register, and settings in bank 2. The driver selects
/// that only while it configures or checks the chip.
package struct ICM20948Family: ChipPart {
    let configuration: ICM20948Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == ICM20948Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = ICM20948Configuration(settings)
    }

    package static var family: IMUFamily { .icm20948 }
    /// AD0 low and high.
    package static var addresses: [UInt8] { [0x68, 0x69] }
    package static var identityRegister: RegisterAddress { ICM20948Register.whoAmI }
    package static var bankRegister: RegisterAddress? { ICM20948Register.bank }
    package static var abandonedBanks: [[RegisterSetting]] {
        [
            [
                RegisterSetting(ICM20948Register.bank, set: RegisterValue(ICM20948Register.gyroscope.bank)),
                RegisterSetting(ICM20948Register.alignment, set: ICM20948Value.align).inSelectedBank,
                RegisterSetting(ICM20948Register.accelerometerDividerHigh).inSelectedBank,
                RegisterSetting(ICM20948Register.gyroscope, set: ICM20948Value.lowPassOn, clear: .none).inSelectedBank,
                RegisterSetting(ICM20948Register.accelerometer, set: ICM20948Value.lowPassOn, clear: .none)
                    .inSelectedBank,
            ]
        ]
    }
    package static var largestFIFO: Int { 512 }
    package var name: StaticString { "ICM-20948" }
    package var unsourced: StaticString? { "delays of the low-passes, start-up time of clock and gyroscope" }
    package var figures: ChipFigures { configuration.figures }

    /// The FIFO holds 512 bytes (PX4). "If we have more than 32 samples in the FIFO then some of those samples will be
    /// corrupt" (ArduPilot Invensensev2), so more are treated as an overflow.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: 32 * 14, frameLength: 14, count: ChipRegisters(first: ICM20948Register.fifoCount, count: 2),
            data: ICM20948Register.fifoData)
        fifo.reportsOverflow = true
        return fifo
    }

    /// 333.87 counts per kelvin from 21 °C (PX4).
    package func celsius(_ raw: Int16) -> Double { 21 + Double(raw) / 333.87 }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0] & 0x1F) << 8 | Int(registers[1]) }

    // MARK: Registers

    /// The FIFO is switched on before its content is selected, as in ArduPilot.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(ICM20948Register.powerManagement1, ICM20948Value.awake, in: .waking)
        table.add(ICM20948Register.gyroscopeDivider, configuration.divider, in: .configuration)
        table.addRange(ICM20948Register.gyroscope, configuration.gyroscopeBits, in: .configuration)
        table.add(ICM20948Register.alignment, ICM20948Value.align, in: .configuration)
        table.add(ICM20948Register.accelerometerDividerHigh, .none, in: .configuration)
        table.add(ICM20948Register.accelerometerDivider, configuration.divider, in: .configuration)
        table.addRange(ICM20948Register.accelerometer, configuration.accelerometerBits, in: .configuration)
        table.add(ICM20948Register.powerManagement2, .none, in: .configuration)
        table.add(RegisterSetting(ICM20948Register.lowPower, clear: ICM20948Value.dutyCycles), in: .observed)
        table.add(ICM20948Register.fifoEnable1, .none, in: .configuration)
        table.add(ICM20948Register.fifoMode, .none, in: .configuration)
        table.add(ICM20948Register.userControl, ICM20948Value.fifoOn, in: .fifo)
        table.add(ICM20948Register.fifoEnable2, ICM20948Value.motionAndTemperature, in: .fifo)
        if configuration.connectsMagnetometer {
            // The bypass needs I2C_MST_EN clear, as the row of USER_CTRL has it.
            table.add(ICM20948Register.interruptPin, ICM20948Value.bypass, in: .configuration)
        }
        guard configuration.signalsDataReady else { return }
        if !configuration.connectsMagnetometer {
            table.add(ICM20948Register.interruptPin, .none, in: .dataReady)
        }
        table.add(ICM20948Register.interruptEnable1, ICM20948Value.dataReady, in: .dataReady)
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(ICM20948Register.bank, .none))
        script.add(.write(ICM20948Register.powerManagement1, ICM20948Value.deviceReset))
        script.add(
            .waitFor(
                RegisterSetting(ICM20948Register.powerManagement1, set: ICM20948Value.afterReset),
                every: ICM20948Timing.resetPoll, within: ICM20948Timing.resetDeadline))
        script.add(.enter(.waking))
        script.add(.apply(.waking))
        script.add(
            .settle(ICM20948Timing.gyroscopeStartUp + ICM20948Timing.settlingDelays * configuration.figures.delay))
        script.add(.wait(ICM20948Timing.clockSettling))
        script.add(.verify(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.dataReady))
    }

    /// As in ArduPilot, with all five bits of the reset as in PX4.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(ICM20948Register.fifoEnable2, .none))
        script.add(.write(ICM20948Register.userControl, .none))
        script.add(.write(ICM20948Register.fifoReset, ICM20948Value.resetFIFO))
        script.add(.write(ICM20948Register.fifoReset, .none))
        script.add(.noteTemperature(ICM20948Register.temperature))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(ICM20948Register.powerManagement1, ICM20948Value.sleep))
    }

    // MARK: Frames

    /// Accelerometer, gyroscope and temperature in register order, high bytes first.
    ///
    /// If all bytes are equal, it is not a frame: an empty FIFO, a chip in reset, or a bus without an answer.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        var frame = ChipFrame(ax: value(0), ay: value(1), az: value(2))
        frame.gx = value(3)
        frame.gy = value(4)
        frame.gz = value(5)
        let temperature = value(6)
        frame.temperature = temperature
        let word = UInt16(bitPattern: temperature)
        let isOneByteRepeated =
            word >> 8 == word & 0xFF && frame.ax == temperature && frame.ay == temperature && frame.az == temperature
            && frame.gx == temperature && frame.gy == temperature && frame.gz == temperature
        return isOneByteRepeated ? nil : frame
    }
}

/// A driver for an ICM-20948.
package typealias ICM20948<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<ICM20948Family, Bus, Clock, NoDataReadyLine>
