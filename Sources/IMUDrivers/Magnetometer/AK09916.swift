internal import MotionCore

/// Asahi Kasei's AK09916, the magnetometer in the ICM-20948.
///
/// "DS" is the ICM-20948's datasheet, DS-000189 r1.3, which describes it. It measures at 10, 20, 50 or 100 Hz. The factory has
/// adjusted its sensitivity.
package struct AK09916: MagnetometerPart {
    package init() {}

    package static var name: StaticString { "AK09916" }
    package static var unsourced: StaticString? { "delay of a measurement" }
    /// PX4 `AKM_AK09916_registers.hpp`.
    package static var addresses: [UInt8] { [0x0C] }
    package static var identity: RegisterSetting {
        RegisterSetting(AK09916Register.company, set: AK09916Value.company)
    }
    package static var secondIdentity: RegisterSetting? {
        RegisterSetting(AK09916Register.identity, set: AK09916Value.identity)
    }

    /// 0.15 µT per count, up to 4912 µT (DS p. 79); 100 Hz (DS p. 79). Unsourced: the delay, half of a measuring time of 7.2
    /// ms.
    package static var figures: MagnetometerFigures {
        MagnetometerFigures(range: 4912, scale: 0.15, period: 0.01, interval: 0.05, delay: 0.0036)
    }

    /// ST1, the three axes, a dummy and ST2.
    package static var output: ChipRegisters { ChipRegisters(first: AK09916Register.status1, count: 9) }
    package static var configuration: ChipRegisters { ChipRegisters(first: AK09916Register.control2, count: 1) }
    package static var sleep: RegisterSetting { RegisterSetting(AK09916Register.control2) }

    package func addRegisters(to table: inout RegisterTable) {
        table.add(AK09916Register.control2, AK09916Value.continuous, in: .configuration)
    }

    package func step(_ number: Int) -> MagnetometerStep? {
        switch number {
        case 0: .write(AK09916Register.control3, AK09916Value.reset)
        case 1:
            .waitFor(
                RegisterSetting(AK09916Register.control3, clear: AK09916Value.reset), every: AKMTiming.resetPoll,
                within: AKMTiming.resetDeadline)
        case 2: .configure
        default: nil
        }
    }

    /// y and z point the other way than those of accelerometer and gyroscope (DS figures 12 and 13; SparkFun
    /// `ICM_20948.cpp`, `CPASS_MTX`).
    package func reading(_ bytes: UnsafeRawBufferPointer) -> MagnetometerReading {
        guard bytes[0] & AKMStatus.dataReady != 0 else { return .notReady }
        guard bytes[8] & AKMStatus.overflow == 0 else { return .overflow }
        let field = bytes.littleEndianCounts(at: 1) * Self.figures.scale
        return .field(Vector3(field.x, -field.y, -field.z))
    }
}

/// The registers that the driver uses (DS p. 78 to 80, PX4 `AKM_AK09916_registers.hpp`).
enum AK09916Register {
    /// WIA1 and WIA2.
    static var company: RegisterAddress { RegisterAddress(0x00) }
    static var identity: RegisterAddress { RegisterAddress(0x01) }
    /// ST1. Behind it are HXL to HZH, low bytes first, TMPS, which is a dummy, and ST2, which ends the reading of a
    /// measurement.
    static var status1: RegisterAddress { RegisterAddress(0x10) }
    /// CNTL2: MODE in bits 4…0.
    static var control2: RegisterAddress { RegisterAddress(0x31) }
    /// CNTL3: SRST in bit 0, which clears itself.
    static var control3: RegisterAddress { RegisterAddress(0x32) }
}

/// The register values.
enum AK09916Value {
    static var company: RegisterValue { RegisterValue(0x48) }
    static var identity: RegisterValue { RegisterValue(0x09) }
    static var reset: RegisterValue { RegisterValue(0x01) }
    /// CNTL2: continuous measurement mode 4.
    static var continuous: RegisterValue { RegisterValue(0x08) }
}
