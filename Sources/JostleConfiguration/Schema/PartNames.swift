package import IMUDrivers

/// The names under which chips and their boards are sold, for a suggestion if somebody writes one as `sensor.driver`.
package enum PartNames {
    /// The names without hyphens, in lower case. The parts are those in docs/chips.md; the GY boards carry them.
    private static let names: [(family: IMUFamily, parts: Set<String>)] = [
        (
            .mpu6050,
            [
                "mpu6050", "mpu6000", "mpu9150", "mpu6500", "mpu9250", "mpu9255", "mpu6515", "mpu6886", "icm20602",
                "icm20600", "icm20608", "icm20608d", "icm20689", "gy521", "gy87", "gy88", "gy91", "gy9250", "gy6500",
            ]
        ),
        (.icm42688, ["icm42688", "icm42688p", "icm42605"]),
        (
            .lsm6ds,
            [
                "lsm6ds", "lsm6ds3", "lsm6ds3h", "lsm6ds33", "lsm6ds3tr", "lsm6ds3trc", "lsm6dsl", "lsm6dsm",
                "ism330dlc",
                "lsm6dso", "lsm6dsox", "ism330dhcx", "lsm6dsr", "lsm6dsrx", "asm330lhh",
            ]
        ),
        (.bmi160, ["bmi160"]),
        (.adxl345, ["adxl345", "gy291"]),
        (.lsm6dso32, ["lsm6dso32"]),
        (.adxl375, ["adxl375"]),
        (.icm20948, ["icm20948"]),
        (.lsm9ds1, ["lsm9ds1", "sensehat"]),
        (.lis3dh, ["lis3dh", "lis3dhtr", "lis2dh12", "lsm303dlhc"]),
        (.lsm303agr, ["lsm303agr"]),
        (.lis2de12, ["lis2de12"]),
    ]

    /// The family of the chip with this name, however it is written: `MPU-9250`; `nil` if none is known.
    package static func family(of name: String) -> IMUFamily? {
        let plain = name.lowercased().filter { $0 != "-" && $0 != "_" && $0 != " " }
        return names.first { $0.parts.contains(plain) }?.family
    }
}
