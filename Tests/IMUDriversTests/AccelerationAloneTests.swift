import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: without the gyroscope, samples have no rotation rate, and the chips that can sample faster.
@Suite struct AccelerationAloneTests {
    private func settings(rate: Double) -> IMUSettings {
        var settings = IMUSettings()
        settings.rate = rate
        settings.readsGyroscope = false
        return settings
    }

    /// A rig at the noise of the ICM-42688-P's data sheet: its bandwidth is up to eight times the usual one.
    private func rig(_ part: VirtualPart, rate: Double) -> VirtualRig {
        VirtualRig(part, settings: settings(rate: rate)) {
            if part.family == .icm42688 { $0.accelerometerNoise = 70e-6 * standardGravity }
        }
    }

    @Test(
        "The highest rate, and the next one that is not below the requested one",
        arguments: [
            (.icm42688, 0x47, 9000, 4000), (.icm42688, 0x42, 4000, 4000), (.icm42688, 0x47, 2001, 4000),
            (.icm42688, 0x47, 1001, 2000), (.icm42688, 0x47, 1000, 1000), (.icm42688, 0x47, 200, 200),
            (.lsm6ds, 0x6A, 9000, 3330), (.lsm6ds, 0x6B, 9000, 3330), (.lsm6ds, 0x6C, 1661, 3330),
            (.lsm6ds, 0x6C, 1000, 1660), (.lsm6dso32, 0x6C, 9000, 3330),
            // Its accelerometer passes 400 Hz at most.
            (.lsm6ds, 0x69, 9000, 1660), (.mpu6050, 0x68, 9000, 1000), (.bmi160, 0xD1, 9000, 1600),
        ] as [(IMUFamily, UInt8, Double, Double)])
    func rates(family: IMUFamily, identity: UInt8, wanted: Double, rate: Double) throws {
        let part = try #require(family.part.init(identity: identity, settings: settings(rate: wanted)))
        #expect(part.rate == rate)
        #expect(part.bandwidth > 0.2 * rate && part.bandwidth <= 0.55 * rate || rate < 2000)
    }

    @Test(
        "Delivers every sample without a rotation rate, at the highest rate and at a usual one",
        arguments: [
            .icm42688, .icm42605, .lsm6ds3, .lsm6ds3trc, .lsm6dso, .lsm6dso32, .ism330dhcx, .mpu6050, .bmi160,
        ] as [VirtualPart], [200, 1e4])
    func streams(part: VirtualPart, rate: Double) {
        let rig = self.rig(part, rate: rate)
        rig.run(3)
        rig.measureTimestamps()
        rig.run(7)
        #expect(rig.driver.info.gyroscopeRange == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
        #expect(rig.wrongSamples == 0 && rig.reversals == 0 && rig.status.gaps == 0 && rig.status.recoveries == 0)
        let nominal = rig.driver.info.nominalRate
        #expect(abs(Double(rig.status.samples) - 9.85 * nominal / 1.03) < max(10, 0.02 * 10 * nominal))
        #expect(rig.timestampError < 0.0002)
        #expect(rig.worst.rate == 0)
    }

    @Test(
        "Reports faults of the chip, delivers no wrong sample, and resumes",
        arguments: [
            (.icm42688, .brownOut), (.icm42688, .fifoOverflow), (.icm42688, .fifoSlip(bytes: 1)),
            (.icm42688, .fifoSlip(bytes: 7)), (.icm42688, .bitFlip(register: 0x5F, bit: 1)),
            (.icm42688, .bitFlip(register: 0x50, bit: 5)), (.lsm6ds3trc, .brownOut), (.lsm6ds3trc, .fifoOverflow),
            (.lsm6ds3trc, .fifoSlip(bytes: 2)), (.lsm6ds3trc, .bitFlip(register: 0x08, bit: 3)),
            (.lsm6dso, .brownOut), (.lsm6dso, .fifoOverflow), (.lsm6dso, .fifoSlip(bytes: 3)),
            (.lsm6dso, .bitFlip(register: 0x10, bit: 3)),
        ] as [(VirtualPart, FaultEvent)])
    func faults(part: VirtualPart, event: FaultEvent) {
        let rig = self.rig(part, rate: 1e4)
        rig.expectRecovery(from: event)
    }

    @Test("A bus of 400 kHz carries the highest rates, one of 100 kHz does not")
    func busLoad() {
        let fastest = settings(rate: 1e9)
        func load<Part: ChipPart>(_ part: Part.Type) -> BusLoad {
            BusLoad(of: Part.init(settings:), settings: fastest)
        }
        #expect(load(ICM42688Family.self).rate == 4000 && load(ICM42688Family.self).fits(clock: 400_000))
        #expect(load(LSM6DSFamily.self).rate == 3330 && load(LSM6DSFamily.self).fits(clock: 400_000))
        #expect(load(LSM6DSO32Family.self).frameLength == 7 && load(LSM6DSO32Family.self).fits(clock: 400_000))
        #expect(!load(ICM42688Family.self).fits(clock: 100_000))
    }
}
