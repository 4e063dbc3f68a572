internal import MotionCore

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
        var frame = ChipFrame(bigEndian: bytes, accelerometer: offset + 1, gyroscope: offset + 7)
        frame.temperature = Int16(Int8(bitPattern: bytes[offset + 13]))
        return frame.ax == ICM42688Value.invalid || frame.gx == ICM42688Value.invalid ? nil : frame
    }
}

/// The differences between the members of the ICM-42688-P's family that matter to the driver: identity and anti-alias
/// filter.
enum ICM42688Variant: Equatable, Sendable, BitwiseCopyable {
    case icm42688p
    /// Betaflight, INAV and Linux inv_icm42600 drive it like the ICM-42688-P, except that the same settings of the
    /// anti-alias filter mean about a quarter of the frequency.
    case icm42605

    /// The variant that answers with `identity` (Linux inv_icm42600.h); `nil` if none does.
    init?(identity: UInt8) {
        switch identity {
        case 0x47: self = .icm42688p
        case 0x42: self = .icm42605
        default: return nil
        }
    }

    var name: StaticString {
        switch self {
        case .icm42688p: "ICM-42688-P"
        case .icm42605: "ICM-42605"
        }
    }

    var unsourced: StaticString {
        switch self {
        case .icm42688p: "delay of the anti-alias filter"
        case .icm42605: "bandwidths and delays of the low-passes, start-up time, FIFO"
        }
    }

    /// Whether the driver sets the anti-alias filter. It keeps the ICM-42688-P's reset values, which DS-000347 states.
    /// Unsourced: the ICM-42605's, so the driver sets its widest filter.
    var setsAntiAlias: Bool { self == .icm42605 }

    /// The delay of the gyroscope's anti-alias filter, seconds. Unsourced: assumed to be that of a second-order
    /// Butterworth low-pass, √2/(2π·f).
    ///
    /// ICM-42688-P: 585 Hz after a reset (GYRO_AAF_DELT is 13; DS-000347 5.3, 15.3). The accelerometer's, of 1163 Hz, is 0.2
    /// ms shorter. ICM-42605: 995 Hz for both sensors, which the driver sets (Betaflight `aafLUT42605`).
    var antiAliasDelay: Double { self == .icm42688p ? 0.000385 : 0.000226 }
}

/// The family's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct ICM42688Configuration: Equatable, Sendable, BitwiseCopyable {
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    let lowPass: RegisterValue
    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool
    /// The effective figures; the low-passes are of second order.
    let figures: ChipFigures

    init(_ settings: IMUSettings, variant: ICM42688Variant) {
        let row = Self.rate(for: settings.wantedRate)
        let filter = Self.lowPass(for: row.rate)
        lowPass = RegisterValue(filter.code << 4 | filter.code)
        signalsDataReady = settings.signalsDataReady
        // FS_SEL counts down from the widest range: ±16 g to ±2 g, ±2000 °/s to ±15.625 °/s.
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        let (turn, turnRange) = doubled(15.625, upTo: settings.wantedDegrees, most: 7)
        figures = ChipFigures(
            rate: row.rate, bandwidth: filter.bandwidth, delay: filter.delay + variant.antiAliasDelay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree)
        accelerometerBits = RegisterValue((3 - force) << 5 | row.code)
        gyroscopeBits = RegisterValue((7 - turn) << 5 | row.code)
    }

    /// The lowest rate of both sensors that is not below `rate` Hz (GYRO_ODR, ACCEL_ODR). No I2C bus can carry the
    /// faster ones.
    static func rate(for rate: Double) -> (code: UInt8, rate: Double) {
        if !(rate > 12.5) { return (11, 12.5) }
        if rate <= 25 { return (10, 25) }
        if rate <= 50 { return (9, 50) }
        if rate <= 100 { return (8, 100) }
        if rate <= 200 { return (7, 200) }
        if rate <= 500 { return (15, 500) }
        return (6, 1000)
    }

    /// The widest low-pass that passes nothing above half of `rate`, or the narrowest if none qualifies: its code in
    /// ACCEL_UI_FILT_BW and GYRO_UI_FILT_BW, -3 dB bandwidth in Hz and group delay in seconds.
    ///
    /// The figures are those of DS-000347 r1.8, 5.5, for filters of second order. The delay is rounded to 0.1 ms there.
    /// Unsourced: those of the ICM-42605. The same are assumed, because its codes are the same (Linux
    /// `inv_icm42600_filter`).
    static func lowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch rate {
        case 1000...: (1, 230.7, 0.0021)
        case 500...: (1, 115.3, 0.0041)
        case 200...: (1, 92.3, 0.0051)
        case 100...: (3, 47.0, 0.0080)
        case 50...: (5, 23.8, 0.0129)
        default: (7, 8.5, 0.0300)
        }
    }
}

