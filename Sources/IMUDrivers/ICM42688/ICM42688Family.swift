internal import MotionCore

/// TDK InvenSense's ICM-42688-P and ICM-42605.
///
/// Its FIFO holds packets of 16 bytes with a header each, which reveals lost framing. It shares the address and the
/// identity register of the MPU family but has a different identity. "DS" is DS-000347 r1.8, which also names the
/// registers. What it does not say comes from Linux inv_icm42600, ArduPilot's Invensensev3 and Betaflight, as noted. Of
/// the ICM-42605's datasheet, DS-000292, only table 5.3 was at hand: what the chip shares with the ICM-42688-P is taken
/// from these drivers, which treat both alike. Betaflight, INAV and Linux only know one difference: the same settings
/// of the anti-alias filter mean about a quarter of the frequency.
package struct ICM42688Family: ChipPart {
    package static var family: IMUFamily { .icm42688 }
    /// AP_AD0 low and high.
    package static var addresses: [UInt8] { [0x68, 0x69] }
    /// WHO_AM_I.
    package static var identityRegister: RegisterAddress { 0x75 }
    /// That of the ICM-42688-P, and of the ICM-42605 (Linux inv_icm42600.h).
    package static var identity: UInt8 { 0x47 }
    private static var identityOf42605: UInt8 { 0x42 }
    /// REG_BANK_SEL: present in every bank.
    package static var bankRegister: RegisterAddress? { bank }
    package static var abandonedBanks: [[RegisterSetting]] {
        [
            [
                RegisterSetting(bank, set: RegisterValue(interface6.bank)),
                RegisterSetting(interface6, set: plainBus).inSelectedBank,
            ],
            [
                RegisterSetting(bank, set: RegisterValue(accelerometerAntiAlias.bank)),
                RegisterSetting(accelerometerAntiAlias, set: accelerometerDelta).inSelectedBank,
                RegisterSetting(accelerometerAntiAlias.advanced(by: 1), set: antiAliasSquare).inSelectedBank,
            ],
        ]
    }
    package var name: StaticString { is42605 ? "ICM-42605" : "ICM-42688-P" }
    package var unsourced: StaticString? {
        is42605
            ? "bandwidths and delays of the low-passes, start-up time, FIFO"
            : "delay of the anti-alias filter, and of the low-pass above 1 kHz"
    }

    // MARK: Settings

    /// The low-passes are of second order.
    package let figures: ChipFigures
    private let is42605: Bool
    private let gyroscopeBits: RegisterValue
    private let accelerometerBits: RegisterValue
    private let lowPass: RegisterValue
    private let signalsDataReady: Bool
    private let readsGyroscope: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity || identity == Self.identityOf42605 else { return nil }
        is42605 = identity == Self.identityOf42605
        signalsDataReady = settings.signalsDataReady
        readsGyroscope = settings.readsGyroscope
        let row = Self.rate(for: settings.wantedRate, withGyroscope: readsGyroscope)
        let filter = Self.lowPass(for: row.rate)
        lowPass = RegisterValue(filter.code << 4 | filter.code)
        // FS_SEL counts down from the widest range: ±16 g to ±2 g, ±2000 °/s to ±15.625 °/s.
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        let (turn, turnRange) = doubled(15.625, upTo: settings.wantedDegrees, most: 7)
        accelerometerBits = RegisterValue((3 - force) << 5 | row.code)
        gyroscopeBits = RegisterValue((7 - turn) << 5 | row.code)
        // The anti-alias filter. ICM-42688-P after a reset: the gyroscope's 585 Hz (GYRO_AAF_DELT is 13), the
        // accelerometer's 1163 Hz (DS 5.3, 15.3). ICM-42605: 995 Hz for both sensors, which the driver sets (Betaflight
        // `aafLUT42605`). Unsourced: its delay, assumed to be that of a second-order Butterworth low-pass, √2/(2π·f).
        let antiAlias = is42605 ? 995.0 : readsGyroscope ? 585 : 1163
        let antiAliasDelay = is42605 ? 0.000226 : readsGyroscope ? 0.000385 : 0.000194
        figures = ChipFigures(
            rate: row.rate, bandwidth: min(filter.bandwidth, antiAlias), delay: filter.delay + antiAliasDelay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree)
    }

    /// The lowest rate that is not below `rate` Hz (GYRO_ODR, ACCEL_ODR). No I2C bus can carry the faster ones, nor those
    /// above 1 kHz for both sensors.
    private static func rate(for rate: Double, withGyroscope: Bool) -> (code: UInt8, rate: Double) {
        if !(rate > 12.5) { return (11, 12.5) }
        if rate <= 25 { return (10, 25) }
        if rate <= 50 { return (9, 50) }
        if rate <= 100 { return (8, 100) }
        if rate <= 200 { return (7, 200) }
        if rate <= 500 { return (15, 500) }
        if withGyroscope || rate <= 1000 { return (6, 1000) }
        return rate <= 2000 ? (5, 2000) : (4, 4000)
    }

    /// The widest low-pass that passes nothing above half of `rate`, or the narrowest if none qualifies: its code in
    /// ACCEL_UI_FILT_BW and GYRO_UI_FILT_BW, -3 dB bandwidth in Hz and group delay in seconds.
    ///
    /// The figures are those of DS 5.5, for filters of second order. The delay is rounded to 0.1 ms there. Unsourced:
    /// those of the ICM-42605. The same are assumed, because its codes are the same (Linux `inv_icm42600_filter`). Above
    /// 1 kHz bandwidths follow the rate (DS 14.40). Unsourced: that the delays do, too. At 4 kHz the anti-alias filter is the
    /// narrower one, so the widest is chosen.
    private static func lowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch rate {
        case 4000...: (0, 1973, 0.000175)
        case 2000...: (1, 461.4, 0.00105)
        case 1000...: (1, 230.7, 0.0021)
        case 500...: (1, 115.3, 0.0041)
        case 200...: (1, 92.3, 0.0051)
        case 100...: (3, 47.0, 0.0080)
        case 50...: (5, 23.8, 0.0129)
        default: (7, 8.5, 0.0300)
        }
    }

    /// From the packet's eight bits: 2.07 counts per kelvin from 25 °C (DS 14.6).
    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 2.07 }

    // MARK: Registers and scripts

    private static var bank: RegisterAddress { 0x76 }
    /// DRIVE_CONFIG: I2C_SLEW_RATE in bits 5…3, SPI_SLEW_RATE, which all other pins follow, in 2…0.
    private static var drive: RegisterAddress { 0x13 }
    /// INT_STATUS: RESET_DONE_INT in bit 4, FIFO_FULL_INT in bit 1; reading clears it. FIFO_COUNTH and FIFO_COUNTL follow.
    private static var interruptStatus: RegisterAddress { 0x2D }
    /// PWR_MGMT0: GYRO_MODE in bits 3…2, ACCEL_MODE in 1…0.
    private static var power: RegisterAddress { 0x4E }
    /// INTF_CONFIG6 of bank 1: I3C_EN in bit 4, I3C_DDR_EN in 1, I3C_SDR_EN in 0.
    private static var interface6: RegisterAddress { RegisterAddress(0x7C, bank: 1) }
    /// INTF_CONFIG6 for I2C: I3C_EN without I3C_SDR_EN and I3C_DDR_EN (DS 12.3), and without in-band interrupts, as in
    /// Linux inv_icm42600_i2c.c. Bit 6 is reserved and keeps its reset value. I3C_BUS_MODE in INTF_CONFIG4 is 0 already.
    private static var plainBus: RegisterValue { 0x50 }
    /// GYRO_CONFIG_STATIC3 to 5 of bank 1, ACCEL_CONFIG_STATIC2 to 4 of bank 2: the anti-alias filters, as DELT, the low byte
    /// of DELTSQR, and BITSHIFT with the high bits of DELTSQR. The accelerometer's DELT is in bits 6…1 (Betaflight
    /// accgyro_spi_icm426xx.c).
    private static var gyroscopeAntiAlias: RegisterAddress { RegisterAddress(0x0C, bank: 1) }
    private static var accelerometerAntiAlias: RegisterAddress { RegisterAddress(0x03, bank: 2) }
    /// DELT 63, DELTSQR 3968 (0xF80), BITSHIFT 3: 995 Hz in an ICM-42605, its widest anti-alias filter (Betaflight and INAV
    /// `aafLUT42605`, which cite table 5.3 of DS-000292 v1.7).
    private static var gyroscopeDelta: RegisterValue { RegisterValue(63) }
    private static var accelerometerDelta: RegisterValue { RegisterValue(63 << 1) }
    private static var antiAliasSquare: RegisterValue { 0x80 }
    private static var antiAliasShift: RegisterValue { 0x3F }

    /// While a sensor runs, only rates, ranges and power may be changed (DS 12.9). So everything else, the pin included,
    /// precedes the sensors, and a restart of the FIFO only flushes it.
    package func addRegisters(to table: inout RegisterTable) {
        // The ICM-42688-P's anti-alias filter keeps its reset values, which DS states. Unsourced: the ICM-42605's, so the
        // driver sets its widest filter.
        if is42605 {
            addAntiAlias(Self.gyroscopeAntiAlias, Self.gyroscopeDelta, to: &table)
            addAntiAlias(Self.accelerometerAntiAlias, Self.accelerometerDelta, to: &table)
        }
        // INTF_CONFIG0: count in bytes, count and data with the high byte first, as after a reset; SPI off in
        // UI_SIFS_CFG, bits 1…0.
        table.add(0x4C, 0x32, in: .configuration)
        // INTF_CONFIG1: the clock in bits 3…0. DS calls bits 7…4 reserved; 7…6 are the adaptive full scale (AFSR),
        // which is off. While it is on, the gyroscope's output stands still for about 2 ms whenever the rotation rate
        // passes about 100 °/s, which acts as a bias (ArduPilot Invensensev3; Betaflight `INTF_CONFIG1_AFSR_DISABLE`).
        // The other bits keep their reset values.
        table.add(RegisterSetting(0x4D, set: 0x51, clear: 0x80), in: .configuration)
        // GYRO_CONFIG0 and ACCEL_CONFIG0: the range in bits 7…5, the rate in 3…0.
        table.addRange(0x4F, gyroscopeBits, in: .configuration)
        table.addRange(0x50, accelerometerBits, in: .configuration)
        // GYRO_ACCEL_CONFIG0: the low-pass of the accelerometer in bits 7…4, of the gyroscope in 3…0.
        table.add(0x52, lowPass, in: .configuration)
        // GYRO_CONFIG1: GYRO_UI_FILT_ORD in bits 3…2; ACCEL_CONFIG1: ACCEL_UI_FILT_ORD in bits 4…3; 0 is the first
        // order. The reset values: second-order low-passes, preceded by third-order ones.
        table.add(0x51, 0x16, in: .configuration)
        table.add(0x53, 0x0D, in: .configuration)
        // FIFO_CONFIG1: temperature, gyroscope and accelerometer in bits 2…0, which are packets of structure 3, or 1
        // without the gyroscope; and FIFO_RESUME_PARTIAL_RD in bit 6: without it, a read that leaves something in the FIFO
        // would have to be repeated from its beginning.
        table.add(0x5F, readsGyroscope ? 0x47 : 0x45, in: .configuration)
        // FIFO_CONFIG: stream-to-FIFO, in bits 7…6.
        table.add(0x16, 0x40, in: .configuration)
        // The sensors in low-noise mode, the thermometer on.
        table.add(Self.power, readsGyroscope ? 0x0F : 0x03, in: .sensors)
        guard signalsDataReady else { return }
        // INT_CONFIG: INT1 pulses, push-pull and active high. Latched in bit 2, push-pull in 1, active high in 0.
        table.add(0x14, 0x03, in: .dataReady)
        // INT_CONFIG1: pulses of 100 µs, or from 4 kHz on 8 µs without a pause after them, by INT_TPULSE_DURATION in bit 6
        // and INT_TDEASSERT_DISABLE in bit 5. INT_ASYNC_RESET in bit 4 is 1 after a reset and must be 0 "for proper INT1
        // and INT2 pin operation" (DS 12.6).
        table.add(0x64, rate < 4000 ? 0 : 0x60, in: .dataReady)
        // INT_SOURCE0: UI_DRDY_INT1_EN routes data-ready to INT1, and no longer the end of a reset.
        table.add(0x65, 0x08, in: .dataReady)
    }

    private func addAntiAlias(_ first: RegisterAddress, _ delta: RegisterValue, to table: inout RegisterTable) {
        table.add(first, delta, in: .waking)
        table.add(first.advanced(by: 1), Self.antiAliasSquare, in: .waking)
        table.add(first.advanced(by: 2), Self.antiAliasShift, in: .waking)
    }

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(Self.bank, 0))
        // DEVICE_CONFIG: SOFT_RESET_CONFIG in bit 0. A reset takes 1 ms (DS 14.1).
        script.addReset(
            0x11, 0x01, until: RegisterSetting(Self.interruptStatus, set: 0x10, clear: .none), every: 0.002, within: 0.1
        )
        script.add(.enter(.configuring))
        // Switches a spike filter on, which may hide the acknowledgement of this write (Linux inv_icm42600_i2c.c).
        script.add(.attempt(Self.interface6, Self.plainBus))
        script.add(.configure(.waking))
        // Edges of 12 to 36 ns for I2C and for all other pins (DS 12.3).
        script.add(.write(Self.drive, 0x09))
        script.add(.check(RegisterSetting(Self.drive, set: 0x09)))
        script.add(.configure(.configuration))
        script.add(.configure(.dataReady))
        script.add(.apply(.sensors))
        // The gyroscope's start-up: 30 ms until its drive is ready (DS 3.1, typical); Linux inv_icm42600.h waits 60 ms.
        // The accelerometer needs 10 ms (DS 3.2).
        script.add(.settle(0.06 + settlingDelays * delay))
        // No register may be written for 200 µs after a sensor is switched on (DS 14.36).
        script.add(.wait(0.001))
        script.add(.verify(.sensors))
    }

    /// SIGNAL_PATH_RESET: FIFO_FLUSH. The first count after a flush is 0, whatever the FIFO holds (Linux
    /// inv_icm42600_buffer.c).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(0x4B, 0x02))
        script.add(.discardCount)
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.power, 0))
    }

    // MARK: FIFO

    package var longestRepetition: Int { readsGyroscope ? 4 : 32 }

    /// While nothing is read, the FIFO holds 2048 bytes less one packet, and up to one packet more than 2048 bytes during
    /// a read (DS 6.3). So a larger count than `size` also means that packets may have been lost. INT_STATUS precedes the
    /// count and is read along with it. FIFO_DATA: the address does not advance to the next register.
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: 2032, frameLength: readsGyroscope ? 16 : 8,
            count: ChipRegisters(first: Self.interruptStatus, count: 3), data: 0x30)
    }

    /// A FIFO that has been full since the last read reports an overflow.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let isFull = registers[0] & 0x02 != 0
        return isFull ? fifo.overflow : Int(registers[1]) << 8 | Int(registers[2])
    }

    /// The value of a sensor that has no data yet (DS 12.8).
    private static var missing: Int16 { .min }

    /// Header, accelerometer, gyroscope, eight bits of temperature, timestamp; high bytes first. Without the gyroscope, its
    /// values and the timestamp are missing (DS 6.1).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        // Not a message, not 20-bit data, the sensors present (DS 6.2). The low bits, timestamp and rate change, are
        // ignored.
        guard bytes[offset] & 0xF0 == (readsGyroscope ? 0x60 : 0x40) else { return nil }
        var frame = ChipFrame(
            bigEndian: bytes, accelerometer: offset + 1, gyroscope: readsGyroscope ? offset + 7 : nil)
        frame.temperature = Int16(Int8(bitPattern: bytes[offset + (readsGyroscope ? 13 : 7)]))
        return frame.ax == Self.missing || frame.gx == Self.missing ? nil : frame
    }
}
