internal import MotionCore

/// TDK InvenSense's ICM-20948: accelerometer and gyroscope. Its magnetometer is a device of its own, an AK09916, which
/// this driver at most connects with the bus.
///
/// It has the address of the MPU family, but an identity in another register, and settings in bank 2. The driver selects
/// that only while it configures or checks the chip.
///
/// Registers are named as in DS-000189 r1.3 ("DS"), of which only the pages noted were at hand. Numbers: PX4
/// InvenSense_ICM20948_registers.hpp and ArduPilot AP_InertialSensor_Invensensev2_registers.h.
package struct ICM20948Family: ChipPart {
    package static var family: IMUFamily { .icm20948 }
    /// AD0 low and high.
    package static var addresses: [UInt8] { [0x68, 0x69] }
    /// WHO_AM_I.
    package static var identityRegister: RegisterAddress { 0x00 }
    package static var identity: UInt8 { 0xEA }
    /// REG_BANK_SEL: the bank in bits 5…4, present in every bank.
    package static var bankRegister: RegisterAddress? { bank }
    package static var abandonedBanks: [[RegisterSetting]] {
        [
            [
                RegisterSetting(bank, set: RegisterValue(bank2)), alignment.inSelectedBank,
                RegisterSetting(accelerometerDividerHigh).inSelectedBank,
                RegisterSetting(gyroscope, set: lowPassOn, clear: .none).inSelectedBank,
                RegisterSetting(accelerometer, set: lowPassOn, clear: .none).inSelectedBank,
            ]
        ]
    }
    package var name: StaticString { "ICM-20948" }
    package var unsourced: StaticString? { "delays of the low-passes, start-up time of clock and gyroscope" }

    // MARK: Settings

    package let figures: ChipFigures
    /// GYRO_SMPLRT_DIV, and the low byte of ACCEL_SMPLRT_DIV.
    private let divider: RegisterValue
    /// GYRO_CONFIG_1 and ACCEL_CONFIG.
    private let gyroscopeBits: RegisterValue
    private let accelerometerBits: RegisterValue
    private let signalsDataReady: Bool
    private let connectsMagnetometer: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity else { return nil }
        // The sample rate of both sensors before division while a low-pass is on, 1125 Hz (DS p. 12).
        let ratio = divisor(of: 1125, for: settings.rate, most: 256)
        divider = RegisterValue(UInt8(ratio - 1))
        let rate = 1125 / Double(ratio)
        signalsDataReady = settings.signalsDataReady
        connectsMagnetometer = settings.connectsMagnetometer
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        let (turn, turnRange) = doubled(250, upTo: settings.wantedDegrees, most: 3)
        let filter = Self.gyroscopeLowPass(for: rate)
        gyroscopeBits = RegisterValue(filter.code << 3 | turn << 1) | Self.lowPassOn
        accelerometerBits = RegisterValue(Self.accelerometerLowPass(for: rate) << 3 | force << 1) | Self.lowPassOn
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree,
            gyroscopeScale: turnRange / 250 / 131 * radiansPerDegree)
    }

    /// The widest low-pass of the gyroscope up to 55 % of `rate`, or the narrowest: code, -3 dB bandwidth in Hz and delay in
    /// seconds.
    ///
    /// Bandwidths: DS, table 16, as SparkFun's ICM_20948_ENUMERATIONS.h has it. Unsourced: the delays. They
    /// are derived from the MPU-9250 (RM-MPU-9250A-00 r1.6, register 26), whose accelerometer's bandwidths are those of
    /// this chip divided by 1.125, which is the ratio of the base rates:
    /// - The bandwidths of the codes 3 to 6 are, to within 2 %, those of a first-order low-pass with weights of 1/4, 1/8, 1/16
    ///   and 1/32 at 1125 Hz; the noise bandwidths are up to 9 % less, as behind a wider filter. The delays of the MPU-9250's
    ///   codes 3 to 6 are those of the same low-passes, 1/weight - 1 samples, after the 2.9 samples of its code 1. So they are
    ///   taken, in proportion to the base rates.
    /// - Code 0 is what precedes these low-passes: 2.9 samples. The weights of the codes 1 and 2, 0.74 and 0.58, follow from
    ///   their bandwidths.
    /// - Code 7 lacks what narrows code 0, half a sample, as in the MPU-9250's accelerometer.
    private static func gyroscopeLowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
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
    private static func accelerometerLowPass(for rate: Double) -> UInt8 {
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

    /// 333.87 counts per kelvin from 21 °C (PX4).
    package func celsius(_ raw: Int16) -> Double { 21 + Double(raw) / 333.87 }

    // MARK: Registers and scripts

    private static var bank: RegisterAddress { 0x7F }
    /// REG_BANK_SEL for bank 2.
    private static var bank2: UInt8 { 0x20 }
    /// USER_CTRL: DMP_EN in bit 7, FIFO_EN in 6, I2C_MST_EN in 5.
    private static var userControl: RegisterAddress { 0x03 }
    /// PWR_MGMT_1: DEVICE_RESET in bit 7, SLEEP in 6, LP_EN in 5, TEMP_DIS in 3, CLKSEL in 2…0 (DS p. 37). CLKSEL 1
    /// selects the gyroscope's PLL when it is ready (DS p. 25).
    private static var power: RegisterAddress { 0x06 }
    /// PWR_MGMT_1 asleep with CLKSEL 1, as after a reset (DS p. 37).
    private static var asleep: RegisterValue { 0x41 }
    /// INT_PIN_CFG: active low in bit 7, open drain in 6, latched in 5, BYPASS_EN in 1 (SparkFun ICM_20948_REGISTERS.h).
    private static var interruptPin: RegisterAddress { 0x0F }
    /// FIFO_EN_2: accelerometer in bit 4, gyroscope in 3…1, temperature in 0.
    private static var fifoContent: RegisterAddress { 0x67 }
    /// Bank 2: GYRO_CONFIG_1 and ACCEL_CONFIG: the low-pass in bits 5…3, the range in 2…1, FCHOICE in 0.
    private static var gyroscope: RegisterAddress { RegisterAddress(0x01, bank: bank2) }
    private static var accelerometer: RegisterAddress { RegisterAddress(0x14, bank: bank2) }
    /// FCHOICE switches the low-pass on.
    private static var lowPassOn: RegisterValue { 0x01 }
    /// Bank 2: ODR_ALIGN_EN, which starts both sensors' samples together.
    private static var alignment: RegisterSetting { RegisterSetting(RegisterAddress(0x09, bank: bank2), set: 0x01) }
    /// Bank 2: ACCEL_SMPLRT_DIV_1, the high bits; ACCEL_SMPLRT_DIV_2 follows.
    private static var accelerometerDividerHigh: RegisterAddress { RegisterAddress(0x10, bank: bank2) }

    /// The FIFO is switched on before its content is selected, as in ArduPilot.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(Self.power, 0x01, in: .waking)
        // GYRO_SMPLRT_DIV.
        table.add(RegisterAddress(0x00, bank: Self.bank2), divider, in: .configuration)
        table.addRange(Self.gyroscope, gyroscopeBits, in: .configuration)
        table.add(Self.alignment, in: .configuration)
        table.add(Self.accelerometerDividerHigh, 0, in: .configuration)
        table.add(Self.accelerometerDividerHigh.advanced(by: 1), divider, in: .configuration)
        table.addRange(Self.accelerometer, accelerometerBits, in: .configuration)
        // PWR_MGMT_2: the accelerometer's axes off in bits 5…3, the gyroscope's in 2…0.
        table.add(0x07, 0, in: .configuration)
        // LP_CONFIG: ACCEL_CYCLE in bit 5, GYRO_CYCLE in 4 (DS p. 37). The sensors must not be duty-cycled.
        table.add(RegisterSetting(0x05, clear: 0x30), in: .observed)
        // FIFO_EN_1: the auxiliary bus.
        table.add(0x66, 0, in: .configuration)
        // FIFO_MODE: bit 0 keeps the oldest data when the FIFO is full.
        table.add(0x69, 0, in: .configuration)
        table.add(Self.userControl, 0x40, in: .fifo)
        table.add(Self.fifoContent, 0x1F, in: .fifo)
        if connectsMagnetometer {
            // BYPASS_EN connects the auxiliary bus with the host's (DS p. 23). It needs I2C_MST_EN clear, as the row of
            // USER_CTRL has it.
            table.add(Self.interruptPin, 0x02, in: .configuration)
        }
        guard signalsDataReady else { return }
        if !connectsMagnetometer { table.add(Self.interruptPin, 0, in: .dataReady) }
        // INT_ENABLE_1: RAW_DATA_0_RDY_EN.
        table.add(0x11, 0x01, in: .dataReady)
    }

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(Self.bank, 0))
        // PX4 waits 100 ms.
        script.addReset(Self.power, 0x80, until: RegisterSetting(Self.power, set: Self.asleep))
        script.add(.enter(.waking))
        script.add(.apply(.waking))
        // The gyroscope's start-up after sleep. Unsourced: assumed to be that of the MPU-9250 (PS-MPU-9250A-01 r1.0,
        // 3.1: 35 ms, typical), with a margin. The accelerometer needs 20 ms (DS p. 12).
        script.add(.settle(0.06 + settlingDelays * delay))
        // The clock settles. Unsourced: as in the MPU-6500, assumed.
        script.add(.wait(0.01))
        script.add(.verify(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.dataReady))
    }

    /// As in ArduPilot, with all five bits of FIFO_RST, which hold the FIFO in reset, as in PX4; then the temperature,
    /// TEMP_OUT_H and TEMP_OUT_L.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoContent, 0))
        script.add(.write(Self.userControl, 0))
        script.add(.write(0x68, 0x1F))
        script.add(.write(0x68, 0))
        script.add(.noteTemperature(0x39))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.power, Self.asleep))
    }

    // MARK: FIFO

    /// FIFO_COUNTH and FIFO_COUNTL. FIFO_R_W: the address does not advance to the next register.
    ///
    /// The FIFO holds 512 bytes (PX4). "If we have more than 32 samples in the FIFO then some of those samples will be
    /// corrupt" (ArduPilot Invensensev2), so more are treated as an overflow.
    package var fifo: ChipFIFO {
        ChipFIFO(size: 32 * 14, frameLength: 14, count: ChipRegisters(first: 0x70, count: 2), data: 0x72)
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0] & 0x1F) << 8 | Int(registers[1]) }

    /// Accelerometer, gyroscope and temperature in register order, high bytes first.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(
            bigEndian: bytes, accelerometer: offset, gyroscope: offset + 6, temperature: offset + 12)
        return frame.isOneByteRepeated() ? nil : frame
    }
}
