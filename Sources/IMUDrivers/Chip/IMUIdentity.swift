/// The result of reading an identity register at a bus address.
package struct IMUIdentity: Sendable {
    /// The register that was read.
    package let register: UInt8

    /// Its content.
    package let identity: UInt8

    /// The part's name; `nil` if the identity is unknown.
    package let name: StaticString?

    /// The family whose driver supports the part; `nil` if no driver does.
    package let family: IMUFamily?

    /// What answers, if it is certainly no sensor of a known kind; otherwise `nil`.
    package private(set) var stranger: Stranger?

    /// A device that has been taken for a sensor.
    package enum Stranger: Equatable, Sendable {
        /// Its registers hold a date and a time.
        case clock
        /// Its registers differ, and none is an identity: a memory, for example.
        case unknown
        /// Another bank of registers than the one with the identity may be selected.
        case otherBank
    }

    /// Whether a driver supports the part.
    package var isSupported: Bool { family != nil }

    /// Whether all bits are alike and it is no known part's identity. This is how a data line reads that does not change.
    package var isLineLevel: Bool { name == nil && stranger == nil && (identity == 0x00 || identity == 0xFF) }

    /// A supported part.
    package init(register: UInt8, identity: UInt8, name: StaticString, family: IMUFamily) {
        self.register = register
        self.identity = identity
        self.name = name
        self.family = family
    }

    /// An unsupported part, with its name if that is known.
    package init(register: UInt8, identity: UInt8) {
        self.register = register
        self.identity = identity
        name = IMUIdentity.knownName(of: identity, in: register)
        family = nil
    }

    /// A part about which nothing is known, except that it is a `stranger`.
    package init(unnamed identity: UInt8, in register: UInt8, stranger: Stranger? = nil) {
        self.stranger = stranger
        self.register = register
        self.identity = identity
        name = nil
        family = nil
    }

    /// A register to read if the identity in `register` is unknown; `nil` if there is none.
    ///
    /// InvenSense's identity moved from 0x75 to 0x72 with the ICM-456xx (ArduPilot Invensensev3, Betaflight
    /// accgyro_spi_icm456xx.c). A QMI8658, at the addresses of ST's chips, has it in 0x00. No part with a driver has these.
    package static func furtherRegister(after register: UInt8) -> UInt8? {
        switch register {
        case 0x75: 0x72
        case 0x0F: 0x00
        default: nil
        }
    }

    /// Whether the name of an unsupported part can be believed, if an identity register that was read earlier held
    /// `earlier`, which is unknown, or if this is the first (`nil`).
    ///
    /// Register 0x00 of a copy of an MPU-6050 may hold any value, but its 0x75 holds an identity. Bosch's parts have nothing
    /// or offsets there, which are 0 unless set.
    package func isCredible(after earlier: IMUIdentity?) -> Bool {
        switch (register, identity) {
        case (0x00, 0xAD), (0x00, 0xE6): earlier == nil
        case (0x00, 0x05): earlier?.register == 0x0F
        case (0x00, 0x24), (0x00, 0x0F):
            earlier?.register == 0x75 && (earlier?.identity == 0x00 || earlier?.identity == 0xFF)
        case (0x00, _): earlier?.register == 0x75
        default: true
        }
    }

    /// The name of a part, supported or not.
    ///
    /// Numbers in 0x75: Linux inv_mpu_iio.h and Betaflight accgyro_mpu.h. In 0x00: ArduPilot Invensensev2_registers.h (bank
    /// 0); Linux bmi270.h and bmg160_core.c, whose number the gyroscopes of BMI055, BMI088 and BMX055 share; Linux
    /// adxl355_core.c, whose number the ADXL357 and ADXL372 share; the datasheet of the ADXL346; Waveshare's QMI8658 driver.
    /// In 0x0F: Linux st_lsm6dsx_core.c, whose 0x70 LSM6DSV and LSM6DSV16X share; Pololu's L3G.cpp.
    package static func knownName(of identity: UInt8, in register: UInt8) -> StaticString? {
        switch (register, identity) {
        case (0x75, 0x78): "MPU-6880"
        case (0x75, 0xAC): "ICM-20601"
        case (0x75, 0xA6): "ICM-20609"
        case (0x75, 0x20): "ICM-20690"
        case (0x75, 0xA9): "IAM-20680"
        case (0x75, 0x3B): "ICM-40609"
        case (0x75, 0x42): "ICM-42605"
        case (0x75, 0x46): "ICM-42622-P"
        case (0x75, 0x44): "ICM-42686-P"
        case (0x75, 0x47): "ICM-42688-P"
        case (0x72, 0xE9): "ICM-45686"
        case (0x75, 0x6F): "IIM-42652"
        case (0x00, 0xE0): "ICM-20648"
        case (0x00, 0xE1): "ICM-20649"
        case (0x00, 0xEA): "ICM-20948"
        case (0x00, 0x24): "BMI270"
        case (0x00, 0x0F): "BMG160"
        case (0x00, 0xAD): "ADXL355"
        case (0x00, 0xE6): "ADXL346"
        case (0x00, 0x05): "QMI8658"
        case (0x0F, 0x68): "LSM9DS1"
        case (0x0F, 0x70): "LSM6DSV"
        case (0x0F, 0xD4): "L3GD20"
        case (0x0F, 0xD7): "L3GD20H"
        default: nil
        }
    }
}

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
