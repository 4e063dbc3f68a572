import IMUDrivers
import MotionCore
import Testing
import VirtualIMU

/// Requirement: at rest the FIFO is read as seldom as it permits, and nothing that is guaranteed in motion is lost by that.
@Suite struct RestingPauseTests {
    private static func rig(
        _ part: VirtualPart, rate: Double, batch: Double? = nil, oscillatorError: Double = 0,
        lateness: Double = 0, joinsReads: Bool = false
    ) -> VirtualRig {
        var settings = IMUSettings()
        settings.rate = rate
        settings.batchInterval = batch
        return VirtualRig(
            part, settings: settings, oscillatorError: oscillatorError, lateness: lateness, joinsReads: joinsReads)
    }

    /// Runs until the period is known so well that the driver permits pauses.
    private static func settle(_ rig: VirtualRig) { rig.run(max(9.5, 50 * rig.status.period)) }

    /// The shortest and the longest time between two reads of a second, seconds.
    private static func pauses(_ rig: VirtualRig) -> ClosedRange<Double> {
        settle(rig)
        var (least, most) = (Double.infinity, 0.0)
        let end = rig.clock.now().advanced(bySeconds: 1)
        while rig.clock.now() < end {
            let pause = rig.due.seconds(since: rig.clock.now())
            least = min(least, pause)
            most = max(most, pause)
            rig.run(1e-6)
        }
        return least...max(least, most)
    }

    @Test(
        "The pause is 90 ms, or what leaves room in the FIFO for 0.12 s, or as in motion",
        arguments: [
            (.mpu6050, 200, 90), (.mpu6050, 50, 80), (.mpu6050, 333, 90), (.mpu6050, 500, 26), (.mpu6050, 1000, nil),
            (.mpu6500, 200, 60), (.icm20948, 225, nil), (.icm20948, 125, 88), (.lsm6dso, 416, 88.9),
            (.bmi160, 800, nil), (.adxl345, 200, 40), (.adxl345, 100, 90), (.lis3dh, 200, 40), (.lsm9ds1, 238, nil),
            (.icm42688, 500, 90),
            (.mpu6050, 10, nil), (.mpu6050, 4, nil),
        ] as [(VirtualPart, Double, Double?)])
    func bounds(part: VirtualPart, rate: Double, milliseconds: Double?) {
        // At 225 Hz, 20 ms are 4.5 samples, and the FIFO has room for 5.0: the last digit of the period would decide.
        let rig = Self.rig(part, rate: rate, oscillatorError: rate == 225 ? -0.001 : 0)
        rig.rests = true
        let pauses = Self.pauses(rig)
        if let milliseconds {
            // Reads come up to half a period before the sample that completes them.
            let (pause, period) = (0.001 * milliseconds, rig.status.period)
            #expect(pauses.upperBound < pause + 0.001 && pauses.upperBound > pause - 1.5 * period, "\(pauses)")
            #expect(pauses.lowerBound > pause - 3 * period, "\(pauses)")
        } else {
            #expect(rig.reprieve == 0)
        }
        #expect(rig.status.gaps == 0 && rig.wrongSamples == 0)
    }

    @Test("An interval in the settings holds at rest too", arguments: [0.01, 0.02, 0.05])
    func fixed(interval: Double) {
        let rig = Self.rig(.mpu6050, rate: 200, batch: interval)
        rig.rests = true
        let pauses = Self.pauses(rig)
        #expect(pauses.upperBound < interval + 0.0051 && rig.reprieve == 0, "\(pauses)")
    }

    @Test(
        "A host that is busy for 0.1 s at the end of a pause loses nothing that it does not lose in motion",
        arguments: VirtualPart.allCases, [50.0, 100, 200, 333, 500, 1000])
    func busyHost(part: VirtualPart, rate: Double) {
        for oscillatorError in [-0.05, 0.05] {
            var losses: [(gaps: UInt64, samples: UInt64)] = []
            for rests in [false, true] {
                let rig = Self.rig(part, rate: rate, oscillatorError: oscillatorError)
                Self.settle(rig)
                rig.rests = rests
                for _ in 0..<20 {
                    rig.run(0.5)
                    rig.clock.advance(to: rig.due.advanced(bySeconds: 0.1))
                }
                rig.run(1)
                #expect(rig.wrongSamples == 0 && rig.reversals == 0)
                losses.append((rig.status.gaps, rig.status.lostSamples))
            }
            #expect(losses[1].gaps <= losses[0].gaps && losses[1].samples <= losses[0].samples, "\(losses)")
        }
    }

