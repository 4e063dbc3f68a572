import MotionCore
import Testing

@testable import IMUDrivers

/// Requirement: each setting becomes the chip's nearest that is not smaller, and a part's figures are those of its data
/// sheet.
@Suite struct ChipSettingsTests {
    @Test(
        "Chooses the lowest rate that is not below the requested one, and its registers",
        arguments: [
            (.mpu6050, 1000, 1000, [0x19: 0]), (.mpu6050, 2000, 1000, [0x19: 0]), (.mpu6050, 501, 1000, [0x19: 0]),
            (.mpu6050, 500, 500, [0x19: 1]), (.mpu6050, 334, 500, [0x19: 1]),
            (.mpu6050, 1000.0 / 3, 1000.0 / 3, [0x19: 2]), (.mpu6050, 200, 200, [0x19: 4]),
            (.mpu6050, 199, 200, [0x19: 4]), (.mpu6050, 100, 100, [0x19: 9]), (.mpu6050, 4, 4, [0x19: 249]),
            (.mpu6050, 1, 4, [0x19: 249]), (.mpu6050, 0, 4, [0x19: 249]), (.mpu6050, -5, 4, [0x19: 249]),
            (.mpu6050, .nan, 4, [0x19: 249]), (.mpu6050, .infinity, 1000, [0x19: 0]),
            (.lsm6ds, 0, 12.5, [:]), (.lsm6ds, 12.5, 12.5, [:]), (.lsm6ds, 13, 26, [:]), (.lsm6ds, 50, 52, [:]),
            (.lsm6ds, 100, 104, [:]), (.lsm6ds, 104, 104, [:]), (.lsm6ds, 200, 208, [:]), (.lsm6ds, 400, 416, [:]),
            (.lsm6ds, 500, 833, [:]), (.lsm6ds, 1000, 1660, [:]), (.lsm6ds, 5000, 1660, [:]),
            (.lsm6ds, .nan, 12.5, [:]),
            (.bmi160, 10, 25, [:]), (.bmi160, 200, 200, [:]), (.bmi160, 201, 400, [:]), (.bmi160, 9000, 1600, [:]),
            (.adxl345, 10, 25, [:]), (.adxl345, 200, 200, [:]), (.adxl345, 201, 400, [:]), (.adxl345, 9000, 800, [:]),
            (.icm20948, 0, 1125.0 / 256, [:]), (.icm20948, .nan, 1125.0 / 256, [:]), (.icm20948, 5, 5, [:]),
            (.icm20948, 25, 25, [:]), (.icm20948, 50, 1125.0 / 22, [:]), (.icm20948, 100, 1125.0 / 11, [:]),
            (.icm20948, 200, 225, [:]), (.icm20948, 280, 281.25, [:]), (.icm20948, 375, 375, [:]),
            (.icm20948, 400, 562.5, [:]), (.icm20948, 9999, 1125, [:]),
        ] as [(IMUFamily, Double, Double, [UInt8: UInt8])])
    func rates(family: IMUFamily, wanted: Double, rate: Double, registers: [UInt8: UInt8]) throws {
        let part = try #require(family.part(rate: wanted))
        #expect(abs(part.rate - rate) < 1e-9)
        for (register, value) in registers { #expect(part.planned(register)?.value == value) }
    }

    /// MPU family: the widest low-pass that passes nothing above half of the rate (RM p. 13). ICM-20948: up to 55 % of
    /// it. ICM-42688-P: with the anti-alias filter.
    @Test(
        "At each rate, bandwidth, delay and registers are the chip's own",
        arguments: [
            (.mpu6050, 0x68, 1000, 188, 1.9, [0x1A: 1]), (.mpu6050, 0x68, 500, 188, 1.9, [0x1A: 1]),
            (.mpu6050, 0x68, 333, 98, 2.8, [0x1A: 2]), (.mpu6050, 0x68, 200, 98, 2.8, [0x1A: 2]),
            (.mpu6050, 0x68, 100, 42, 4.8, [0x1A: 3]), (.mpu6050, 0x68, 50, 20, 8.3, [0x1A: 4]),
            (.mpu6050, 0x68, 25, 10, 13.4, [0x1A: 5]), (.mpu6050, 0x68, 10, 5, 18.6, [0x1A: 6]),
            (.mpu6050, 0x68, 4, 5, 18.6, [0x1A: 6]), (.mpu6050, 0x70, 200, 92, 3.9, [0x1A: 2, 0x1D: 2]),
            (.mpu6050, 0x12, 200, 92, 3.9, [0x1A: 2, 0x1D: 2]), (.mpu6050, 0x70, 1000, 184, 2.9, [0x1A: 1, 0x1D: 1]),
            (.mpu6050, 0x12, 1000, 176, 2.9, [0x1A: 1, 0x1D: 1]), (.mpu6050, 0x98, 100, 41, 5.9, [0x1A: 3]),
            (.mpu6050, 0x71, 50, 20, 9.9, [0x1A: 4, 0x1D: 4]), (.mpu6050, 0x71, 25, 10, 17.85, [0x1A: 5, 0x1D: 5]),
            (.mpu6050, 0xAF, 10, 5, 33.48, [0x1A: 6, 0x1D: 6]), (.mpu6050, 0x70, 500, 184, 2.9, [0x1A: 1, 0x1D: 1]),
            (.icm42688, 0x47, 1000, 230.7, 2.485, [:]), (.icm42688, 0x47, 500, 115.3, 4.485, [:]),
            (.icm42688, 0x47, 200, 92.3, 5.485, [:]), (.icm42688, 0x47, 100, 47.0, 8.385, [:]),
            (.icm42688, 0x47, 50, 23.8, 13.285, [:]), (.icm42688, 0x47, 25, 8.5, 30.385, [:]),
            (.icm42688, 0x47, 12.5, 8.5, 30.385, [:]), (.icm42688, 0x42, 200, 92.3, 5.326, [:]),
            (.icm20948, 0xEA, 0, 5.7, nil, [:]), (.icm20948, 0xEA, 5, 5.7, nil, [:]),
            (.icm20948, 0xEA, 25, 11.6, nil, [:]), (.icm20948, 0xEA, 50, 23.9, nil, [:]),
            (.icm20948, 0xEA, 100, 51.2, nil, [:]), (.icm20948, 0xEA, 200, 119.5, nil, [:]),
            (.icm20948, 0xEA, 280, 151.8, nil, [:]), (.icm20948, 0xEA, 375, 196.6, nil, [:]),
            (.icm20948, 0xEA, 400, 196.6, nil, [:]), (.icm20948, 0xEA, 9999, 361.4, nil, [:]),
            (.icm20948, 0xEA, .nan, 5.7, nil, [:]),
            // FTYPE 0; the bits 0 and 1 of CTRL2_G for other ranges clear.
            (.lsm6ds, 0x6B, 12.5, 4.3, nil, [0x11: 0x1C]), (.lsm6ds, 0x6B, 26, 8.3, nil, [0x11: 0x2C]),
            (.lsm6ds, 0x6B, 52, 16.7, nil, [0x11: 0x3C]), (.lsm6ds, 0x6B, 104, 33, nil, [0x11: 0x4C]),
            (.lsm6ds, 0x6B, 208, 67, nil, [0x11: 0x5C]), (.lsm6ds, 0x6B, 416, 133, nil, [0x11: 0x6C]),
            (.lsm6ds, 0x6B, 833, 222, nil, [0x11: 0x7C]), (.lsm6ds, 0x6B, 1660, 274, nil, [0x11: 0x8C]),
        ] as [(IMUFamily, UInt8, Double, Double, Double?, [UInt8: UInt8])])
    func lowPass(
        family: IMUFamily, identity: UInt8, rate: Double, bandwidth: Double, milliseconds: Double?,
        registers: [UInt8: UInt8]
    ) throws {
        let part = try #require(family.part(identity, rate: rate, degrees: 9999))
        if family == .icm42688 || identity == 0x6B { #expect(part.rate == rate) }
        #expect(part.bandwidth == bandwidth)
        for (register, value) in registers { #expect(part.planned(register)?.value == value) }
        if let milliseconds { #expect(abs(part.delay - milliseconds * 1e-3) < 1e-9) }
        if family == .icm20948 {
            #expect(part.delay > 0.159 / bandwidth && part.delay < 0.159 / bandwidth + 0.0022)
        }
    }

    @Test(
        "Chooses the smallest range of the accelerometer that is not smaller: g, and mg per count",
        arguments: [
            (.mpu6050, 0x68, 0, 2, 1000.0 / 16384, [0x1C: 0x00]), (.mpu6050, 0x68, 2, 2, 1000.0 / 16384, [0x1C: 0x00]),
            (.mpu6050, 0x68, 2.1, 4, 1000.0 / 8192, [0x1C: 0x08]), (.mpu6050, 0x68, 4, 4, 1000.0 / 8192, [0x1C: 0x08]),
            (.mpu6050, 0x68, 5, 8, 1000.0 / 4096, [0x1C: 0x10]), (.mpu6050, 0x68, 8, 8, 1000.0 / 4096, [0x1C: 0x10]),
            (.mpu6050, 0x68, 8.1, 16, 1000.0 / 2048, [0x1C: 0x18]),
            (.mpu6050, 0x68, 16, 16, 1000.0 / 2048, [0x1C: 0x18]),
            (.mpu6050, 0x68, 50, 16, 1000.0 / 2048, [0x1C: 0x18]),
            (.lsm6ds, 0x6A, 1, 2, 0.061, [:]), (.lsm6ds, 0x6A, 2, 2, 0.061, [:]), (.lsm6ds, 0x6A, 3, 4, 0.122, [:]),
            (.lsm6ds, 0x6A, 8, 8, 0.244, [:]), (.lsm6ds, 0x6A, 9, 16, 0.488, [:]), (.lsm6ds, 0x6A, 99, 16, 0.488, [:]),
            // Twice the ranges of an LSM6DSO with the same codes.
            (.lsm6dso32, 0x6C, 2, 4, 0.122, [0x10: 0x50]), (.lsm6dso32, 0x6C, 4, 4, 0.122, [0x10: 0x50]),
            (.lsm6dso32, 0x6C, 8, 8, 0.244, [0x10: 0x58]), (.lsm6dso32, 0x6C, 16, 16, 0.488, [0x10: 0x5C]),
            (.lsm6dso32, 0x6C, 17, 32, 0.976, [0x10: 0x54]), (.lsm6dso32, 0x6C, 99, 32, 0.976, [0x10: 0x54]),
            (.bmi160, 0xD1, 5, 8, 1000.0 / 4096, [:]),
            (.icm20948, 0xEA, 1, 2, 1000.0 / 16384, [:]), (.icm20948, 0xEA, 2, 2, 1000.0 / 16384, [:]),
            (.icm20948, 0xEA, 5, 8, 1000.0 / 4096, [:]), (.icm20948, 0xEA, 16, 16, 1000.0 / 2048, [:]),
            (.icm20948, 0xEA, 99, 16, 1000.0 / 2048, [:]),
        ] as [(IMUFamily, UInt8, Double, Double, Double, [UInt8: UInt8])])
    func accelerometer(
        family: IMUFamily, identity: UInt8, wanted: Double, range: Double, milligravities: Double,
        registers: [UInt8: UInt8]
    ) throws {
        let part = try #require(family.part(identity, gravities: wanted))
        for (register, value) in registers { #expect(part.planned(register)?.value == value) }
        #expect(abs(part.accelerometerRange - range * 9.80665) < 1e-9)
        #expect(abs(part.accelerometerScale - milligravities * 9.80665e-3) < 1e-12)
    }

    @Test(
        "Chooses the smallest range of the gyroscope that is not smaller: °/s, and counts per °/s",
        arguments: [
            (.mpu6050, 0, 250, 131, [0x1B: 0x00]), (.mpu6050, 250, 250, 131, [0x1B: 0x00]),
            (.mpu6050, 251, 500, 65.5, [0x1B: 0x08]), (.mpu6050, 500, 500, 65.5, [0x1B: 0x08]),
            (.mpu6050, 1000, 1000, 32.8, [0x1B: 0x10]), (.mpu6050, 1001, 2000, 16.4, [0x1B: 0x18]),
            (.mpu6050, 2000, 2000, 16.4, [0x1B: 0x18]), (.mpu6050, 9000, 2000, 16.4, [0x1B: 0x18]),
            (.lsm6ds, 1, 250, 1 / 8.75e-3, [:]), (.lsm6ds, 250, 250, 1 / 8.75e-3, [:]),
            (.lsm6ds, 251, 500, 1 / 17.5e-3, [:]), (.lsm6ds, 1000, 1000, 1 / 35e-3, [:]),
            (.lsm6ds, 2000, 2000, 1 / 70e-3, [:]), (.lsm6ds, 9999, 2000, 1 / 70e-3, [:]),
            (.bmi160, 300, 500, 65.6, [:]),
            (.icm20948, 1, 250, 131, [:]), (.icm20948, 250, 250, 131, [:]), (.icm20948, 300, 500, 65.5, [:]),
            (.icm20948, 1500, 2000, 16.375, [:]), (.icm20948, 9999, 2000, 16.375, [:]),
        ] as [(IMUFamily, Double, Double, Double, [UInt8: UInt8])])
    func gyroscope(
        family: IMUFamily, wanted: Double, range: Double, countsPerDegree: Double, registers: [UInt8: UInt8]
    ) throws {
        let part = try #require(family.part(degrees: wanted))
        for (register, value) in registers { #expect(part.planned(register)?.value == value) }
        #expect(abs(part.gyroscopeRange - range * .pi / 180) < 1e-9)
        #expect(abs(part.gyroscopeScale * countsPerDegree - .pi / 180) < 1e-12)
    }

    @Test("MPU-6050: the table has every register that the stream depends on, with its setting")
    func mpu6050Registers() throws {
        let part = try #require(IMUFamily.mpu6050.part(rate: 50, gravities: 3, degrees: 400))
        let expected: [(UInt8, UInt8)] = [
            (0x19, 19), (0x1A, 4), (0x1B, 0x08), (0x1C, 0x08), (0x23, 0xF8), (0x37, 0), (0x38, 0), (0x6A, 0x40),
            (0x6B, 1), (0x6C, 0),
        ]
        for (register, value) in expected { #expect(part.planned(register)?.value == value) }
        #expect(part.plannedRegisters.count == expected.count)
    }

    @Test(
        "LSM9DS1: rates, full scales and their codes",
        arguments: [
            (4, 1, 100, 0x20, 0x27, 14.9, 2, 0.061, 245, 8.75), (50, 2, 245, 0x40, 0x47, 59.5, 2, 0.061, 245, 8.75),
            (119, 3, 250, 0x68, 0x77, 119, 4, 0.122, 500, 17.5), (120, 8, 501, 0x98, 0x9E, 238, 8, 0.244, 2000, 70),
            (400, 9, 2000, 0xB8, 0xAD, 476, 16, 0.732, 2000, 70),
            (1000, 16, 9999, 0xD8, 0xCC, 952, 16, 0.732, 2000, 70),
        ] as [(Double, Double, Double, UInt8, UInt8, Double, Double, Double, Double, Double)])
    func lsm9ds1Settings(
        rate: Double, force: Double, rotation: Double, gyroscope: UInt8, accelerometer: UInt8, hertz: Double,
        gravities: Double, milligravities: Double, degrees: Double, millidegrees: Double
    ) throws {
        let part = try #require(IMUFamily.lsm9ds1.part(rate: rate, gravities: force, degrees: rotation))
        #expect(part.planned(0x10)?.value == gyroscope && part.planned(0x20)?.value == accelerometer)
        #expect(part.rate == hertz)
        #expect(abs(part.accelerometerRange - gravities * 9.80665) < 1e-9)
        #expect(abs(part.accelerometerScale - milligravities * 9.80665e-3) < 1e-12)
        #expect(abs(part.gyroscopeRange - degrees * .pi / 180) < 1e-9)
        #expect(abs(part.gyroscopeScale - millidegrees * .pi / 180e3) < 1e-12)
        #expect(part.accelerometerLimit == (gravities == 16 ? 21849 : 32759))
    }

    @Test(
        "LIS3DH: rates, full scales and their codes; at ±16 g a count is 12 mg",
        arguments: [
            (4, 2, 0x27, 0x88, 10, 2, 1, 1998), (11, 2.1, 0x37, 0x98, 25, 4, 2, 1998),
            (50, 8, 0x47, 0xA8, 50, 8, 4, 1998),
            (100, 9, 0x57, 0xB8, 100, 16, 12, 1331), (400, 16, 0x77, 0xB8, 400, 16, 12, 1331),
            (401, 16, 0x97, 0xB8, 1344, 16, 12, 1331),
        ] as [(Double, Double, UInt8, UInt8, Double, Double, Double, Int16)])
    func lis3dhSettings(
        rate: Double, force: Double, control1: UInt8, control4: UInt8, hertz: Double, gravities: Double,
        milligravities: Double, limit: Int16
    ) throws {
        let part = try #require(IMUFamily.lis3dh.part(rate: rate, gravities: force))
        #expect(part.planned(0x20)?.value == control1 && part.planned(0x23)?.value == control4)
        #expect(part.rate == hertz && part.bandwidth == hertz / 9)
        #expect(abs(part.accelerometerRange - gravities * 9.80665) < 1e-9)
        #expect(abs(part.accelerometerScale - milligravities * 9.80665e-3) < 1e-12)
        #expect(part.accelerometerLimit == limit)
    }

    @Test(
        "LSM303AGR and LIS2DE12: the count at each full scale; eight bits in low-power mode",
        arguments: [
            (.lsm303agr, 2, 0.98, 0x67, 0x88, 2039), (.lsm303agr, 4, 1.95, 0x67, 0x98, 2045),
            (.lsm303agr, 8, 3.9, 0x67, 0xA8, 2045), (.lsm303agr, 16, 11.72, 0x67, 0xB8, 1363),
            (.lis2de12, 2, 15.6, 0x6F, 0x80, 125), (.lis2de12, 4, 31.2, 0x6F, 0x90, 125),
            (.lis2de12, 8, 62.5, 0x6F, 0xA0, 125), (.lis2de12, 16, 187.5, 0x6F, 0xB0, 83),
        ] as [(IMUFamily, Double, Double, UInt8, UInt8, Int16)])
    func relatives(
        family: IMUFamily, gravities: Double, milligravities: Double, control1: UInt8, control4: UInt8, limit: Int16
    ) throws {
        let part = try #require(family.part(gravities: gravities))
        #expect(part.planned(0x20)?.value == control1 && part.planned(0x23)?.value == control4)
        #expect(abs(part.accelerometerScale - milligravities * 9.80665e-3) < 1e-12)
        #expect(part.accelerometerLimit == limit && part.rate == 200)
        let bits = family == .lis2de12 ? 8 : 12
        let least = UInt16(bitPattern: -1 << (16 - bits))
        let bytes: [UInt8] = [UInt8(least & 0xFF), UInt8(least >> 8), 0xFF, 0x7F, 0, 0]
        #expect(bytes.withUnsafeBytes { part.frame($0, at: 0) } == ChipFrame(ax: -1, ay: .max >> (16 - bits), az: 0))
        if family == .lis2de12 { #expect(family.part(rate: 401, gravities: gravities)?.rate == 1620) }
    }
}
