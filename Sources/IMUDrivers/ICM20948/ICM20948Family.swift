internal import MotionCore

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
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        var frame = ChipFrame(bigEndian: bytes, accelerometer: offset, gyroscope: offset + 6)
        frame.temperature = bytes.littleEndian(at: offset + 12).byteSwapped
        return frame.isOneByteRepeated ? nil : frame
    }
}

/// The ICM-20948's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct ICM20948Configuration: Equatable, Sendable, BitwiseCopyable {
    /// GYRO_SMPLRT_DIV, and the low byte of ACCEL_SMPLRT_DIV.
    let divider: RegisterValue
    /// GYRO_CONFIG_1 and ACCEL_CONFIG.
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool
    /// Whether the magnetometer is connected with the bus.
    let connectsMagnetometer: Bool
    /// The effective figures.
    let figures: ChipFigures

    init(_ settings: IMUSettings) {
        let divisor = Self.divisor(for: settings.rate)
        divider = RegisterValue(UInt8(divisor - 1))
        let rate = Self.baseRate / Double(divisor)
        signalsDataReady = settings.signalsDataReady
        connectsMagnetometer = settings.connectsMagnetometer
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        let (turn, turnRange) = doubled(250, upTo: settings.wantedDegrees, most: 3)
        let filter = Self.gyroscopeLowPass(for: rate)
        // FCHOICE in bit 0 switches the low-pass on.
        gyroscopeBits = RegisterValue(filter.code << 3 | turn << 1 | 1)
        accelerometerBits = RegisterValue(Self.accelerometerLowPass(for: rate) << 3 | force << 1 | 1)
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree,
            gyroscopeScale: turnRange / 250 / 131 * radiansPerDegree)
    }

    /// The sample rate of both sensors before division while a low-pass is on, Hz (DS-000189 p. 12).
    static var baseRate: Double { 1125 }

    /// The largest divisor that still gives `rate` Hz, at most 256. NaN counts as the lowest rate.
    static func divisor(for rate: Double) -> Int {
        // A rate such as 1125/7, which binary cannot represent exactly, must not fall to the next divisor.
        let wanted = baseRate / rate * (1 + 1e-9)
        return wanted >= 1 ? Int(min(wanted, 256)) : rate > 0 ? 1 : 256
    }

    /// The widest low-pass of the gyroscope up to 55 % of `rate`, or the narrowest: code, -3 dB bandwidth in Hz and delay in
    /// seconds.
    ///
    /// Bandwidths: DS-000189 r1.3, table 16, as SparkFun's ICM_20948_ENUMERATIONS.h has it. Unsourced: the delays. They
    /// are derived from the MPU-9250 (RM-MPU-9250A-00 r1.6, register 26), whose accelerometer's bandwidths are those of
    /// this chip divided by 1.125, which is the ratio of the base rates:
    /// - The bandwidths of the codes 3 to 6 are, to within 2 %, those of a first-order low-pass with weights of 1/4, 1/8, 1/16
    ///   and 1/32 at 1125 Hz; the noise bandwidths are up to 9 % less, as behind a wider filter. The delays of the MPU-9250's
    ///   codes 3 to 6 are those of the same low-passes, 1/weight - 1 samples, after the 2.9 samples of its code 1. So they are
    ///   taken, in proportion to the base rates.
    /// - Code 0 is what precedes these low-passes: 2.9 samples. The weights of the codes 1 and 2, 0.74 and 0.58, follow from
    ///   their bandwidths.
    /// - Code 7 lacks what narrows code 0, half a sample, as in the MPU-9250's accelerometer.
    static func gyroscopeLowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch 0.55 * rate {
        case 361.4...: (7, 361.4, 0.00213)
        case 196.6...: (0, 196.6, 0.00258)
        case 151.8...: (1, 151.8, 0.00289)
        case 119.5...: (2, 119.5, 0.00322)
        case 51.2...: (3, 51.2, 0.00524)
        case 23.9...: (4, 23.9, 0.0088)
        case 11.6...: (5, 11.6, 0.01587)
        default: (6, 5.7, 0.02976)
        }
    }

    /// The code of the accelerometer's low-pass chosen likewise: 473, 246, 111.4, 50.4, 23.9, 11.5 or 5.7 Hz (DS-000189 r1.3,
    /// table 18, likewise). Its delay is 0.9 ms less than the gyroscope's if it is derived in the same way.
    static func accelerometerLowPass(for rate: Double) -> UInt8 {
        switch 0.55 * rate {
        case 473...: 7
        case 246...: 0
        case 111.4...: 2
        case 50.4...: 3
        case 23.9...: 4
        case 11.5...: 5
        default: 6
        }
    }
}

