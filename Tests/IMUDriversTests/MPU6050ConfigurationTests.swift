import MotionCore
import Testing

@testable import IMUDrivers

/// Requirement: each setting becomes the chip's nearest that is not smaller.
@Suite struct MPUConfigurationTests {
    private func configuration(_ change: (inout IMUSettings) -> Void) -> MPUConfiguration {
        var settings = IMUSettings()
        change(&settings)
        return MPUConfiguration(settings)
    }

    @Test(
        "The divider gives the lowest rate that is not below the requested one, from 4 to 1000 Hz",
        arguments: [
            (1000, 0, 1000), (2000, 0, 1000), (501, 0, 1000), (500, 1, 500), (334, 1, 500), (1000.0 / 3, 2, 1000.0 / 3),
            (200, 4, 200), (199, 4, 200), (100, 9, 100), (4, 249, 4), (1, 249, 4), (0, 249, 4), (-5, 249, 4),
            (.nan, 249, 4), (.infinity, 0, 1000),
        ] as [(Double, UInt8, Double)])
    func rate(wanted: Double, divider: UInt8, rate: Double) {
        let result = configuration { $0.rate = wanted }
        #expect(result.sampleRateDivider.bits == divider)
        #expect(abs(result.figures.rate - rate) < 1e-9)
    }

    @Test(
        "The low-pass is the widest that passes nothing above half of the rate (RM p. 13)",
        arguments: [
            (1000, 1, 188, 1.9), (500, 1, 188, 1.9), (333, 2, 98, 2.8), (200, 2, 98, 2.8), (100, 3, 42, 4.8),
            (50, 4, 20, 8.3), (25, 5, 10, 13.4), (10, 6, 5, 18.6), (4, 6, 5, 18.6),
        ] as [(Double, UInt8, Double, Double)])
    func lowPass(rate: Double, setting: UInt8, bandwidth: Double, delay: Double) {
        let result = configuration { $0.rate = rate }
        #expect(result.lowPass.bits == setting)
        #expect(result.figures.bandwidth == bandwidth)
        #expect(abs(result.figures.delay - delay / 1000) < 1e-12)
    }

    @Test(
        "In every row of the low-pass table the delays of accelerometer and gyroscope differ by less than a millisecond"
    )
    func lowPassRows() {
        for setting: UInt8 in 1...6 {
            let row = MPULowPassTable.mpu6050.row(setting)
            #expect(row.setting == setting)
            #expect(abs(row.delay - row.accelerometerDelay) < 0.001)
            #expect(abs(row.bandwidth - row.accelerometerBandwidth) <= 4)
        }
    }

    @Test(
        "The accelerometer's range is not smaller than requested, if possible",
        arguments: [
            (0, 0x00, 2, 16384), (2, 0x00, 2, 16384), (2.1, 0x08, 4, 8192), (4, 0x08, 4, 8192), (5, 0x10, 8, 4096),
            (8, 0x10, 8, 4096), (8.1, 0x18, 16, 2048), (16, 0x18, 16, 2048), (50, 0x18, 16, 2048),
        ] as [(Double, UInt8, Double, Double)])
    func accelerometer(wanted: Double, bits: UInt8, range: Double, countsPerG: Double) {
        let result = configuration { $0.accelerometerRange = wanted * 9.80665 }
        #expect(result.accelerometerRangeBits.bits == bits)
        #expect(abs(result.figures.accelerometerRange - range * 9.80665) < 1e-9)
        #expect(abs(result.figures.accelerometerScale * countsPerG - 9.80665) < 1e-12)
    }

    @Test(
        "The gyroscope's range is not smaller than requested, if possible",
        arguments: [
            (0, 0x00, 250, 131), (250, 0x00, 250, 131), (251, 0x08, 500, 65.5), (500, 0x08, 500, 65.5),
            (1000, 0x10, 1000, 32.8), (1001, 0x18, 2000, 16.4), (2000, 0x18, 2000, 16.4), (9000, 0x18, 2000, 16.4),
        ] as [(Double, UInt8, Double, Double)])
    func gyroscope(wanted: Double, bits: UInt8, range: Double, countsPerDegree: Double) {
        let result = configuration { $0.gyroscopeRange = wanted * .pi / 180 }
        #expect(result.gyroscopeRangeBits.bits == bits)
        #expect(abs(result.figures.gyroscopeRange - range * .pi / 180) < 1e-9)
        #expect(abs(result.figures.gyroscopeScale * countsPerDegree - .pi / 180) < 1e-12)
    }

    @Test("The table has every register that the stream depends on, with its setting")
    func registers() {
        var settings = IMUSettings()
        settings.rate = 50
        settings.accelerometerRange = 3 * 9.80665
        settings.gyroscopeRange = 400 * .pi / 180
        let part = MPUFamily(settings: settings)
        let expected: [(UInt8, UInt8)] = [
            (0x19, 19), (0x1A, 4), (0x1B, 0x08), (0x1C, 0x08), (0x23, 0xF8), (0x37, 0), (0x38, 0), (0x6A, 0x40),
            (0x6B, 1), (0x6C, 0),
        ]
        for (register, value) in expected { #expect(part.planned(register)?.value == value) }
        #expect(part.plannedRegisters.count == expected.count)
    }
}
