import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the driver works with models of the family's members, and with their peculiarities.
@Suite struct MPUOnVirtualChipTests {
    static let models: [VirtualPart] = [.mpu6500, .mpu9250, .icm20602, .icm20689]

    @Test(
        "Polls up to 3 ms late, one in fifty 20 ms: 0.2 ms RMS, period known within 2 s and to 100 ppm in a minute",
        arguments: [-0.05, -0.02, 0.0003, 0.05], [1, 2, 3] as [UInt64])
    func stalls(oscillatorError: Double, seed: UInt64) {
        let rig = VirtualRig(oscillatorError: oscillatorError, seed: seed)
        rig.stallEvery = 50
        #expect(rig.run(atMost: 0.3) { rig.firstSample != nil })
        rig.run(2)
        // The period is published once it has been measured. A nominal one has no deviation.
        #expect(rig.driver.status.periodDeviation != 0)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 5000)
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.reversals == 0)
        #expect(rig.driver.status.gaps == 0)
    }

    @Test(
        "Tracks a chip that drifts as it warms up, also with long pauses after as many short ones as a block can have",
        arguments: [5.0, 60], [false, true])
    func warming(seconds: Double, rests: Bool) {
        let rig = VirtualRig {
            $0.selfHeating = 10
            $0.oscillatorDrift = 100
            $0.thermalTimeConstant = 60
        }
        rig.run(seconds)
        rig.rests = rests
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Timestamps are within 0.2 ms RMS, including the low-pass delay, at every low-pass setting", arguments: models,
        [1000, 500, 200, 100, 50, 25] as [Double])
    func timestamps(model: VirtualPart, rate: Double) {
        var settings = IMUSettings()
        settings.rate = rate
        let rig = VirtualRig(model, settings: settings, oscillatorError: -0.011)
        rig.run(5)
        rig.measureTimestamps()
        rig.run(20)
        #expect(rig.timestampError < 0.0002)
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.reversals == 0 && rig.wrongSamples == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 25 * rate / 0.989) < max(10, 0.02 * 25 * rate))
    }

    @Test("ICM-20602: restores the accelerometer's offset on y within 0.2 s, without a gap")
    func yOffset() {
        let rig = VirtualRig(.icm20602)
        rig.run(1)
        #expect(rig.wrongSamples == 0)
        rig.chip.inject(.bitFlip(register: 0x7A, bit: 3))
        rig.run(0.2)
        let wrong = rig.wrongSamples
        #expect(wrong > 0 && wrong <= 25)
        rig.run(2)
        #expect(rig.wrongSamples == wrong)
        #expect(rig.driver.status.gaps == 0 && rig.driver.status.recoveries == 0)
    }

    @Test(
        "ICM-20602: a single wrong temperature costs at most one sample, several restart the FIFO; others do at once",
        arguments: [(.icm20602, 1, 0), (.icm20602, 40, 1), (.mpu6500, 1, 1)] as [(VirtualPart, Int, UInt64)],
        [0.0015, 0.007, 0.012, 0.017] as [Double])
    func temperature(fault: (model: VirtualPart, samples: Int, restarts: UInt64), instant: Double) {
        let rig = VirtualRig(fault.model, oscillatorError: 0)
        rig.run(1)
        rig.chip.inject(
            .temperatureGlitch(by: 200, samples: fault.samples), at: rig.clock.now().advanced(bySeconds: instant))
        let before = rig.samples
        rig.run(2)
        #expect(rig.driver.status.misalignments >= fault.restarts)
        if fault.restarts == 0 {
            #expect(rig.driver.status.misalignments == 0 && rig.driver.status.gaps == 0)
            #expect(abs(rig.samples - before - 400) <= 6)
        }
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.state == .streaming)
    }

    @Test("A host that sleeps for less than the FIFO's duration loses nothing", arguments: models)
    func capacity(model: VirtualPart) {
        let frames: [VirtualPart: Double] = [.mpu6500: 36, .mpu9250: 36, .icm20602: 72, .icm20689: 36]
        let rig = VirtualRig(model, oscillatorError: 0, lateness: 0)
        rig.run(1)
        // The FIFO's content, less the frames that a poll already finds and the margin of the overflow check.
        rig.clock.advance(bySeconds: ((frames[model] ?? 0) - 7) / 200)
        rig.run(1)
        #expect(rig.driver.status.lostSamples == 0 && rig.driver.status.overflows == 0)
        rig.clock.advance(bySeconds: ((frames[model] ?? 0) + 2) / 200)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Drives a clone that answers with another part's identity but is made like an MPU-6050",
        arguments: [0x70, 0x72, 0x98] as [UInt8])
    func copies(identity: UInt8) {
        let rig = VirtualRig(answering: identity)
        rig.run(2)
        #expect(rig.driver.info.identity == identity)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.samples > 350)
        // Its FIFO holds more than assumed. Frames collected meanwhile are reported as an overflow.
        rig.clock.advance(bySeconds: 0.3)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1 && rig.driver.status.misalignments == 0)
        #expect(rig.wrongSamples == 0)
    }

    @Test("Leaves a chip with an unknown identity alone, unless the user names the part that it clones")
    func assumedIdentity() {
        let stranger = VirtualRig(answering: 0x75)
        stranger.run(1)
        #expect(stranger.driver.status.samples == 0)
        #expect(stranger.events == [.failed(.identity(found: 0x75))])
        var settings = IMUSettings()
        settings.assumedIdentity = 0x68
        let rig = VirtualRig(answering: 0x75, settings: settings)
        rig.run(1)
        let info = rig.driver.info
        #expect("\(info.name)" == "MPU-6050" && info.identity == 0x75)
        #expect(rig.driver.status.samples > 150 && rig.wrongSamples == 0)
        // A known identity is not overridden.
        let known = VirtualRig(.icm20602, settings: settings)
        known.run(1)
        #expect("\(known.driver.info.name)" == "ICM-20602")
    }
}
