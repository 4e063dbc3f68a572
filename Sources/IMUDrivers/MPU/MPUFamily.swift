package import MotionCore

/// InvenSense's MPU-6050 and its relatives, read through the FIFO. `MPUVariant` holds the differences between the parts.
///
/// "RM" is RM-MPU-6000A-00 r4.2, which also names the registers, "PS" is PS-MPU-6000A-00 r3.4.
package struct MPUFamily: ChipPart {
    package static var family: IMUFamily { .mpu6050 }
    /// AD0 low and high (PS 9.2).
    package static var addresses: [UInt8] { [0x68, 0x69] }
    /// WHO_AM_I: that of an MPU-6050, whatever the level of AD0 (RM p. 45).
    package static var identityRegister: RegisterAddress { 0x75 }
    package static var identity: UInt8 { 0x68 }
    package var name: StaticString { variant.name }
    package var unsourced: StaticString? { variant.unsourced }

    // MARK: Settings

    /// The accelerometer is delayed by at most 0.4 ms more than the gyroscope; from the MPU-6500 on, by 1 ms less.
    package let figures: ChipFigures
    private let variant: MPUVariant
    /// SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG.
    let sampleRateDivider: RegisterValue
    let lowPass: RegisterValue
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    private let signalsDataReady: Bool
    /// Whether the magnetometer in the package is connected with the bus.
    private let connectsMagnetometer: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard let variant = MPUVariant(identity: identity) else { return nil }
        self.variant = variant
        signalsDataReady = settings.signalsDataReady
        connectsMagnetometer = settings.connectsMagnetometer && variant.hasMagnetometer
        // The sample rate before division while a low-pass is on, 1000 Hz (RM p. 11, 13). SMPLRT_DIV has eight bits. A
        // divisor of 250 gives 4 Hz.
        let ratio = divisor(of: 1000, for: settings.rate, most: 250)
        sampleRateDivider = RegisterValue(UInt8(ratio - 1))
        let rate = 1000 / Double(ratio)
        let filter = variant.lowPass.row(forRate: rate)
        lowPass = RegisterValue(filter.setting)
        // 16384 to 2048 counts per g (RM p. 15; PS 6.2), 131 to 16.4 counts per °/s (RM p. 14; PS 6.1).
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        accelerometerBits = RegisterValue(force << 3)
        let (turn, turnRange) = doubled(250, upTo: settings.wantedDegrees, most: 3)
        gyroscopeBits = RegisterValue(turn << 3)
        let countsPerDegree = SIMD4<Double>(131, 65.5, 32.8, 16.4)[Int(turn)]
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree,
            gyroscopeScale: radiansPerDegree / countsPerDegree)
    }

    package var hasErraticThermometer: Bool { variant.hasErraticThermometer }

    package func celsius(_ raw: Int16) -> Double { Double(raw) / variant.countsPerKelvin + variant.celsiusAtZero }

    // MARK: Registers and scripts

    /// SMPLRT_DIV: the sample rate is the base rate divided by this plus one (RM p. 11).
    static var dividerRegister: RegisterAddress { 0x19 }
    /// CONFIG: DLPF_CFG in bits 2…0 (RM p. 13).
    static var lowPassRegister: RegisterAddress { 0x1A }
    /// GYRO_CONFIG: FS_SEL in bits 4…3 (RM p. 14). ACCEL_CONFIG: AFS_SEL in bits 4…3 (RM p. 15). Both: self-test of the
    /// three axes in bits 7…5.
    static var gyroscope: RegisterAddress { 0x1B }
    static var accelerometer: RegisterAddress { 0x1C }
    static var selfTest: RegisterValue { 0xE0 }
    /// ACCEL_CONFIG2: A_DLPF_CFG in bits 2…0, ACCEL_FCHOICE_B in bit 3, from the MPU-6500 on (RM-MPU-6500A-00, 4.8). On
    /// the ICM-20689, bits 7…6 select the FIFO's size.
    private static var accelerometer2: RegisterAddress { 0x1D }
    /// FIFO_EN: selects the FIFO's content (RM p. 16).
    private static var fifoContent: RegisterAddress { 0x23 }
    /// USER_CTRL: FIFO_EN in bit 6; FIFO_RESET in bit 2, which must be set while the FIFO is off (RM p. 38).
    private static var userControl: RegisterAddress { 0x6A }
    /// PWR_MGMT_1: DEVICE_RESET, which clears itself when the reset is done; SLEEP; CLKSEL, of which 1 is the PLL on the
    /// gyroscope's x axis, which is more stable than the plain oscillator (RM p. 40).
    static var power: RegisterAddress { 0x6B }
    static var deviceReset: RegisterValue { 0x80 }
    static var sleep: RegisterValue { 0x40 }
    static var gyroscopeClock: RegisterValue { 0x01 }

    /// FIFO_EN is written before USER_CTRL: the FIFO's content is selected before the FIFO is switched on.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(Self.power, Self.gyroscopeClock, in: .waking)
        // PWR_MGMT_2: axes in standby (RM p. 42).
        table.add(0x6C, 0, in: .configuration)
        table.add(Self.dividerRegister, sampleRateDivider, in: .configuration)
        table.add(
            RegisterSetting(Self.lowPassRegister, set: lowPass, clear: variant.configurationMask), in: .configuration)
        table.addRange(Self.gyroscope, gyroscopeBits, in: .configuration)
        table.addRange(Self.accelerometer, accelerometerBits, in: .configuration)
        table.add(Self.fifoContent, variant.fifoEnable, in: .fifo)
        // INT_PIN_CFG: the behaviour of the INT pin; zero is push-pull, active high, a pulse of 50 µs. I2C_BYPASS_EN in
        // bit 1 connects the auxiliary bus with the host's while I2C_MST_EN in USER_CTRL is clear, as its row has it
        // (RM p. 26; PS-MPU-9250A-01 r1.0, p. 24).
        table.add(0x37, connectsMagnetometer ? 0x02 : 0, in: .configuration)
        // INT_ENABLE: DATA_RDY_EN, one pulse of the INT pin per sample (RM p. 27).
        table.add(0x38, signalsDataReady ? 0x01 : 0, in: .configuration)
        if variant.filtersAccelerometer && variant.keepsAccelerometerFilter {
            // The accelerometer's low-pass with the same number; all other bits are zero.
            table.add(Self.accelerometer2, lowPass, in: .configuration)
        }
        table.add(Self.userControl, 0x40, in: .fifo)
    }

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        // The bit clears itself: within 10 ms on the parts tested, 100 ms from power-up (RM p. 40, PS 6.3).
        script.addReset(
            Self.power, Self.deviceReset, until: RegisterSetting(Self.power, clear: Self.deviceReset),
            every: MPU6050Timing.resetPoll, within: MPU6050Timing.resetDeadline)
        script.add(.enter(.waking))
        script.add(.apply(.waking))
        script.add(.settle(variant.gyroscopeStartUp))
        script.add(.wait(MPU6050Timing.clockSettling))
        script.add(.verify(.waking))
        script.add(.enter(.configuring))
        // The register is undocumented, in the ICM-20602 and ICM-20608 (ArduPilot `MPUREG_ICM_UNDOC1`, and its `_VALUE`).
        if variant.needsYCorrection { script.add(.write(0x11, 0xC9)) }
        // The high byte of the accelerometer's offset on y in the ICM-20602, set by the factory (ArduPilot
        // `MPUREG_ACC_OFF_Y_H`).
        if variant.losesYOffset { script.add(.keep(0x7A)) }
        script.add(.configure(.configuration))
        if variant.filtersAccelerometer && !variant.keepsAccelerometerFilter {
            script.add(.write(Self.accelerometer2, lowPass))
        }
    }

    /// The temperature is TEMP_OUT_H and TEMP_OUT_L, the newest one (RM p. 30).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoContent, 0))
        script.add(.write(Self.userControl, 0x04))
        script.add(.noteTemperature(0x41))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.power, Self.sleep | Self.gyroscopeClock))
    }

    // MARK: FIFO

    /// FIFO_COUNT_H, FIFO_COUNT_L: reading the count's high byte latches both bytes (RM p. 43). FIFO_R_W: the address
    /// does not advance to the next register (RM p. 44). The FIFO's size is not a multiple of a frame, so after an
    /// overflow frames may begin anywhere.
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: variant.fifoSize, frameLength: 14, count: ChipRegisters(first: 0x72, count: 2), data: 0x74,
            reportsOverflow: !variant.isFIFOSizeCertain)
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0]) << 8 | Int(registers[1]) }

    /// Accelerometer, temperature and gyroscope in register order; each value is two bytes, high byte first (RM p. 16,
    /// 29…31).
    ///
    /// `nil` if one byte is repeated: an empty FIFO repeats its last byte, a chip in reset sends zeros, and a bus without an
    /// answer reads as ones (RM p. 44).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(
            bigEndian: bytes, accelerometer: offset, gyroscope: offset + 8, temperature: offset + 6)
        return frame.isOneByteRepeated() ? nil : frame
    }
}

