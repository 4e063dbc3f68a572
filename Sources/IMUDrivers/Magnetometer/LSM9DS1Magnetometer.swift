internal import MotionCore

/// The magnetometer of ST's LSM9DS1, a device of its own beside accelerometer and gyroscope.
///
/// "DS" is the datasheet, DocID025715 Rev 2. The LIS3MDL has the same addresses, registers and identity but another scale, so
/// this part must only be used beside an LSM9DS1.
package struct LSM9DS1Magnetometer: MagnetometerPart {
    package init() {}

    package static var name: StaticString { "LSM9DS1" }
    package static var unsourced: StaticString? { "delay of a measurement of the magnetic field" }
    /// SDO_M low and high (DS table 20). The Sense HAT has the first.
    package static var addresses: [UInt8] { [0x1C, 0x1E] }
    package static var identity: RegisterSetting {
        RegisterSetting(LSM9DS1MagnetometerRegister.identity, set: LSM9DS1MagnetometerValue.identity)
    }
    /// The address advances from register to register only if bit 7 is set (DS 5.1.1).
    package static var burstBit: UInt8 { 0x80 }

    /// ±4 gauss, 0.14 milligauss per count (DS table 3), 100 µT per gauss; 80 Hz. Unsourced: the delay, half of a measuring
    /// time of 1/155 s, which is the LIS3MDL's fastest period at this performance.
    package static var figures: MagnetometerFigures {
        MagnetometerFigures(range: 400, scale: 0.014, period: 0.0125, interval: 0.05, delay: 0.0032)
    }

    /// STATUS_REG_M and the three axes, as PX4 and ArduPilot read them.
    package static var output: ChipRegisters { ChipRegisters(first: LSM9DS1MagnetometerRegister.status, count: 7) }
    package static var configuration: ChipRegisters {
        ChipRegisters(first: LSM9DS1MagnetometerRegister.control1, count: 5)
    }
    package static var sleep: RegisterSetting {
        RegisterSetting(LSM9DS1MagnetometerRegister.control3, set: LSM9DS1MagnetometerValue.powerDown)
    }

    /// CTRL_REG3_M comes last, because it starts the measurements.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(
            LSM9DS1MagnetometerRegister.control4, LSM9DS1MagnetometerValue.ultraHighPerformanceZ, in: .configuration)
        table.add(LSM9DS1MagnetometerRegister.control5, LSM9DS1MagnetometerValue.blockDataUpdate, in: .configuration)
        table.add(LSM9DS1MagnetometerRegister.control2, .none, in: .configuration)
        table.add(LSM9DS1MagnetometerRegister.control1, LSM9DS1MagnetometerValue.control1, in: .configuration)
        table.add(LSM9DS1MagnetometerRegister.control3, .none, in: .configuration)
        // The chip subtracts these offsets.
        for index in 0..<LSM9DS1MagnetometerRegister.offsets.count {
            table.add(LSM9DS1MagnetometerRegister.offsets.first.advanced(by: index), .none, in: .observed)
        }
    }

    package func step(_ number: Int) -> MagnetometerStep? {
        switch number {
        case 0: .write(LSM9DS1MagnetometerRegister.control2, LSM9DS1MagnetometerValue.reset)
        case 1:
            .waitFor(
                RegisterSetting(LSM9DS1MagnetometerRegister.control2, clear: LSM9DS1MagnetometerValue.reset),
                every: LSM9DS1Timing.resetPoll, within: LSM9DS1Timing.resetDeadline)
        case 2: .verify(LSM9DS1MagnetometerRegister.offsets)
        case 3: .configure
        default: nil
        }
    }

    /// The axes are right-handed, with x the other way than that of accelerometer and gyroscope as the chip delivers them
    /// (DS figure 1; PX4 `LSM9DS1_MAG.cpp`: "sensor X is aligned with -X of lsm9ds1 accel/gyro"). `LSM9DS1Family` inverts the
    /// x of those two, so all three then have the same axes.
    ///
    /// RTIMULib agrees: it takes (gx, gy, -gz), -(ax, ay, -az), which is gravity instead of the force against it, and (-mx, my,
    /// -mz). Half a turn about y leads from its axes to (-gx, gy, gz), (-ax, ay, az) and (mx, my, mz).
    package func reading(_ bytes: UnsafeRawBufferPointer) -> MagnetometerReading {
        guard bytes[0] & LSM9DS1MagnetometerValue.dataReady != 0 else { return .notReady }
        let field = bytes.littleEndianCounts(at: 1) * Self.figures.scale
        let range = Self.figures.range
        guard abs(field.x) < range && abs(field.y) < range && abs(field.z) < range else { return .overflow }
        return .field(field)
    }
}

/// The registers that the driver uses (DS 8; numbers also in PX4 `ST_LSM9DS1_MAG_Registers.hpp` and ArduPilot
/// `AP_Compass_LSM9DS1.cpp`).
enum LSM9DS1MagnetometerRegister {
    /// OFFSET_X_REG_L_M to OFFSET_Z_REG_H_M.
    static var offsets: ChipRegisters { ChipRegisters(first: RegisterAddress(0x05), count: 6) }
    /// WHO_AM_I_M.
    static var identity: RegisterAddress { RegisterAddress(0x0F) }
    /// CTRL_REG1_M: TEMP_COMP in bit 7, OM in 6…5, DO in 4…2, FAST_ODR in 1, ST in 0.
    static var control1: RegisterAddress { RegisterAddress(0x20) }
    /// CTRL_REG2_M: FS in bits 6…5, REBOOT in 3, SOFT_RST in 2.
    static var control2: RegisterAddress { RegisterAddress(0x21) }
    /// CTRL_REG3_M: I2C_DISABLE in bit 7, LP in 5, SIM in 2, MD in 1…0.
    static var control3: RegisterAddress { RegisterAddress(0x22) }
    /// CTRL_REG4_M: OMZ in bits 3…2, BLE in 1.
    static var control4: RegisterAddress { RegisterAddress(0x23) }
    /// CTRL_REG5_M: FAST_READ in bit 7, BDU in 6.
    static var control5: RegisterAddress { RegisterAddress(0x24) }
    /// STATUS_REG_M. Behind it are OUT_X_L_M to OUT_Z_H_M, low bytes first.
    static var status: RegisterAddress { RegisterAddress(0x27) }
}

/// The register values.
enum LSM9DS1MagnetometerValue {
    static var identity: RegisterValue { RegisterValue(0x3D) }
    /// CTRL_REG1_M: temperature compensation, ultra-high performance of x and y, 80 Hz.
    static var control1: RegisterValue { RegisterValue(0xFC) }
    /// CTRL_REG2_M: SOFT_RST, which clears itself: ST's lsm9ds1_read_data_polling.c waits for that.
    static var reset: RegisterValue { RegisterValue(0x04) }
    /// CTRL_REG3_M: power-down, which is the default. Zero is continuous conversion.
    static var powerDown: RegisterValue { RegisterValue(0x03) }
    /// CTRL_REG4_M: ultra-high performance of z.
    static var ultraHighPerformanceZ: RegisterValue { RegisterValue(0x0C) }
    /// CTRL_REG5_M: BDU.
    static var blockDataUpdate: RegisterValue { RegisterValue(0x40) }
    /// STATUS_REG_M: ZYXDA.
    static var dataReady: UInt8 { 0x08 }
}
