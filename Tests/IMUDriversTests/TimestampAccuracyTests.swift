import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the time of a sample is the time of the movement, whatever the low-passes of the chip. The delays of the
/// virtual chips are the datasheets', independently of the drivers.
@Suite struct TimestampAccuracyTests {
    /// The rates of each family, Hz.
    private static let rates: [IMUFamily: [Double]] = [
        .mpu6050: [4, 10, 50, 100, 200, 500, 1000],
        .icm42688: [12.5, 25, 50, 100, 200, 500, 1000],
        .lsm6ds: [12.5, 26, 52, 104, 208, 416, 833, 1660],
        .bmi160: [25, 50, 100, 200, 400, 800, 1600],
        .adxl345: [25, 50, 100, 200, 400, 800],
        .lsm6dso32: [104, 1660],
        .adxl375: [100, 800],
        .icm20948: [5, 25, 45, 75, 125, 225, 375, 1125],
        .lsm9ds1: [14.9, 59.5, 119, 238, 476, 952],
        .lis3dh: [10, 25, 50, 100, 200, 400, 1344],
        .lsm303agr: [10, 1344],
        .lis2de12: [10, 200, 1620],
    ]

    private static func rig(_ part: VirtualPart, _ rate: Double, oscillatorError: Double = 0.02) -> VirtualRig {
        var settings = IMUSettings()
        settings.rate = rate
        return VirtualRig(part, settings: settings, oscillatorError: oscillatorError)
    }

    @Test(
        "Timestamps are within 0.2 ms RMS at every rate, also with the pauses at rest",
        arguments: VirtualPart.allCases, [false, true])
    func everyRate(part: VirtualPart, rests: Bool) {
        for rate in Self.rates[part.family] ?? [] {
            let rig = Self.rig(part, rate)
            rig.rests = rests
            rig.run(max(4, 60 / rate))
            rig.measureTimestamps()
            rig.run(max(10, 200 / rate))
            if rests {
                #expect(rig.timestampError < 0.0002, "\(part) at \(rate) Hz: \(rig.timestampError)")
                // The long pauses have begun.
                rig.run(60)
            }
            #expect(rig.driver.info.nominalRate == rate)
            #expect((rig.driver.info.gyroscopeRange > 0) == part.family.hasGyroscope)
            #expect(rig.timestampError < 0.0002, "\(part) at \(rate) Hz: \(rig.timestampError)")
            #expect(rig.wrongSamples == 0 && rig.reversals == 0, "\(part) at \(rate) Hz")
        }
    }

    @Test(
        "No sample from before the sensors settled is delivered, at any rate, after a start and after a brown-out",
        arguments: VirtualPart.allCases, [-0.05, 0.05])
    func settled(part: VirtualPart, oscillatorError: Double) {
        for rate in Self.rates[part.family] ?? [] {
            let rig = Self.rig(part, rate, oscillatorError: oscillatorError)
            #expect(rig.run(atMost: 0.4 + 10 / rate) { rig.samples > 0 }, "\(part) at \(rate) Hz")
            rig.run(max(1, 20 / rate))
            rig.chip.inject(.brownOut)
            #expect(rig.run(atMost: 1 + 20 / rate) { rig.status.lastFault != nil })
            let noticed = rig.clock.now()
            #expect(rig.run(atMost: 2 + 20 / rate) { (rig.lastSample ?? noticed) > noticed })
            rig.run(max(1, 20 / rate))
            #expect(rig.wrongSamples == 0, "\(part) at \(rate) Hz")
        }
    }
}
