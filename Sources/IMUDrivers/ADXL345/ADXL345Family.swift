package import MotionCore

/// Analog Devices' ADXL345, an accelerometer alone, as registers and scripts.
///
/// It has neither a reset nor a thermometer. A read of the output registers takes one entry from its FIFO, so that every
/// sample is a transaction of its own. Registers, codes, ranges, FIFO and pin were compared to Linux
/// adxl345.h and adxl345_core.c and to Zephyr's adxl345.h; bandwidth, noise and turn-on time are the data sheet's (Rev. E),
/// which was not at hand to compare.
package struct ADXL345Family: ChipPart {
    let configuration: ADXL345Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == ADXL345Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = ADXL345Configuration(settings)
    }

    package static var family: IMUFamily { .adxl345 }
    /// ALT ADDRESS low and high.
    package static var addresses: [UInt8] { [0x53, 0x1D] }
    package static var identityRegister: RegisterAddress { ADXL345Register.deviceID }
    package static var largestFIFO: Int { ADXL345Value.entries * ADXL345Value.entryLength }
    package var name: StaticString { "ADXL345" }
    package var figures: ChipFigures { configuration.figures }
    /// DATA_READY stays set while the FIFO has an entry, and so does the pin, which is not to be made to pulse (p. 20).
    package var dataReadyPulse: DataReadyPulse { .whenFilled }
    /// Two counts from the end of ten to thirteen bits.
    package var accelerometerLimit: Int16 { Int16(configuration.range) * 256 - 2 }

    /// At 33 entries, the output registers being one, the oldest is gone with the next sample; at 32 a host is already
    /// so late that no time is left to read them.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: ADXL345Value.entryLength,
            count: ChipRegisters(first: ADXL345Register.fifoStatus, count: 1), data: ADXL345Register.output)
        fifo.longestRead = ADXL345Value.entryLength
        fifo.tellsOverflow = true
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        Int(registers[0] & ADXL345Value.entryBits) * ADXL345Value.entryLength
    }

    package func celsius(_ raw: Int16) -> Double { .nan }

    /// Three axes whose noise is about a count (table 1: 0.75 LSB at 100 Hz on x and y, 1.1 on z), less at low rates: so many
    /// repetitions come once in a thousand million frames at rest.
    package var longestRepetition: Int {
        switch rate {
        case 50...: 8
        case 25...: 16
        default: 32
        }
    }

    /// Zeros on every axis are free fall, or the output registers after a reset.
    package func needsProof(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }

    // MARK: Registers

    package func addRegisters(to table: inout RegisterTable) {
        table.add(ADXL345Register.rate, configuration.rateCode, in: .configuration)
        table.add(ADXL345Register.interruptEnable, configuration.interrupts, in: .configuration)
        table.add(ADXL345Register.format, ADXL345Value.fullResolution | configuration.rangeBits, in: .configuration)
        table.add(ADXL345Register.powerControl, ADXL345Value.measure, in: .sensors)
        table.add(ADXL345Register.fifoControl, ADXL345Value.stream, in: .fifo)
        if configuration.interrupts != .none { table.add(ADXL345Register.interruptMap, .none, in: .dataReady) }
    }

    // MARK: Scripts

    /// In standby registers may be set in any order; measuring begins last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(ADXL345Register.powerControl, .none))
        script.add(.write(ADXL345Register.fifoControl, ADXL345Value.bypass))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on: a period and 1.1 ms (table 1, note 8).
        script.add(.settle(1 / rate + 0.0011))
        script.add(.configure(.dataReady))
    }

    /// Bypass empties the FIFO.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(ADXL345Register.fifoControl, ADXL345Value.bypass))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(ADXL345Register.powerControl, .none))
    }

    // MARK: Frames

    /// Three values, low bytes first, sign-extended from thirteen bits at most: others cannot be one.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        let frame = ChipFrame(ax: value(0), ay: value(1), az: value(2))
        func fits(_ value: Int16) -> Bool { value >= -4096 && value <= 4095 }
        return fits(frame.ax) && fits(frame.ay) && fits(frame.az) ? frame : nil
    }
}

/// A driver of an ADXL345.
package typealias ADXL345<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<ADXL345Family, Bus, Clock, NoDataReadyLine>