/// A driver for an MPU-6050 or one of its relatives.
package typealias MPU6050<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock> =
    ChipDriver<MPUFamily, Bus, Clock, NoDataReadyLine>

/// The differences between the members of InvenSense's MPU family that matter to the driver.
///
/// All have the registers of the MPU-6050. "Linux" is drivers/iio/imu/inv_mpu6050 (hw_info in inv_mpu_core.c,
/// inv_mpu_iio.h), "PX4" is src/drivers/imu/invensense (Invensense_…_registers.hpp, one folder per chip).
struct MPUVariant: Sendable, BitwiseCopyable {
    /// The part's name as its manufacturer writes it.
    let name: StaticString
    /// Bytes that the FIFO holds; a minimum if the size is not certain.
    var fifoSize = 1024
    var isFIFOSizeCertain = true
    /// °C = counts / `countsPerKelvin` + `celsiusAtZero`.
    var countsPerKelvin = 340.0
    var celsiusAtZero = 36.53
    /// The filters that DLPF_CFG selects, and A_DLPF_CFG if the part has one.
    var lowPass = MPULowPassTable.mpu6050
    /// Whether the accelerometer has a separate low-pass, ACCEL_CONFIG2, and whether that register keeps its value.
    var filtersAccelerometer = false
    var keepsAccelerometerFilter = true
    /// The FIFO_EN value that puts accelerometer, temperature and gyroscope into the FIFO.
    /// By default temperature, the gyroscope's three axes, the accelerometer (RM p. 16).
    var fifoEnable: RegisterValue = 0xF8
    /// The bits of CONFIG that are checked on read-back.
    var configurationMask = RegisterValue.all
    /// Seconds from sleep until the gyroscope measures.
    var gyroscopeStartUp = MPU6050Timing.gyroscopeStartUp