/// The registers that the driver uses, of bank 0 unless noted, named as in DS-000347 r1.8 ("DS").
enum ICM42688Register {
    /// DEVICE_CONFIG: SOFT_RESET_CONFIG in bit 0.
    static var device: RegisterAddress { RegisterAddress(0x11) }
    /// DRIVE_CONFIG: I2C_SLEW_RATE in bits 5…3, SPI_SLEW_RATE, which all other pins follow, in 2…0.
    static var drive: RegisterAddress { RegisterAddress(0x13) }
    /// INT_CONFIG for INT1: latched in bit 2, push-pull in 1, active high in 0.
    static var interruptPin: RegisterAddress { RegisterAddress(0x14) }
    /// FIFO_CONFIG: the mode in bits 7…6.
    static var fifoMode: RegisterAddress { RegisterAddress(0x16) }
    /// INT_STATUS: RESET_DONE_INT in bit 4, FIFO_FULL_INT in bit 1; reading clears it. FIFO_COUNTH and FIFO_COUNTL follow.
    static var interruptStatus: RegisterAddress { RegisterAddress(0x2D) }
    /// FIFO_DATA: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x30) }
    /// SIGNAL_PATH_RESET: FIFO_FLUSH in bit 1.
    static var signalPathReset: RegisterAddress { RegisterAddress(0x4B) }
    /// INTF_CONFIG0: the format of count and data, UI_SIFS_CFG in bits 1…0.
    static var interface: RegisterAddress { RegisterAddress(0x4C) }
    /// INTF_CONFIG1: the clock in bits 3…0. DS calls bits 7…4 reserved; 7…6 are the adaptive full scale (AFSR).
    static var interface1: RegisterAddress { RegisterAddress(0x4D) }
    /// PWR_MGMT0: GYRO_MODE in bits 3…2, ACCEL_MODE in 1…0.
    static var power: RegisterAddress { RegisterAddress(0x4E) }
    /// GYRO_CONFIG0, ACCEL_CONFIG0: the range in bits 7…5, the rate in 3…0.
    static var gyroscope: RegisterAddress { RegisterAddress(0x4F) }
    static var accelerometer: RegisterAddress { RegisterAddress(0x50) }
    /// GYRO_CONFIG1: GYRO_UI_FILT_ORD in bits 3…2; ACCEL_CONFIG1: ACCEL_UI_FILT_ORD in bits 4…3; 0 is the first order.
    static var gyroscopeFilter: RegisterAddress { RegisterAddress(0x51) }
    static var accelerometerFilter: RegisterAddress { RegisterAddress(0x53) }
    /// GYRO_ACCEL_CONFIG0: the low-pass of the accelerometer in bits 7…4, of the gyroscope in 3…0.
    static var lowPass: RegisterAddress { RegisterAddress(0x52) }
    /// FIFO_CONFIG1: FIFO_RESUME_PARTIAL_RD in bit 6, the content in 3…0.
    static var fifoContent: RegisterAddress { RegisterAddress(0x5F) }
    /// INT_CONFIG1: INT_TPULSE_DURATION in bit 6, INT_ASYNC_RESET in bit 4.
    static var interruptPulse: RegisterAddress { RegisterAddress(0x64) }
    /// INT_SOURCE0: UI_DRDY_INT1_EN in bit 3.
    static var interruptSource: RegisterAddress { RegisterAddress(0x65) }
    /// INTF_CONFIG6 of bank 1: I3C_EN in bit 4, I3C_DDR_EN in 1, I3C_SDR_EN in 0.
    static var interface6: RegisterAddress { RegisterAddress(0x7C, bank: 1) }
    /// GYRO_CONFIG_STATIC3 to 5 of bank 1, ACCEL_CONFIG_STATIC2 to 4 of bank 2: the anti-alias filters, as DELT, the low byte
    /// of DELTSQR, and BITSHIFT with the high bits of DELTSQR. The accelerometer's DELT is in bits 6…1 (Betaflight
    /// accgyro_spi_icm426xx.c).
    static var gyroscopeAntiAlias: RegisterAddress { RegisterAddress(0x0C, bank: 1) }
    static var gyroscopeAntiAliasSquare: RegisterAddress { RegisterAddress(0x0D, bank: 1) }
    static var gyroscopeAntiAliasShift: RegisterAddress { RegisterAddress(0x0E, bank: 1) }
    static var accelerometerAntiAlias: RegisterAddress { RegisterAddress(0x03, bank: 2) }
    static var accelerometerAntiAliasSquare: RegisterAddress { RegisterAddress(0x04, bank: 2) }
    static var accelerometerAntiAliasShift: RegisterAddress { RegisterAddress(0x05, bank: 2) }
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x75) }
    /// REG_BANK_SEL: present in every bank.
    static var bank: RegisterAddress { RegisterAddress(0x76) }
}

