package import MotionCore

/// ST's LIS3DH, LSM303AGR and LIS2DE12, accelerometers without a gyroscope, as registers and scripts. They and the LIS2DH12
/// have the same identity and the same registers (Linux st_accel_core.c). Unsourced: whether the bandwidths, turn-on times
/// and noise of the others are those of the LIS3DH, which is assumed.
///
/// They have no reset: BOOT only reloads the factory's trimming, so the driver writes all control registers. The thermometer
/// measures changes only (table 5), and is not used. The LIS3DH's datasheet describes no data-ready pulse, so a line is not
/// used.
package struct LIS3DHPart<Kind: ChipKind>: ChipPart {
    let configuration: LIS3DHConfiguration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == LIS3DHValue.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = LIS3DHConfiguration(settings, family: Kind.family)
    }

    package static var family: IMUFamily { Kind.family }
    /// SA0 low and high (reg.h). An LSM303AGR has the second one only (lsm303agr_reg.h, `LSM303AGR_I2C_ADD_XL`).
    package static var addresses: [UInt8] { [0x18, 0x19] }
    package static var identityRegister: RegisterAddress { LIS3DHRegister.whoAmI }
    package static var burstBit: UInt8 { LIS3DHValue.burst }
    package static var largestFIFO: Int { LIS3DHValue.entries * LIS3DHValue.entryLength }
    package var name: StaticString {
        switch Kind.family {
        case .lsm303agr: "LSM303AGR"
        case .lis2de12: "LIS2DE12"
        default: "LIS3DH"
        }
    }
    package var unsourced: StaticString? {
        switch Kind.family {
        case .lsm303agr, .lis2de12: "bandwidth and delay of the low-pass, noise, start-up time"
        default: "delay of the low-pass, noise below 1344 Hz and above ±2 g; bandwidth and start-up time of a LIS2DH12"
        }
    }
    package var figures: ChipFigures { configuration.figures }
    package var dataReadyPulse: DataReadyPulse { .never }

    /// Two counts below the full scale, which a LIS3DH has at 2000 counts, or 1333 at ±16 g. The others may have it beyond the
    /// last count.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return min(Int16(end.rounded()), .max &>> configuration.unusedBits) - 2
    }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: LIS3DHValue.entryLength,
            count: ChipRegisters(first: LIS3DHRegister.fifoSource, count: 1), data: LIS3DHRegister.output)
        fifo.reportsOverflow = true
        return fifo
    }

    /// FSS has five bits: with 32 entries it is 31 and OVRN_FIFO is set (ruuvitag_fw, issue 67). A host that finds 32 is too
    /// late to read them all, because the next sample replaces the oldest.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let source = registers[0]
        if source & LIS3DHValue.overrun != 0 { return Self.largestFIFO + LIS3DHValue.entryLength }
        if source & LIS3DHValue.empty != 0 { return 0 }
        return Int(source & LIS3DHValue.entryBits) * LIS3DHValue.entryLength
    }

    package func celsius(_ raw: Int16) -> Double { .nan }

    /// With less noise than a count, a board at rest repeats a frame for seconds, the more so as the low-pass makes successive
    /// samples alike: a LIS3DH's at ±8 g, except at 1344 Hz, and always with eight bits.
    package var longestRepetition: Int { configuration.noise < 0.8 ? .max : 32 }

    /// Zeros on every axis mean free fall, or output registers after a power failure.
    package func mayFollowReset(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }

    // MARK: Registers

    package func addRegisters(to table: inout RegisterTable) {
        table.add(LIS3DHRegister.control2, .none, in: .configuration)
        table.add(LIS3DHRegister.control3, .none, in: .configuration)
        table.addRange(LIS3DHRegister.control4, configuration.format, in: .configuration)
        table.add(LIS3DHRegister.control5, LIS3DHValue.fifoEnabled, in: .configuration)
        table.add(LIS3DHRegister.control6, .none, in: .configuration)
        table.add(LIS3DHRegister.control1, configuration.rate, in: .sensors)
        table.add(LIS3DHRegister.fifoControl, LIS3DHValue.stream, in: .fifo)
    }

    // MARK: Scripts

    /// In power-down, which is ODR 0, registers may be set in any order. Measuring starts last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(LIS3DHRegister.control1, .none))
        script.add(.write(LIS3DHRegister.fifoControl, LIS3DHValue.bypass))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on time (datasheet, DocID17530 Rev 2, tables 10 and 11). With one sample more, because they come at unknown
        // phases, and for a chip that runs 10 % slow.
        script.add(.settle(0.001 + 1.1 * (configuration.settlingSamples + 1) / rate))
    }

    /// Bypass empties the FIFO (datasheet, 5.1.1).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(LIS3DHRegister.fifoControl, LIS3DHValue.bypass))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(LIS3DHRegister.control1, .none))
    }

    // MARK: Frames

    /// Three values, low byte first, in the upper bits of sixteen.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func value(_ index: Int) -> Int16 {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
                &>> configuration.unusedBits
        }
        return ChipFrame(ax: value(0), ay: value(1), az: value(2))
    }
}

/// The LIS3DH, which is what a chip with this identity is taken for.
package enum LIS3DHUsual: ChipKind {
    package static var family: IMUFamily { .lis3dh }
}

/// The LSM303AGR and the LIS2DE12, which the user names.
package enum LSM303AGRNamed: ChipKind {
    package static var family: IMUFamily { .lsm303agr }
}
package enum LIS2DE12Named: ChipKind {
    package static var family: IMUFamily { .lis2de12 }
}

package typealias LIS3DHFamily = LIS3DHPart<LIS3DHUsual>
package typealias LSM303AGRFamily = LIS3DHPart<LSM303AGRNamed>
package typealias LIS2DE12Family = LIS3DHPart<LIS2DE12Named>

/// A driver for a LIS3DH.
package typealias LIS3DH<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<LIS3DHFamily, Bus, Clock, NoDataReadyLine>
