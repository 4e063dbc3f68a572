package import MotionCore

/// InvenSense's MPU-6050 and its relatives, read through the FIFO: registers, scripts and frames.
///
/// "RM" is RM-MPU-6000A-00 r4.2, "PS" is PS-MPU-6000A-00 r3.4. `MPUVariant` holds the differences between the parts.
package struct MPUFamily: ChipPart {
    let variant: MPUVariant
    let configuration: MPUConfiguration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard let variant = MPUVariant(identity: identity) else { return nil }
        self.variant = variant
        configuration = MPUConfiguration(settings, lowPass: variant.lowPass)
    }

    package init(settings: IMUSettings) {
        variant = .mpu6050
        configuration = MPUConfiguration(settings)
    }

    package static var family: IMUFamily { .mpu6050 }
    /// AD0 low and high (PS 9.2).
    package static var addresses: [UInt8] { [0x68, 0x69] }
    package static var identityRegister: RegisterAddress { MPU6050Register.whoAmI }
    package static var largestFIFO: Int { 1024 }
    package var name: StaticString { variant.name }
    package var unsourced: StaticString? { variant.unsourced }
    package var figures: ChipFigures { configuration.figures }

    /// Reading the count's high byte latches both bytes (RM p. 43). The FIFO's size is not a multiple of a frame, so
    /// after an overflow frames may begin anywhere.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: variant.fifoSize, frameLength: 14, count: ChipRegisters(first: MPU6050Register.fifoCount, count: 2),
            data: MPU6050Register.fifoData)
        fifo.reportsOverflow = !variant.isFIFOSizeCertain
        return fifo
    }

    package func celsius(_ raw: Int16) -> Double { Double(raw) / variant.countsPerKelvin + variant.celsiusAtZero }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0]) << 8 | Int(registers[1]) }

    // MARK: Registers

    /// FIFO_EN is written before USER_CTRL: the FIFO's content is selected before the FIFO is switched on.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock, in: .waking)
        table.add(MPU6050Register.powerManagement2, .none, in: .configuration)
        table.add(MPU6050Register.sampleRateDivider, configuration.sampleRateDivider, in: .configuration)
        table.add(
            RegisterSetting(
                MPU6050Register.configuration, set: configuration.lowPass, clear: variant.configurationMask),
            in: .configuration)
        table.addRange(MPU6050Register.gyroscopeConfiguration, configuration.gyroscopeRangeBits, in: .configuration)
        table.addRange(
            MPU6050Register.accelerometerConfiguration, configuration.accelerometerRangeBits, in: .configuration)
        table.add(MPU6050Register.fifoEnable, variant.fifoEnable, in: .fifo)
        // The bypass needs I2C_MST_EN clear, as the row of USER_CTRL has it.
        let connectsMagnetometer = variant.hasMagnetometer && configuration.connectsMagnetometer
        table.add(
            MPU6050Register.interruptPin, connectsMagnetometer ? MPU6050Value.bypass : .none, in: .configuration)
        table.add(MPU6050Register.interruptEnable, configuration.interrupts, in: .configuration)
        if variant.filtersAccelerometer && variant.keepsAccelerometerFilter {
            // The accelerometer's low-pass with the same number; all other bits are zero.
            table.add(MPU6050Register.accelerometerConfiguration2, configuration.lowPass, in: .configuration)
        }
        table.add(MPU6050Register.userControl, MPU6050Value.fifoOn, in: .fifo)
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(MPU6050Register.powerManagement1, MPU6050Value.deviceReset))
        // The bit clears itself: within 10 ms on the parts tested, 100 ms from power-up (RM p. 40, PS 6.3).
        script.add(
            .waitFor(
                RegisterSetting(MPU6050Register.powerManagement1, clear: MPU6050Value.deviceReset),
                every: MPU6050Timing.resetPoll, within: MPU6050Timing.resetDeadline))
        script.add(.enter(.waking))
        script.add(.apply(.waking))
        script.add(.settle(variant.gyroscopeStartUp))
        script.add(.wait(MPU6050Timing.clockSettling))
        script.add(.verify(.waking))
        script.add(.enter(.configuring))
        if variant.needsYCorrection { script.add(.write(MPU6050Register.undocumented, MPU6050Value.yCorrection)) }
        if variant.losesYOffset { script.add(.keep(MPU6050Register.yOffset)) }
        script.add(.configure(.configuration))
        if variant.filtersAccelerometer && !variant.keepsAccelerometerFilter {
            script.add(.write(MPU6050Register.accelerometerConfiguration2, configuration.lowPass))
        }
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(MPU6050Register.fifoEnable, .none))
        script.add(.write(MPU6050Register.userControl, MPU6050Value.fifoReset))
        script.add(.noteTemperature(MPU6050Register.temperature))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(MPU6050Register.powerManagement1, MPU6050Value.sleep | MPU6050Value.gyroscopeClock))
    }

    // MARK: Frames

    package var hasErraticThermometer: Bool { variant.hasErraticThermometer }

    /// Accelerometer, temperature and gyroscope in register order; each value is two bytes, high byte first (RM p. 16,
    /// 29…31).
    ///
    /// If all bytes are equal, it is not a frame: an empty FIFO repeats its last byte, a chip in reset sends zeros, and
    /// a bus without an answer reads as ones (RM p. 44).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
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

/// A driver for an MPU-6050 or one of its relatives.
package typealias MPU6050<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<MPUFamily, Bus, Clock, NoDataReadyLine>
