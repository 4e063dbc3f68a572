import Testing

@testable import JostleConfiguration

/// Requirement: a chip named or addressed as its seller or i2cdetect does is answered with what to write.
@Suite struct SensorWordsTests {
    @Test(arguments: [
        ("mpu9250", "mpu6050"), ("MPU-9250", "mpu6050"), ("GY-521", "mpu6050"), ("icm20602", "mpu6050"),
        ("LSM6DSOX", "lsm6ds"), ("ISM330DHCX", "lsm6ds"), ("ICM-42605", "icm42688"), ("ICM-20948", "icm20948"),
        ("icm42688p", "icm42688"),
        ("BMI160", "bmi160"), ("virtaul", "virtual"),
        ("LSM6DSO-32", "lsm6dso32"), ("ADXL-375", "adxl375"),
        ("Sense HAT", "lsm9ds1"), ("LIS3DHTR", "lis3dh"), ("LSM303-AGR", "lsm303agr"), ("LIS2DE12", "lis2de12"),
        ("ASM330LHH", "lsm6ds"),
    ])
    func suggestsDriver(word: String, driver: String) throws {
        let problems = try build("sensor: { driver: \(word) }").problems
        #expect(problems.count == 1 && problems[0].reason.hasSuffix("did you mean \"\(driver)\"?"), "\(problems)")
    }

    /// i2cdetect prints 68 for 0x68.
    @Test func suggestsHexadecimalAddress() throws {
        for (text, read, meant) in [
            ("68", "0x44", "0x68"), ("69", "0x45", "0x69"), ("53", "0x35", "0x53"), ("18", "0x12", "0x18"),
        ] {
            let problems = try build("sensor: { address: \(text) }").problems
            #expect(
                problems.count == 1 && problems[0].reason.hasPrefix("is decimal, that is \(read),")
                    && problems[0].reason.hasSuffix("did you mean \(meant)?"), "\(problems)")
        }
        // In hexadecimal, any address is meant as it is written.
        for text in ["104", "105", "83", "0x68", "0x44", "auto", "0x08", "29"] {
            #expect(try build("sensor: { address: \(text) }").problems.isEmpty, "\(text)")
        }
    }
}