    /// Whether the package holds an AK8963.
    var hasMagnetometer = false

    /// The part may change its factory offset of the accelerometer's y axis, YA_OFFS_H, by itself, every few hours
    /// (ArduPilot AP_InertialSensor_Invensense.cpp; pull request 16593).
    var losesYOffset = false
    /// The part needs an undocumented register, without which the y axis may read 2.7 m/s² too much (ArduPilot
    /// `MPUREG_ICM_UNDOC1`).
    var needsYCorrection = false
    /// Single temperatures in the FIFO are wrong on good parts while the rest of the frame is right (ArduPilot pull request
    /// 21937). Several in a row mean bad data: ArduPilot took that pull request back (22034) and resets the FIFO (22035).
    var hasErraticThermometer = false

    /// Constants that no source confirms.
    var unsourced: StaticString?

    /// The variant that answers with `identity`; `nil` if none does. Numbers: Linux inv_mpu_iio.h.
    init?(identity: UInt8) {
        switch identity {
        // The MPU-6000 and the MPU-9150 answer with the same number and need no distinction.
        case 0x68: self = .mpu6050
        case 0x70: self = .mpu6500("MPU-6500")
        case 0x71, 0x73:
            self = .mpu6500(identity == 0x71 ? "MPU-9250" : "MPU-9255")
            hasMagnetometer = true
        case 0x74: self = .mpu6500("MPU-6515")
        case 0x72: self = .clone
        case 0x19: self = .icm20602("MPU-6886")
        case 0x11: self = .icm20602("ICM-20600")
        case 0x12:
            self = .icm20602("ICM-20602")
            unsourced = "delays of the low-passes"
            losesYOffset = true
            needsYCorrection = true
            hasErraticThermometer = true
        case 0xAE, 0xAF:
            self = .icm20608(identity == 0xAF ? "ICM-20608" : "ICM-20608D")
            needsYCorrection = true
        case 0x98: self = .icm20689
        default: return nil
        }
    }

    private init(name: StaticString) {
        self.name = name
    }

