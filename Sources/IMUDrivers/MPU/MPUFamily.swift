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
    /// `nil` if one byte is repeated: an empty FIFO repeats its last byte, a chip in reset sends zeros, and a bus without an
    /// answer reads as ones (RM p. 44).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        var frame = ChipFrame(bigEndian: bytes, accelerometer: offset, gyroscope: offset + 8)
        frame.temperature = bytes.littleEndian(at: offset + 6).byteSwapped
        return frame.isOneByteRepeated ? nil : frame
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
    var fifoEnable = MPU6050Value.motionAndTemperature
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
        case 0x71:
            self = .mpu6500("MPU-9250")
            hasMagnetometer = true
        case 0x73:
            self = .mpu6500("MPU-9255")
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
        case 0xAF:
            self = .icm20608("ICM-20608")
            needsYCorrection = true
        case 0xAE:
            self = .icm20608("ICM-20608D")
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
        variant.configurationMask = RegisterValue(0x7F)
        return variant
    }

    /// The ICM-20602, the ICM-20600 and the MPU-6886: 1008 bytes, one bit for the gyroscope's three axes and none for
    /// the temperature, which is in every frame (PX4 icm20602; Linux reg_set_icm20602 and 1008; 100 ms of start-up).
    ///
    /// The MPU-6886's datasheet says 1024 bytes. 1008 bytes are whole frames, and are safe for both.
    private static func icm20602(_ name: StaticString) -> MPUVariant {
        var variant = icm20608(name)
        variant.fifoSize = 1008
        variant.fifoEnable = MPU6050Value.motion
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

/// The register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct MPUConfiguration: Equatable, Sendable, BitwiseCopyable {
    /// SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG.
    let sampleRateDivider: RegisterValue
    let lowPass: RegisterValue
    let gyroscopeRangeBits: RegisterValue
    let accelerometerRangeBits: RegisterValue

    /// INT_ENABLE.
    let interrupts: RegisterValue

    /// Whether a part with a magnetometer connects it with the bus.
    let connectsMagnetometer: Bool

    /// The effective figures. The accelerometer is delayed by at most 0.4 ms more than the gyroscope; from the MPU-6500
    /// on, by 1 ms less.
    let figures: ChipFigures

    /// Chooses the register values for `settings` on a chip with these low-passes.
    init(_ settings: IMUSettings, lowPass table: MPULowPassTable = .mpu6050) {
        let divisor = Self.divisor(for: settings.rate)
        sampleRateDivider = RegisterValue(UInt8(divisor - 1))
        let rate = Self.baseRate / Double(divisor)
        connectsMagnetometer = settings.connectsMagnetometer
        interrupts = settings.signalsDataReady ? MPU6050Value.dataReady : .none
        let filter = table.row(forRate: rate)
        lowPass = RegisterValue(filter.setting)
        let accelerometer = Self.accelerometer(for: settings.wantedGravities)
        accelerometerRangeBits = RegisterValue(accelerometer.bits)
        let gyroscope = Self.gyroscope(for: settings.wantedDegrees)
        gyroscopeRangeBits = RegisterValue(gyroscope.bits)
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay, accelerometerRange: accelerometer.range,
            gyroscopeRange: gyroscope.range, accelerometerScale: accelerometer.scale, gyroscopeScale: gyroscope.scale)
    }

    /// The sample rate before division while a low-pass is on, Hz (RM p. 11, 13).
    static var baseRate: Double { 1000 }

    /// SMPLRT_DIV has eight bits. A divisor of 250 gives 4 Hz.
    static var largestDivisor: Double { 250 }

    /// The largest divisor of the base rate that still gives `rate` Hz. NaN counts as the lowest rate.
    static func divisor(for rate: Double) -> Int {
        // A rate such as 1000/3, which binary cannot represent exactly, must not fall to the next divisor.
        let wanted = baseRate / rate * (1 + 1e-9)
        return wanted >= 1 ? Int(min(wanted, largestDivisor)) : rate > 0 ? 1 : Int(largestDivisor)
    }

    /// The smallest range of ±2, 4, 8, 16 g not less than `wanted` g (RM p. 15; counts per g: PS 6.2).
    private static func accelerometer(for wanted: Double) -> FullScale {
        func row(_ code: UInt8, _ end: Double, _ counts: Double) -> FullScale {
            FullScale(bits: code << 3, range: end * standardGravity, scale: standardGravity / counts)
        }
        if wanted <= 2 { return row(0, 2, 16384) }
        if wanted <= 4 { return row(1, 4, 8192) }
        if wanted <= 8 { return row(2, 8, 4096) }
        return row(3, 16, 2048)
    }

    /// The smallest range of ±250, 500, 1000, 2000 °/s not less than `wanted` °/s (RM p. 14; counts per °/s: PS 6.1).
    private static func gyroscope(for wanted: Double) -> FullScale {
        func row(_ code: UInt8, _ end: Double, _ counts: Double) -> FullScale {
            FullScale(bits: code << 3, range: end * radiansPerDegree, scale: radiansPerDegree / counts)
        }
        if wanted <= 250 { return row(0, 250, 131) }
        if wanted <= 500 { return row(1, 500, 65.5) }
        if wanted <= 1000 { return row(2, 1000, 32.8) }
        return row(3, 2000, 16.4)
    }
}
