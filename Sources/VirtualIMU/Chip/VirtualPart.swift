package import IMUDrivers

/// A chip that can be simulated.
package enum VirtualPart: String, CaseIterable, Sendable {
    case mpu6050, mpu6500, mpu9250, icm20602, icm20689
    case lsm6ds3, lsm6ds3trc, lsm6dso, ism330dhcx
    case bmi160
    case icm42688, icm42605
    case adxl345
    case lsm6dso32
    case adxl375
    case icm20948
    case lsm9ds1
    case lis3dh, lsm303agr, lis2de12

    /// The driver family of the chip.
    package var family: IMUFamily {
        switch self {
        case .mpu6050, .mpu6500, .mpu9250, .icm20602, .icm20689: .mpu6050
        case .icm42688, .icm42605: .icm42688
        case .lsm6ds3, .lsm6ds3trc, .lsm6dso, .ism330dhcx: .lsm6ds
        case .bmi160: .bmi160
        case .adxl345: .adxl345
        case .lsm6dso32: .lsm6dso32
        case .adxl375: .adxl375
        case .icm20948: .icm20948
        case .lsm9ds1: .lsm9ds1
        case .lis3dh: .lis3dh
        case .lsm303agr: .lsm303agr
        case .lis2de12: .lis2de12
        }
    }

    /// Whether it has less noise than a count, as far as its figures are known: at rest it repeats frames as a frozen chip does.
    package var repeatsFrames: Bool {
        switch self {
        case .lis3dh, .lsm303agr, .lis2de12: true
        default: false
        }
    }

    /// The chips of one family.
    package static func parts(of family: IMUFamily) -> [VirtualPart] { allCases.filter { $0.family == family } }

    /// The chip's registers connected to an engine.
    func core(_ engine: SensorEngine) -> any SimulatedChip {
        switch self {
        case .mpu6050: VirtualCore(VirtualMPURegisters(.mpu6050), engine)
        case .mpu6500: VirtualCore(VirtualMPURegisters(.mpu6500), engine)
        case .mpu9250: VirtualCore(VirtualMPURegisters(.mpu9250), engine)
        case .icm20602: VirtualCore(VirtualMPURegisters(.icm20602), engine)
        case .icm20689: VirtualCore(VirtualMPURegisters(.icm20689), engine)
        case .icm42688: VirtualCore(VirtualICM42688Registers(isICM42605: false), engine)
        case .icm42605: VirtualCore(VirtualICM42688Registers(isICM42605: true), engine)
        case .lsm6ds3: VirtualCore(VirtualLSM6DSRegisters(.lsm6ds3), engine)
        case .lsm6ds3trc: VirtualCore(VirtualLSM6DSRegisters(.lsm6ds3trc), engine)
        case .lsm6dso: VirtualCore(VirtualLSM6DSRegisters(.lsm6dso), engine)
        case .ism330dhcx: VirtualCore(VirtualLSM6DSRegisters(.ism330dhcx), engine)
        case .bmi160: VirtualCore(VirtualBMI160Registers(), engine)
        case .adxl345: VirtualCore(VirtualADXL345Registers(isHighG: false), engine)
        case .lsm6dso32: VirtualCore(VirtualLSM6DSRegisters(.lsm6dso32), engine)
        case .adxl375: VirtualCore(VirtualADXL345Registers(isHighG: true), engine)
        case .icm20948: VirtualCore(VirtualICM20948Registers(), engine)
        case .lsm9ds1: VirtualCore(VirtualLSM9DS1Registers(), engine)
        case .lis3dh: VirtualCore(VirtualLIS3DHRegisters(.lis3dh), engine)
        case .lsm303agr: VirtualCore(VirtualLIS3DHRegisters(.lsm303agr), engine)
        case .lis2de12: VirtualCore(VirtualLIS3DHRegisters(.lis2de12), engine)
        }
    }
}
