package import MotionCore

/// Bosch's BMI160, as registers and scripts.
///
/// Its FIFO is read without headers: twelve bytes per frame, the gyroscope first. A full FIFO drops whole frames, so a
/// length that is not a multiple of a frame means that bytes were lost. Registers, codes, ranges, rates, pin and FIFO
/// content were checked against Linux bmi160_core.c and Bosch's BMI160_SensorAPI 3.8.1, and the reset values against a
/// copy of the register map of BST-BMI160-DS000-09. Sections are those of that datasheet.
package struct BMI160Family: ChipPart {
    let configuration: BMI160Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == BMI160Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = BMI160Configuration(settings)
    }

    package static var family: IMUFamily { .bmi160 }
    /// SDO low and high (section 3.2).
    package static var addresses: [UInt8] { [0x68, 0x69] }
    package static var identityRegister: RegisterAddress { BMI160Register.chipID }
    package static var largestFIFO: Int { 1024 }
    package var name: StaticString { "BMI160" }
    package var unsourced: StaticString? { "delays of the low-passes" }
    package var figures: ChipFigures { configuration.figures }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: 1024, frameLength: 12, count: ChipRegisters(first: BMI160Register.fifoLength, count: 2),
            data: BMI160Register.fifoData)
        fifo.temperature = ChipRegisters(first: BMI160Register.temperature, count: 2)
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[1] & 0x07) << 8 | Int(registers[0]) }

    /// 23 °C at zero counts, 1/512 K per count (Zephyr drivers/sensor/bosch/bmi160: BMI160_TEMP_OFFSET, "the scale is
    /// 1/2^9/LSB").
    package func celsius(_ raw: Int16) -> Double {
        raw == BMI160Value.invalid ? .nan : 23 + Double(raw) / 512
    }

    // MARK: Registers

    /// The interrupt is enabled last, after its pin has been configured.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(noFatalError, in: .observed)
        table.add(bothNormal, in: .observed)
        let rate = BMI160Value.normalBandwidth | configuration.rateCode
        table.add(BMI160Register.accelerometerConfiguration, rate, in: .configuration)
        table.addRange(BMI160Register.accelerometerRange, configuration.accelerometerRangeBits, in: .configuration)
        table.add(BMI160Register.gyroscopeConfiguration, rate, in: .configuration)
        table.addRange(BMI160Register.gyroscopeRange, configuration.gyroscopeRangeBits, in: .configuration)
        table.add(BMI160Register.fifoDownsampling, BMI160Value.filteredData, in: .configuration)
        table.add(BMI160Register.fifoWatermark, BMI160Value.watermark, in: .configuration)
        table.add(BMI160Register.fifoConfiguration, BMI160Value.motionWithoutHeaders, in: .fifo)
        guard configuration.signalsDataReady else { return }
        table.add(BMI160Register.interruptOutput, BMI160Value.pushPullActiveHigh, in: .dataReady)
        table.add(BMI160Register.interruptLatch, .none, in: .dataReady)
        table.add(BMI160Register.interruptMap, BMI160Value.dataReadyOnPin1, in: .dataReady)
        table.add(BMI160Register.interruptEnable, BMI160Value.dataReady, in: .dataReady)
        table.add(BMI160Register.noMotionInterruptEnable, .none, in: .observed)
    }

    private var noFatalError: RegisterSetting {
        RegisterSetting(BMI160Register.error, clear: BMI160Value.fatalError)
    }

    private var bothNormal: RegisterSetting {
        RegisterSetting(BMI160Register.powerStatus, set: BMI160Value.bothNormal, clear: BMI160Value.powerBits)
    }

    // MARK: Scripts

    /// The sensors wake first: while they are suspended, each write must be followed by 450 µs without access (section
    /// 3.2.1).
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(BMI160Register.command, BMI160Value.softReset))
        script.add(.wait(BMI160Timing.reset))
        script.add(.enter(.waking))
        script.add(.write(BMI160Register.command, BMI160Value.accelerometerNormal))
        script.add(.wait(BMI160Timing.accelerometerStart))
        script.add(.write(BMI160Register.command, BMI160Value.gyroscopeNormal))
        script.add(
            .waitFor(bothNormal, every: BMI160Timing.gyroscopePoll, within: BMI160Timing.gyroscopeDeadline))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        // Rates and filters have changed while the sensors ran.
        script.add(.settle(BMI160Timing.settlingDelays * configuration.figures.delay))
        script.add(.check(noFatalError))
        script.add(.configure(.dataReady))
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.apply(.fifo))
        script.add(.write(BMI160Register.command, BMI160Value.fifoFlush))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(BMI160Register.command, BMI160Value.gyroscopeSuspend))
        script.add(.write(BMI160Register.command, BMI160Value.accelerometerSuspend))
    }

    // MARK: Frames

    /// Gyroscope and accelerometer, low byte first (section 2.5.2).
    ///
    /// A missing value reads as -32768. All bits set on every axis means that no device drives the bus.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
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

/// A driver for a BMI160.
package typealias BMI160<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<BMI160Family, Bus, Clock, NoDataReadyLine>
