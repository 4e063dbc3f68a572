#if !hasFeature(Embedded)
    /// Parts that answer with the same identity, so that reading cannot tell them apart.
    package struct SharedIdentity: Equatable, Sendable {
        /// The parts as their manufacturers write them. The first one is assumed.
        package let parts: [String]

        /// The families of those that differ from the others, which the user must name. Each has the name of its part.
        package let named: [IMUFamily]

        private init(_ parts: [String], named: [IMUFamily] = []) {
            self.parts = parts + named.map(\.partName)
            self.named = named
        }

        /// The parts that answer with `identity` in `register`; `nil` if there is only one, or if all contain the same chip, as
        /// MPU-6000 and MPU-9150 contain that of the MPU-6050.
        ///
        /// Sources: Linux st_lsm6dsx_core.c and st_accel_core.c (`wai`); Pololu's LSM6.cpp (LSM6DS33); the datasheet of the
        /// LSM6DSO32; Linux adxl345 (ADXL375) and Adafruit_ADXL343; ST lis2de12_reg.h.
        package init?(of identity: UInt8, in register: UInt8) {
            switch (register, identity) {
            case (0x0F, 0x69): self.init(["LSM6DS3", "LSM6DS3H", "LSM6DS33"])
            case (0x0F, 0x6A): self.init(["LSM6DS3TR-C", "LSM6DSL", "LSM6DSM", "ISM330DLC"])
            case (0x0F, 0x6B): self.init(["ISM330DHCX", "LSM6DSR", "LSM6DSRX", "ASM330LHH"])
            case (0x0F, 0x6C): self.init(["LSM6DSO", "LSM6DSOX"], named: [.lsm6dso32])
            case (0x0F, 0x33): self.init(["LIS3DH", "LIS2DH12", "LSM303DLHC"], named: [.lsm303agr, .lis2de12])
            case (0x00, 0xE5): self.init(["ADXL345", "ADXL343"], named: [.adxl375])
            default: return nil
            }
        }
    }

    /// The Linux driver for a part without a driver here: the module for I2C and the name of the device.
    package struct KernelDriver: Equatable, Sendable {
        package let module: String
        package let device: String

        /// The driver for the part with this name; `nil` if none is known.
        ///
        /// Names: the `i2c_device_id` tables of Linux inv_mpu_i2c.c, st_lsm6dsx_i2c.c and bmi270_i2c.c.
        package init?(of part: String) {
            switch part {
            case "MPU-6880", "ICM-20609", "ICM-20690", "IAM-20680":
                module = "inv-mpu6050-i2c"
                device = part.lowercased().filter { $0 != "-" }
            case "LSM6DSV":
                module = "st_lsm6dsx_i2c"
                device = "lsm6dsv"
            case "BMI270":
                module = "bmi270_i2c"
                device = "bmi270"
            default: return nil
            }
        }
    }
#endif