    /// The variant assumed before the chip has been identified: 1024 bytes, 340 counts per kelvin from 36.53 °C
    /// (RM-MPU-6000A-00 r4.2, p. 30, 44).
    static let mpu6050 = MPUVariant(name: "MPU-6050")

    /// The MPU-6500 and the parts that contain one: 512 bytes, 333.87 counts per kelvin from 21 °C, 70 ms of start-up
    /// (Linux; PS-MPU-9250A-01 r1.0, 3.1: 35 ms, typical).
    private static func mpu6500(_ name: StaticString) -> MPUVariant {
        var variant = MPUVariant(name: name)
        variant.fifoSize = 512
        // A board sold as one of these may carry a clone with a larger FIFO, so a larger count is possible.
        variant.isFIFOSizeCertain = false
        variant.countsPerKelvin = 333.87
        variant.celsiusAtZero = 21
        variant.lowPass = .mpu9250
        variant.filtersAccelerometer = true
        variant.gyroscopeStartUp = 0.07
        return variant
    }

    /// Sold as an MPU-6050, with a number that no manufacturer uses. Unsourced: everything about it. It is treated as an
    /// MPU-6500. It may lack ACCEL_CONFIG2, so that register need not keep its value.
    private static var clone: MPUVariant {
        var variant = mpu6500("MPU-6050 copy (0x72)")
        variant.keepsAccelerometerFilter = false
        variant.unsourced = "everything but the identity"
        return variant
    }

    /// The ICM-20608: like the MPU-6500, but 326.8 counts per kelvin from 25 °C (Linux, PX4 icm20608g).
    private static func icm20608(_ name: StaticString) -> MPUVariant {
        var variant = mpu6500(name)
        variant.isFIFOSizeCertain = true
        variant.countsPerKelvin = 326.8
        variant.celsiusAtZero = 25
        variant.lowPass = .icm206xx
        variant.unsourced = "bandwidths and delays of the low-passes"
        // CONFIG is 0x80 after a reset (DS-000176, register 26), and bit 7 must be written as zero (PX4 icm20602). What
        // it then reads as does not matter.
        variant.configurationMask = 0x7F
        return variant
    }

    /// The ICM-20602, the ICM-20600 and the MPU-6886: 1008 bytes, one bit for the gyroscope's three axes and none for
    /// the temperature, which is in every frame (PX4 icm20602; Linux reg_set_icm20602 and 1008; 100 ms of start-up).
    ///
    /// The MPU-6886's datasheet says 1024 bytes. 1008 bytes are whole frames, and are safe for both.
    private static func icm20602(_ name: StaticString) -> MPUVariant {
        var variant = icm20608(name)
        variant.fifoSize = 1008
        // GYRO_FIFO_EN and ACCEL_FIFO_EN; either one adds the temperature (PX4 icm20602).
        variant.fifoEnable = 0x18
        variant.gyroscopeStartUp = 0.1
        return variant
    }

    /// The ICM-20689, or a board sold as an MPU-6050 with a chip that answers like an ICM-20689.
    ///
    /// The ICM-20689 can hold 4096 bytes; with zeros in bits 7…6 of ACCEL_CONFIG2 it holds 512 (Linux, PX4 icm20689). The
    /// driver requests and assumes 512, which is also safe on a chip with more. A chip without ACCEL_CONFIG2 may ignore
    /// the write. Unsourced: the temperature scale of a clone; it may be off by 12 K.
    private static var icm20689: MPUVariant {
        var variant = icm20608("ICM-20689")
        variant.unsourced = "bandwidths and delays of the low-passes; temperature of a copy"
        variant.isFIFOSizeCertain = false
        variant.keepsAccelerometerFilter = false
        return variant
    }
}

/// Timing of the chip, seconds.
enum MPU6050Timing {
    /// Interval between checks of a reset, which takes less than 10 ms on the parts tested.
    static var resetPoll: Double { 0.01 }
    /// A reset not done within this time is repeated: the registers may take 100 ms from power-up (PS 6.3).
    static var resetDeadline: Double { 0.15 }
    /// The PLL settles within 10 ms (PS 6.6, Linux waits as long).
    static var clockSettling: Double { 0.01 }
    /// The gyroscope's start-up after sleep (Linux inv_mpu6050: 60 ms; PS 6.1: 30 ms typical).
    static var gyroscopeStartUp: Double { 0.06 }
}
