internal import MotionCore

/// Bosch's BMI160.
///
/// Its FIFO is read without headers: twelve bytes per frame, the gyroscope first. A full FIFO drops whole frames, so a
/// length that is not a multiple of a frame means that bytes were lost. Registers, codes, ranges, rates, pin and FIFO
/// content were checked against Linux bmi160_core.c and Bosch's BMI160_SensorAPI 3.8.1, which names the registers, and
/// the reset values against a copy of the register map of BST-BMI160-DS000-09, to which sections refer.
package struct BMI160Family: ChipPart {
    package static var family: IMUFamily { .bmi160 }
    /// SDO low and high (section 3.2).
    package static var addresses: [UInt8] { [0x68, 0x69] }
    /// CHIP_ID.
    package static var identityRegister: RegisterAddress { 0x00 }
    package static var identity: UInt8 { 0xD1 }
    package var name: StaticString { "BMI160" }
    package var unsourced: StaticString? { "delays of the low-passes" }

    // MARK: Settings

    /// The accelerometer's bandwidth is 5 % less to 31 % more than the gyroscope's. Unsourced: the delay, assumed to be
    /// that of a second-order Butterworth low-pass with the gyroscope's bandwidth.
    package let figures: ChipFigures
    /// acc_odr and gyr_odr. Both sensors need the same rate, because frames without headers contain both.
    private let rateCode: UInt8
    private let accelerometerCode: UInt8
    private let gyroscopeCode: UInt8
    private let signalsDataReady: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity else { return nil }
        signalsDataReady = settings.signalsDataReady
        // The gyroscope has no rate below 25 Hz, the accelerometer none above 1600 Hz (Linux `bmi160_accel_odr`,
        // `bmi160_gyro_odr`). Bandwidths: section 2.4 of the datasheet, as Intel's driver has them
        // (hanyazou/BMI160-Arduino, BMI160.cpp, getGyroDLPFMode and getAccelDLPFMode).
        let (steps, rate) = doubled(25, upTo: settings.wantedRate, most: 6)
        rateCode = 6 + steps
        let bandwidths = SIMD8<Double>(10.7, 20.8, 39.9, 74.6, 136.6, 254.6, 523.9, .nan)
        // 598 µm/s² per count at ±2 g, which is 16384 counts per g (Linux `bmi160_accel_scale`).
        let (force, forceRange) = doubled(2, upTo: settings.wantedGravities, most: 3)
        accelerometerCode = SIMD4<UInt8>(0x3, 0x5, 0x8, 0xC)[Int(force)]
        // 1065 µrad/s per count at ±2000 °/s, which is 16.4 counts per °/s (Linux `bmi160_gyro_scale`).
        let (turn, turnRange) = doubled(125, upTo: settings.wantedDegrees, most: 4)
        gyroscopeCode = 4 - turn
        figures = ChipFigures(
            rate: rate, bandwidth: bandwidths[Int(steps)], accelerometerRange: forceRange * standardGravity,
            gyroscopeRange: turnRange * radiansPerDegree, gyroscopeScale: radiansPerDegree / (16.4 * 2000 / turnRange))
    }

    /// The thermometer has 23 °C at zero counts, 1/512 K per count (Zephyr drivers/sensor/bosch/bmi160:
    /// BMI160_TEMP_OFFSET, "the scale is 1/2^9/LSB").
    package func celsius(_ raw: Int16) -> Double { raw == Self.missing ? .nan : 23 + Double(raw) / 512 }

    // MARK: Registers and scripts

    /// FIFO_DOWNS and FIFO_CONFIG_0 have their reset values. The interrupt is enabled last, after its pin has been
    /// configured.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(noFatalError, in: .observed)
        table.add(bothNormal, in: .observed)
        // ACC_CONF and GYR_CONF: the low-pass in normal mode, without oversampling by two or four; acc_odr and gyr_odr
        // in bits 3…0.
        let rate = RegisterValue(0x20 | rateCode)
        table.add(0x40, rate, in: .configuration)
        // ACC_RANGE and GYR_RANGE.
        table.addRange(0x41, RegisterValue(accelerometerCode), in: .configuration)
        table.add(0x42, rate, in: .configuration)
        table.addRange(0x43, RegisterValue(gyroscopeCode), in: .configuration)
        // FIFO_DOWNS: filtered data without downsampling, for both sensors.
        table.add(0x45, 0x88, in: .configuration)
        // FIFO_CONFIG_0: the watermark, which is not used.
        table.add(0x46, 0x80, in: .configuration)
        // FIFO_CONFIG_1: fifo_gyr_en and fifo_acc_en without fifo_header_en.
        table.add(0x47, 0xC0, in: .fifo)
        guard signalsDataReady else { return }
        // INT_OUT_CTRL for INT1: output enable in bit 3, open drain in 2, active high in 1.
        table.add(0x53, 0x0A, in: .dataReady)
        // INT_LATCH: zero means not latched.
        table.add(0x54, 0, in: .dataReady)
        // INT_MAP_1: int1_drdy.
        table.add(0x56, 0x80, in: .dataReady)
        // INT_EN_1: int_drdy_en. INT_EN_2: the no-motion interrupts.
        table.add(0x51, 0x10, in: .dataReady)
        table.add(0x52, 0, in: .observed)
    }

    /// ERR_REG: fatal_err in bit 0.
    private var noFatalError: RegisterSetting { RegisterSetting(0x02, clear: 0x01) }

    /// PMU_STATUS: the accelerometer's power mode in bits 5…4, the gyroscope's in 3…2; 1 is normal.
    private var bothNormal: RegisterSetting { RegisterSetting(0x03, set: 0x14, clear: 0x3C) }

    /// CMD.
    private static var command: RegisterAddress { 0x7E }

    /// The sensors wake first: while they are suspended, each write must be followed by 450 µs without access (section
    /// 3.2.1).
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        // softreset. Until the first access: 1 ms in Linux (`BMI160_SOFTRESET_USLEEP`), 15 ms in Bosch's API
        // (`BMI160_SOFT_RESET_DELAY_MS`).
        script.add(.write(Self.command, 0xB6))
        script.add(.wait(0.015))
        script.add(.enter(.waking))
        // acc_set_pmu_mode normal: 3.8 ms at most (Linux `BMI160_ACCEL_PMU_MIN_USLEEP`).
        script.add(.write(Self.command, 0x11))
        script.add(.wait(0.005))
        // gyr_set_pmu_mode normal: 55 ms typical, 80 ms at most (Linux `BMI160_GYRO_PMU_MIN_USLEEP`).
        script.add(.write(Self.command, 0x15))
        script.add(.waitFor(bothNormal, every: 0.01, within: 0.15))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        // Rates and filters have changed while the sensors ran.
        script.add(.settle(settlingDelays * delay))
        script.add(.check(noFatalError))
        script.add(.configure(.dataReady))
    }

    /// fifo_flush.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.apply(.fifo))
        script.add(.write(Self.command, 0xB0))
    }

    /// gyr_set_pmu_mode and acc_set_pmu_mode suspend.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.command, 0x14))
        script.add(.write(Self.command, 0x10))
    }

    // MARK: FIFO

    /// FIFO_LENGTH_0 and _1: eleven bits, low byte first. FIFO_DATA: the address does not advance to the next register.
    /// TEMPERATURE_0 and _1.
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: 1024, frameLength: 12, count: ChipRegisters(first: 0x22, count: 2), data: 0x24,
            temperature: ChipRegisters(first: 0x20, count: 2), reportsOverflow: false)
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[1] & 0x07) << 8 | Int(registers[0]) }

    /// The value of missing data: from an empty FIFO, a sleeping sensor or the thermometer.
    private static var missing: Int16 { .min }

    /// Gyroscope and accelerometer, low byte first (section 2.5.2).
    ///
    /// All bits set on every axis means that no device drives the bus.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(littleEndian: bytes, accelerometer: offset + 6, gyroscope: offset)
        guard frame.gx != Self.missing, frame.ax != Self.missing else { return nil }
        let ones = frame.gx & frame.gy & frame.gz & frame.ax & frame.ay & frame.az
        return ones == -1 ? nil : frame
    }
}