/// The registers that the driver uses, of bank 0 unless noted, named as in DS-000189 r1.3 ("DS").
///
/// Numbers: PX4 InvenSense_ICM20948_registers.hpp and ArduPilot AP_InertialSensor_Invensensev2_registers.h; of DS, only the
/// pages noted were at hand.
enum ICM20948Register {
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x00) }
    /// USER_CTRL: DMP_EN in bit 7, FIFO_EN in 6, I2C_MST_EN in 5.
    static var userControl: RegisterAddress { RegisterAddress(0x03) }
    /// LP_CONFIG: ACCEL_CYCLE in bit 5, GYRO_CYCLE in 4 (DS p. 37).
    static var lowPower: RegisterAddress { RegisterAddress(0x05) }
    /// PWR_MGMT_1: DEVICE_RESET in bit 7, SLEEP in 6, LP_EN in 5, TEMP_DIS in 3, CLKSEL in 2…0 (DS p. 37).
    static var powerManagement1: RegisterAddress { RegisterAddress(0x06) }
    /// PWR_MGMT_2: the accelerometer's axes off in bits 5…3, the gyroscope's in 2…0.
    static var powerManagement2: RegisterAddress { RegisterAddress(0x07) }
    /// INT_PIN_CFG: active low in bit 7, open drain in 6, latched in 5, BYPASS_EN in 1 (SparkFun ICM_20948_REGISTERS.h).
    static var interruptPin: RegisterAddress { RegisterAddress(0x0F) }
    /// INT_ENABLE_1: RAW_DATA_0_RDY_EN in bit 0.
    static var interruptEnable1: RegisterAddress { RegisterAddress(0x11) }
    /// TEMP_OUT_H, TEMP_OUT_L.
    static var temperature: RegisterAddress { RegisterAddress(0x39) }
    /// FIFO_EN_1: the auxiliary bus; FIFO_EN_2: accelerometer in bit 4, gyroscope in 3…1, temperature in 0.
    static var fifoEnable1: RegisterAddress { RegisterAddress(0x66) }
    static var fifoEnable2: RegisterAddress { RegisterAddress(0x67) }
    /// FIFO_RST: bits 4…0 hold the FIFO in reset.
    static var fifoReset: RegisterAddress { RegisterAddress(0x68) }
    /// FIFO_MODE: bit 0 keeps the oldest data when the FIFO is full.
    static var fifoMode: RegisterAddress { RegisterAddress(0x69) }
    /// FIFO_COUNTH, FIFO_COUNTL.
    static var fifoCount: RegisterAddress { RegisterAddress(0x70) }
    /// FIFO_R_W: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x72) }
    /// REG_BANK_SEL: the bank in bits 5…4, present in every bank.
    static var bank: RegisterAddress { RegisterAddress(0x7F) }

    /// REG_BANK_SEL for bank 2.
    private static var bank2: UInt8 { 0x20 }
    /// Bank 2: GYRO_SMPLRT_DIV; GYRO_CONFIG_1 with GYRO_DLPFCFG in bits 5…3, GYRO_FS_SEL in 2…1, GYRO_FCHOICE in 0.
    static var gyroscopeDivider: RegisterAddress { RegisterAddress(0x00, bank: bank2) }
    static var gyroscope: RegisterAddress { RegisterAddress(0x01, bank: bank2) }
    /// Bank 2: ODR_ALIGN_EN, which starts both sensors' samples together.
    static var alignment: RegisterAddress { RegisterAddress(0x09, bank: bank2) }
    /// Bank 2: ACCEL_SMPLRT_DIV_1 and _2, the high bits first; ACCEL_CONFIG, laid out like GYRO_CONFIG_1.
    static var accelerometerDividerHigh: RegisterAddress { RegisterAddress(0x10, bank: bank2) }
    static var accelerometerDivider: RegisterAddress { RegisterAddress(0x11, bank: bank2) }
    static var accelerometer: RegisterAddress { RegisterAddress(0x14, bank: bank2) }
}

/// The register values that do not depend on settings.
enum ICM20948Value {
    static var identity: UInt8 { 0xEA }
    static var deviceReset: RegisterValue { RegisterValue(0x80) }
    /// PWR_MGMT_1 after a reset: SLEEP, CLKSEL 1 (DS p. 37).
    static var afterReset: RegisterValue { RegisterValue(0x41) }
    /// PWR_MGMT_1: awake, CLKSEL 1, which selects the gyroscope's PLL when it is ready (DS p. 25, 37).
    static var awake: RegisterValue { RegisterValue(0x01) }
    static var sleep: RegisterValue { RegisterValue(0x41) }
    /// LP_CONFIG: both sensors duty-cycled, which they must not be.
    static var dutyCycles: RegisterValue { RegisterValue(0x30) }
    /// GYRO_CONFIG_1, ACCEL_CONFIG: FCHOICE, the low-pass is on.
    static var lowPassOn: RegisterValue { RegisterValue(0x01) }
    /// INT_PIN_CFG: connects the auxiliary bus with the host's (DS p. 23).
    static var bypass: RegisterValue { RegisterValue(0x02) }
    static var align: RegisterValue { RegisterValue(0x01) }
    static var dataReady: RegisterValue { RegisterValue(0x01) }
    /// FIFO_EN_2: accelerometer, gyroscope and temperature.
    static var motionAndTemperature: RegisterValue { RegisterValue(0x1F) }
    static var fifoOn: RegisterValue { RegisterValue(0x40) }
    static var resetFIFO: RegisterValue { RegisterValue(0x1F) }
}

/// Timing of the chip, seconds.
enum ICM20948Timing {
    /// Interval between checks of a reset, and the deadline. PX4 waits 100 ms.
    static var resetPoll: Double { 0.01 }
    static var resetDeadline: Double { 0.15 }
    /// The clock settles. Unsourced: as in the MPU-6500, assumed.
    static var clockSettling: Double { 0.01 }
    /// The gyroscope's start-up after sleep. Unsourced: assumed to be that of the MPU-9250 (PS-MPU-9250A-01 r1.0, 3.1: 35
    /// ms, typical), with a margin. The accelerometer needs 20 ms (DS p. 12).
    static var gyroscopeStartUp: Double { 0.06 }
    /// Delays of the low-pass until it has settled to 1 %.
    static var settlingDelays: Double { 5 }
}
