import Testing

@testable import JostleConfiguration

/// Requirement: a chip named as its seller does is answered with what to write.
@Suite struct SensorWordsTests {
    @Test(arguments: [
        ("mpu9250", "mpu6050"), ("MPU-9250", "mpu6050"), ("GY-521", "mpu6050"), ("icm20602", "mpu6050"),
        ("LSM6DSOX", "lsm6ds"), ("icm42688p", "icm42688"), ("BMI160", "bmi160"), ("virtaul", "virtual"),
    ])
    func suggestsDriver(word: String, driver: String) throws {
        let problems = try build("sensor: { driver: \(word) }").problems
        #expect(problems.count == 1 && problems[0].reason.hasSuffix("did you mean \"\(driver)\"?"), "\(problems)")
    }
}
