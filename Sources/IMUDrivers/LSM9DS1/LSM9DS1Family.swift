package import MotionCore

/// Accelerometer and gyroscope of ST's LSM9DS1, as on the Raspberry Pi Sense HAT: registers, scripts and frames.
///
/// The chip's axes are left-handed: x points the other way than the magnetometer's (datasheet, figure 1; RTIMULib and
/// ArduPilot invert z instead, which is the same but for half a turn). The driver inverts x of both sensors. The rotation
/// about each axis is positive counterclockwise (2.6.1), so the gyroscope's x is inverted with its axis.
///
/// The datasheet describes no data-ready pulse, so a line is not used. The temperature is not put into the FIFO.
package struct LSM9DS1Family: ChipPart {
    let configuration: LSM9DS1Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == LSM9DS1Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = LSM9DS1Configuration(settings)
    }

    package static var family: IMUFamily { .lsm9ds1 }
    /// SDO_A/G low and high (datasheet, table 19). The Sense HAT has the first.
    package static var addresses: [UInt8] { [0x6A, 0x6B] }
    package static var identityRegister: RegisterAddress { LSM9DS1Register.whoAmI }
    package static var largestFIFO: Int { LSM9DS1Value.entries * LSM9DS1Value.entryLength }
    package var name: StaticString { "LSM9DS1" }
    package var unsourced: StaticString? { "delays of the low-passes, start-up time of the gyroscope" }
    package var figures: ChipFigures { configuration.figures }
    package var dataReadyPulse: DataReadyPulse { .never }

    /// Eight counts below the full scale, or below the end of the 16-bit range: at ±16 g, these would be ±24 g.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return Int16(min(end, Double(Int16.max))) - 8
    }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: LSM9DS1Value.entryLength,
            count: ChipRegisters(first: LSM9DS1Register.fifoSource, count: 1), data: LSM9DS1Register.data)
        fifo.temperature = ChipRegisters(first: LSM9DS1Register.temperature, count: 2)
        fifo.reportsOverflow = true
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let source = registers[0]
        guard source & LSM9DS1Value.overrun == 0 else { return Self.largestFIFO + LSM9DS1Value.entryLength }
        return Int(source & LSM9DS1Value.entryBits) * LSM9DS1Value.entryLength
    }

    /// 16 counts per kelvin, zero at 25 °C (table 5).
    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 16 }

    // MARK: Registers

    /// CTRL_REG1_G comes last, because it starts both sensors at its rate (3.1).
    package func addRegisters(to table: inout RegisterTable) {
        table.add(
            LSM9DS1Register.control8, LSM9DS1Value.blockDataUpdate | LSM9DS1Value.addressIncrement, in: .waking)
        table.add(LSM9DS1Register.gyroscopeOutput, .none, in: .configuration)
        table.add(LSM9DS1Register.gyroscopePower, .none, in: .configuration)
        table.add(LSM9DS1Register.gyroscopeAxes, .none, in: .configuration)
        table.add(LSM9DS1Register.control4, LSM9DS1Value.allAxes, in: .configuration)
        table.add(LSM9DS1Register.control5, LSM9DS1Value.allAxes, in: .configuration)
        table.add(LSM9DS1Register.control7, .none, in: .configuration)
        table.add(LSM9DS1Register.control9, LSM9DS1Value.fifoEnabled, in: .configuration)
        table.add(LSM9DS1Register.control10, .none, in: .observed)
        table.addRange(LSM9DS1Register.accelerometer, configuration.accelerometer, in: .sensors)
        table.addRange(LSM9DS1Register.gyroscope, configuration.gyroscope, in: .sensors)
        table.add(LSM9DS1Register.fifoControl, LSM9DS1Value.continuous, in: .fifo)
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(LSM9DS1Register.control8, LSM9DS1Value.addressIncrement | LSM9DS1Value.reset))
        script.add(
            .waitFor(
                RegisterSetting(LSM9DS1Register.control8, clear: LSM9DS1Value.reset), every: LSM9DS1Timing.resetPoll,
                within: LSM9DS1Timing.resetDeadline))
        script.add(.enter(.waking))
        script.add(.configure(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // With one sample more, because samples come at unknown phases, and for a chip that runs 10 % slow.
        script.add(.settle(LSM9DS1Timing.gyroscopeTurnOn + 1.1 * (configuration.settlingSamples + 1) / rate))
    }

    /// Bypass empties the FIFO (3.5.1).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(LSM9DS1Register.fifoControl, LSM9DS1Value.bypass))
        script.add(.apply(.fifo))
    }

    /// Switches FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(LSM9DS1Register.fifoControl, LSM9DS1Value.bypass))
        script.add(.write(LSM9DS1Register.gyroscope, .none))
        script.add(.write(LSM9DS1Register.accelerometer, .none))
    }

    // MARK: Frames

    /// Gyroscope and accelerometer, low byte first. If all bytes are equal, it is not a frame but a chip in reset or a bus
    /// without an answer.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        func inverted(_ value: Int16) -> Int16 { value == .min ? .max : -value }
        var frame = ChipFrame(ax: value(3), ay: value(4), az: value(5))
        frame.gx = value(0)
        frame.gy = value(1)
        frame.gz = value(2)
        let word = UInt16(bitPattern: frame.ax)
        let isOneByteRepeated =
            word >> 8 == word & 0xFF && frame.ay == frame.ax && frame.az == frame.ax && frame.gx == frame.ax
            && frame.gy == frame.ax && frame.gz == frame.ax
        guard !isOneByteRepeated else { return nil }
        frame.ax = inverted(frame.ax)
        frame.gx = inverted(frame.gx)
        return frame
    }
}

/// A driver for an LSM9DS1.
package typealias LSM9DS1<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<LSM9DS1Family, Bus, Clock, NoDataReadyLine>
