/// A family of chips that share one driver.
public enum IMUFamily: UInt8, CaseIterable, Sendable {
    case mpu6050
    case icm42688
    case lsm6ds
    case bmi160
    case adxl345
    /// An LSM6DSO32 has the identity of an LSM6DSO, an ADXL375 that of an ADXL345, an LSM303AGR and a LIS2DE12 that of a LIS3DH.
    /// Only a user can tell them apart.
    case lsm6dso32
    case adxl375
    case icm20948
    case lsm9ds1
    case lis3dh
    case lsm303agr
    case lis2de12

    /// Its name in a configuration.
    public var word: StaticString {
        switch self {
        case .mpu6050: "mpu6050"
        case .icm42688: "icm42688"
        case .lsm6ds: "lsm6ds"
        case .bmi160: "bmi160"
        case .adxl345: "adxl345"
        case .lsm6dso32: "lsm6dso32"
        case .adxl375: "adxl375"
        case .icm20948: "icm20948"
        case .lsm9ds1: "lsm9ds1"
        case .lis3dh: "lis3dh"
        case .lsm303agr: "lsm303agr"
        case .lis2de12: "lis2de12"
        }
    }
}

#if !hasFeature(Embedded)
    extension IMUFamily {
        /// Its name in a configuration.
        public var name: String { "\(word)" }

        /// The name of the part, of a family that has one.
        package var partName: String { name.uppercased() }

        /// Whether its parts have a gyroscope.
        package var hasGyroscope: Bool {
            switch self {
            case .adxl345, .adxl375, .lis3dh, .lsm303agr, .lis2de12: false
            case .mpu6050, .icm42688, .lsm6ds, .lsm6dso32, .bmi160, .icm20948, .lsm9ds1: true
            }
        }

        /// The family with this name; `nil` if there is none.
        public init?(name: String) {
            guard let family = IMUFamily.allCases.first(where: { $0.name == name }) else { return nil }
            self = family
        }
    }
#endif
