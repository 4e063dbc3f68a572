/// A family of chips that one driver is for; the raw value is its name in a configuration.
public enum IMUFamily: String, CaseIterable, Sendable {
    case mpu6050
    case lsm6ds
    case bmi160
    case adxl345
    case icm42688
}
