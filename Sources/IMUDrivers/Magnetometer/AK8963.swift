internal import MotionCore

/// Asahi Kasei's AK8963, the magnetometer in the MPU-9250 and the MPU-9255.
///
/// "DS" is its datasheet, MS1356-E-02, of which only the pages noted were at hand; "RM" is RM-MPU-9250A-00 r1.4, which
/// describes it too. It measures at 8 or 100 Hz.
package struct AK8963: MagnetometerPart {
    /// µT per count on the magnetometer's own axes, with the sensitivity that the factory measured.
    private var scales = Vector3(AK8963.figures.scale, AK8963.figures.scale, AK8963.figures.scale)

    package init() {}

    package static var name: StaticString { "AK8963" }
    package static var unsourced: StaticString? { "delay of a measurement" }
    /// In the MPU-9250 (PS-MPU-9250A-01 r1.0, p. 24).
    package static var addresses: [UInt8] { [0x0C] }
    package static var identity: RegisterSetting {
        RegisterSetting(AK8963Register.identity, set: AK8963Value.identity)
    }

    /// 0.15 µT per count with 16 bits, up to 4912 µT (DS p. 29); 100 Hz (DS p. 15). Unsourced: the delay, half of a measuring
    /// time of 7.2 ms.
    package static var figures: MagnetometerFigures {
        MagnetometerFigures(range: 4912, scale: 0.15, period: 0.01, interval: 0.05, delay: 0.0036)
    }

    /// ST1, the three axes, ST2 and the control registers: a burst goes on up to 0x0C (DS p. 25).
    package static var output: ChipRegisters { ChipRegisters(first: AK8963Register.status1, count: 11) }
    package static var configuration: ChipRegisters { ChipRegisters(first: AK8963Register.control1, count: 3) }
    package static var sleep: RegisterSetting { RegisterSetting(AK8963Register.control1) }

    package func addRegisters(to table: inout RegisterTable) {
        table.add(AK8963Register.control1, AK8963Value.continuous, in: .configuration)
        table.add(AK8963Register.control2, .none, in: .observed)
        table.add(AK8963Register.selfTest, .none, in: .observed)
    }

    /// The factory values can be read only in a mode of its own (RM p. 47). From one mode to the next the way leads through
    /// power-down (DS p. 15; PX4 `AK8963.cpp`).
    package func step(_ number: Int) -> MagnetometerStep? {
        switch number {
        case 0: .write(AK8963Register.control2, AK8963Value.reset)
        case 1:
            .waitFor(
                RegisterSetting(AK8963Register.control2, clear: AK8963Value.reset), every: AKMTiming.resetPoll,
                within: AKMTiming.resetDeadline)
        case 2: .write(AK8963Register.control1, AK8963Value.factoryMode)
        case 3: .wait(AKMTiming.modeChange)
        case 4: .readTrim(ChipRegisters(first: AK8963Register.factoryX, count: 3))
        case 5: .write(AK8963Register.control1, .none)
        case 6: .wait(AKMTiming.modeChange)
        case 7: .configure
        default: nil
        }
    }

    /// The sensitivity is that of the scale times 1 + (value - 128) / 256 (Linux `ak8975.c`). 0x00 and 0xFF are not values
    /// of a factory (PX4 `AK8963.cpp`).
    package mutating func takeTrim(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
        for index in 0..<3 where bytes[index] == 0x00 || bytes[index] == 0xFF { return bytes[index] }
        func scale(_ value: UInt8) -> Double { Self.figures.scale * (1 + (Double(value) - 128) / 256) }
        scales = Vector3(scale(bytes[0]), scale(bytes[1]), scale(bytes[2]))
        return nil
    }

    /// Accelerometer and gyroscope have x where the magnetometer has y, y where it has x, and z the other way round
    /// (PS-MPU-9250A-01 r1.0, 9.1; PX4 `AK8963.cpp`).
    package func reading(_ bytes: UnsafeRawBufferPointer) -> MagnetometerReading {
        guard bytes[0] & AKMStatus.dataReady != 0 else { return .notReady }
        guard bytes[7] & AKMStatus.overflow == 0 else { return .overflow }
        let counts = bytes.littleEndianCounts(at: 1)
        return .field(Vector3(counts.y * scales.y, counts.x * scales.x, -counts.z * scales.z))
    }
}

/// The registers that the driver uses (RM p. 47 to 52, PX4 `AKM_AK8963_registers.hpp`).
enum AK8963Register {
    /// WIA.
    static var identity: RegisterAddress { RegisterAddress(0x00) }
    /// ST1. Behind it are HXL to HZH, low bytes first, and ST2, which ends the reading of a measurement.
    static var status1: RegisterAddress { RegisterAddress(0x02) }
    /// CNTL1: BIT in bit 4, MODE in 3…0.
    static var control1: RegisterAddress { RegisterAddress(0x0A) }
    /// CNTL2: SRST in bit 0, which clears itself.
    static var control2: RegisterAddress { RegisterAddress(0x0B) }
    /// ASTC: SELF in bit 6 generates a field for the self-test.
    static var selfTest: RegisterAddress { RegisterAddress(0x0C) }
    /// ASAX, ASAY, ASAZ.
    static var factoryX: RegisterAddress { RegisterAddress(0x10) }
}

/// The register values.
enum AK8963Value {
    static var identity: RegisterValue { RegisterValue(0x48) }
    static var reset: RegisterValue { RegisterValue(0x01) }
    /// CNTL1: fuse ROM access mode.
    static var factoryMode: RegisterValue { RegisterValue(0x0F) }
    /// CNTL1: 16 bits, continuous measurement mode 2.
    static var continuous: RegisterValue { RegisterValue(0x16) }
}

/// The bits of ST1 and ST2 that Asahi Kasei's magnetometers have in common (DS-000189 r1.3, p. 78, 79; PX4).
enum AKMStatus {
    /// ST1: DRDY.
    static var dataReady: UInt8 { 0x01 }
    /// ST2: HOFL.
    static var overflow: UInt8 { 0x08 }
}

/// Timing of Asahi Kasei's magnetometers, seconds.
enum AKMTiming {
    /// Interval between checks of a reset, and its deadline. PX4 waits 100 ms.
    static var resetPoll: Double { 0.01 }
    static var resetDeadline: Double { 0.15 }
    /// From one mode to the next. Linux `ak8975.c` waits 0.5 ms.
    static var modeChange: Double { 0.001 }
}