    @Test("A bus that does not answer for 0.1 s after a pause costs no sample", arguments: VirtualPart.allCases)
    func silentBus(part: VirtualPart) {
        let rig = Self.rig(part, rate: 200)
        Self.settle(rig)
        rig.rests = true
        for _ in 0..<20 {
            rig.run(0.5)
            rig.chip.inject(.notAcknowledged, from: rig.due, lasting: .seconds(0.1))
        }
        rig.run(1)
        #expect(rig.status.gaps == 0 && rig.status.recoveries == 0 && rig.wrongSamples == 0)
        #expect(rig.status.busErrors.notAcknowledged > 0)
    }

    @Test("Reads often until the period is known: after a start, an overflow, a suspended host, a failure, a stop")
    func begins() throws {
        let rig = Self.rig(.mpu6050, rate: 200)
        rig.rests = true
        let disturbances: [(VirtualRig) throws -> Void] = [
            { _ in }, { $0.chip.inject(.fifoOverflow) }, { $0.clock.advance(bySeconds: 100) },
            { $0.chip.inject(.brownOut) }, { try $0.driver.stop() },
        ]
        for disturb in disturbances {
            try disturb(rig)
            let count = rig.events.count
            #expect(rig.run(atMost: 1) { rig.events.count > count && rig.status.state == .streaming })
            #expect(rig.reprieve == 0)
            let begun = rig.clock.now()
            #expect(rig.run(atMost: 12) { rig.reprieve > 0 })
            #expect(rig.clock.now().seconds(since: begun) > 7)
            rig.run(1)
        }
        #expect(rig.wrongSamples == 0)
    }

    @Test("A chip that falls silent, loses its power or gets another range is noticed, and no sample is wrong")
    func faults() {
        for (fault, delay) in [(0, 0.2), (1, 0.2), (2, 0.1)] {
            let rig = Self.rig(.mpu6050, rate: 200)
            Self.settle(rig)
            rig.rests = true
            rig.run(0.5)
            let began = rig.clock.now().advanced(bySeconds: 0.012)
            switch fault {
            case 0: rig.chip.inject(.stalled, from: began, lasting: .seconds(1))
            case 1: rig.chip.inject(.brownOut, at: began)
            default: rig.chip.inject(.bitFlip(register: 0x1C, bit: 3), at: began)
            }
            #expect(rig.run(atMost: 1) { rig.status.lastFault != nil })
            #expect(rig.clock.now().seconds(since: began) < delay)
            rig.run(3)
            #expect(rig.status.recoveries == 1 && rig.wrongSamples == 0)
        }
    }

    @Test(
        "All registers are checked within half a second, as in motion", arguments: [0x1A, 0x23, 0x38, 0x6B] as [UInt8])
    func configuration(register: UInt8) {
        for phase in 0..<16 {
            let rig = Self.rig(.mpu6050, rate: 200, joinsReads: phase >= 8)
            Self.settle(rig)
            rig.rests = true
            rig.run(0.5 + 0.1 * Double(phase % 8))
            let began = rig.clock.now()
            rig.chip.inject(.bitFlip(register: register, bit: 0))
            #expect(rig.run(atMost: 1) { rig.status.lastFault != nil })
            let seconds = rig.clock.now().seconds(since: began)
            #expect(seconds < 0.5, "\(seconds)")
        }
    }

    @Test(
        "At 200 Hz a bus that joins reads carries at most 105 transactions a second in motion, and 25 at rest or 36",
        arguments: [.mpu6050, .mpu6500] as [VirtualPart], [0, 0.0005, 0.003])
    func transactions(part: VirtualPart, lateness: Double) {
        let rig = Self.rig(part, rate: 200, lateness: lateness, joinsReads: true)
        Self.settle(rig)
        for (rests, most) in [(false, 105), (true, part == .mpu6050 ? 25 : 36)] {
            rig.rests = rests
            rig.run(1)
            let before = rig.failures.transactions
            rig.run(10)
            let count = rig.failures.transactions - before
            #expect(count <= 10 * most, "\(count)")
        }
        #expect(rig.status.gaps == 0 && rig.wrongSamples == 0)
    }
}