/// The register values that do not depend on settings.
enum ICM42688Value {
    static var softReset: RegisterValue { RegisterValue(0x01) }
    static var resetDone: RegisterValue { RegisterValue(0x10) }
    /// INT_STATUS: FIFO_FULL_INT.
    static var fifoFull: UInt8 { 0x02 }
    /// DELT 63, DELTSQR 3968 (0xF80), BITSHIFT 3: 995 Hz in an ICM-42605, its widest anti-alias filter (Betaflight and INAV
    /// `aafLUT42605`, which cite table 5.3 of DS-000292 v1.7).
    static var gyroscopeAntiAlias: RegisterValue { RegisterValue(63) }
    static var accelerometerAntiAlias: RegisterValue { RegisterValue(63 << 1) }
    static var antiAliasSquare: RegisterValue { RegisterValue(0x80) }
    static var antiAliasShift: RegisterValue { RegisterValue(0x3F) }
    /// INTF_CONFIG6 for I2C: I3C_EN without I3C_SDR_EN and I3C_DDR_EN (DS 12.3), and without in-band interrupts, as in
    /// Linux inv_icm42600_i2c.c. Bit 6 is reserved and keeps its reset value. I3C_BUS_MODE in INTF_CONFIG4 is 0 already.
    static var plainBus: RegisterValue { RegisterValue(0x50) }
    /// DRIVE_CONFIG: edges of 12 to 36 ns for I2C and for all other pins (DS 12.3).
    static var slewRates: RegisterValue { RegisterValue(0x09) }
    /// INTF_CONFIG0: count in bytes, count and data with the high byte first, as after a reset; SPI off.
    static var bigEndianBytes: RegisterValue { RegisterValue(0x32) }
    /// INTF_CONFIG1: the adaptive full scale is off. While it is on, the gyroscope's output stands still for about 2 ms
    /// whenever the rotation rate passes about 100 °/s, which acts as a bias (ArduPilot Invensensev3; Betaflight
    /// `INTF_CONFIG1_AFSR_DISABLE`). The other bits keep their reset values.
    static var fixedScale: RegisterSetting {
        RegisterSetting(ICM42688Register.interface1, set: RegisterValue(0x51), clear: RegisterValue(0x80))
    }
    /// PWR_MGMT0: both sensors in low-noise mode, the thermometer on.
    static var lowNoise: RegisterValue { RegisterValue(0x0F) }
    /// GYRO_CONFIG1 and ACCEL_CONFIG1: second-order low-passes, preceded by third-order ones; the reset values.
    static var gyroscopeSecondOrder: RegisterValue { RegisterValue(0x16) }
    static var accelerometerSecondOrder: RegisterValue { RegisterValue(0x0D) }
    /// FIFO_CONFIG: stream-to-FIFO.
    static var stream: RegisterValue { RegisterValue(0x40) }
    static var flush: RegisterValue { RegisterValue(0x02) }
    /// FIFO_CONFIG1: temperature, gyroscope, accelerometer, which are packets of structure 3; and FIFO_RESUME_PARTIAL_RD:
    /// without it, a read that leaves something in the FIFO would have to be repeated from its beginning.
    static var packet3: RegisterValue { RegisterValue(0x47) }
    /// The header of such a packet: not a message, not 20-bit data, both sensors present (DS 6.2). The low bits, timestamp
    /// and rate change, are ignored.
    static var header: UInt8 { 0x60 }
    static var headerBits: UInt8 { 0xF0 }
    /// INT_CONFIG: INT1 pulses, push-pull and active high.
    static var pushPullActiveHigh: RegisterValue { RegisterValue(0x03) }
    /// INT_CONFIG1: pulses of 100 µs. INT_ASYNC_RESET is 1 after a reset and must be 0 "for proper INT1 and INT2 pin
    /// operation" (DS 12.6).
    static var shortPulse: RegisterValue { RegisterValue(0x00) }
    /// INT_SOURCE0: routes data-ready to INT1, and no longer the end of a reset.
    static var dataReadyOnPin1: RegisterValue { RegisterValue(0x08) }
    /// The value of a sensor that has no data yet (DS 12.8).
    static var invalid: Int16 { .min }
}

/// Timing of the chip, seconds.
enum ICM42688Timing {
    /// A reset takes 1 ms (DS 14.1). Interval between checks, and the deadline.
    static var resetPoll: Double { 0.002 }
    static var resetDeadline: Double { 0.1 }
    /// No register may be written for 200 µs after a sensor is switched on (DS 14.36).
    static var power: Double { 0.001 }
    /// The gyroscope's start-up: 30 ms until its drive is ready (DS 3.1, typical); Linux inv_icm42600.h waits 60 ms. The
    /// accelerometer needs 10 ms (DS 3.2).
    static var gyroscopeStartUp: Double { 0.06 }
    /// Group delays of the low-pass until it has settled to 1 %: 4.6 for a second-order Butterworth filter.
    static var settlingDelays: Double { 5 }
}
