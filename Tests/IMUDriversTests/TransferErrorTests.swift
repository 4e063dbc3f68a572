import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: a driver measures on a bus on which any two transfers in a row can pass, whatever the others' errors; and a
/// transfer that has consumed part of the FIFO gives no wrong sample.
@Suite struct TransferErrorTests {
    private static let families: [VirtualPart] = [
        .mpu6050, .icm42688, .lsm6dso, .lsm6ds3, .bmi160, .adxl345, .icm20948, .lsm9ds1, .lis3dh, .lis2de12,
    ]

    static let errors = [
        BusError(.inputOutput, code: 5), BusError(.arbitrationLost, code: 11), BusError(.timedOut, code: 110),
        BusError(.notAcknowledged, code: 121),
    ]

    /// Those whose ranges are in one place, in the bank of the FIFO.
    private static func joins(_ part: VirtualPart) -> Bool { ![.icm20948, .lsm9ds1, .lsm6dso].contains(part) }

    /// Runs for 20 s with failures, on a bus that joins reads and on one that does not, and returns the samples in the last 10 s
    /// of the worse one. Unless the failures are `many`, the reads are still joined then.
    private func samples(
        _ part: VirtualPart, many: Bool, _ failure: @escaping (Int) -> (error: BusError, sent: Int)?
    ) -> Int {
        var least = Int.max
        for joinsReads in [false, true] {
            let rig = VirtualRig(part, joinsReads: joinsReads)
            rig.failures.next = failure
            rig.run(10)
            let (before, joined) = (rig.samples, rig.failures.joinedReads)
            rig.run(10)
            #expect(rig.wrongSamples == 0 && rig.reversals == 0, "\(part)")
            if joinsReads, !many, Self.joins(part) { #expect(rig.failures.joinedReads - joined > 300, "\(part)") }
            least = min(least, rig.samples - before)
        }
        return least
    }

    @Test(arguments: families, errors)
    func measuresIfEveryNthTransferFails(part: VirtualPart, error: BusError) {
        // With every second one, the count of a FIFO and its data never pass both. What was not addressed may be repeated.
        let first = error.kind == .notAcknowledged || error.kind == .arbitrationLost ? 2 : 3
        for period in first...20 {
            // Of an ADXL345, which sends one frame at a time, some periods hit every transaction that joins reads.
            let many = error.kind == .timedOut || period < 8 || part == .adxl345
            let count = samples(part, many: many) { $0 % period == 0 ? (error, 0) : nil }
            #expect(count > 1700, "every \(period)th: \(count)")
        }
    }

    @Test(arguments: families, errors)
    func measuresIfTransfersFailAtRandom(part: VirtualPart, error: BusError) {
        for percent in [2, 5, 10, 20, 30] {
            var random = UInt64(percent)
            let count = samples(part, many: error.kind == .timedOut || percent > 10) { _ in
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return random >> 33 % 100 < UInt64(percent) ? (error, 0) : nil
            }
            // A timeout is repeated once only: real ones last a second.
            let least = percent <= 10 ? 1700 : percent == 30 && error.kind == .timedOut ? 1 : 500
            #expect(count >= least, "\(percent) %: \(count)")
        }
    }

    /// A read that fails after some bytes of the FIFO have been sent.
    @Test(arguments: families, [1, 6, 7, 12, 14, 28, 64])
    func whatWasConsumedIsNoSample(part: VirtualPart, sent: Int) {
        for joinsReads in [false, true] { checkConsumption(part, joinsReads, sent) }
    }

    private func checkConsumption(_ part: VirtualPart, _ joinsReads: Bool, _ sent: Int) {
        let rig = VirtualRig(part, joinsReads: joinsReads)
        rig.run(5)
        var random = UInt64(sent)
        rig.failures.next = { _ in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return random >> 33 % 50 == 0 ? (BusError(.inputOutput, code: 5), sent) : nil
        }
        rig.run(10)
        rig.failures.next = { _ in nil }
        rig.run(2)
        rig.measureTimestamps()
        let joined = rig.failures.joinedReads
        rig.run(10)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.state == .streaming)
        #expect(!joinsReads || !Self.joins(part) || rig.failures.joinedReads - joined > 300)
        #expect(rig.timestampError < 0.001, "\(rig.timestampError)")
    }

    /// On an adapter that cannot join reads, whatever it says, the sensor streams as on others.
    @Test(arguments: errors + [BusError(.other, code: 71)])
    func measuresIfAnAdapterCannotJoinReads(error: BusError) {
        let rig = VirtualRig(joinsReads: true)
        rig.failures.ofJoinedReads = error
        rig.run(5)
        let (samples, joined) = (rig.samples, rig.failures.joinedReads)
        #expect(joined == (error.kind == .timedOut ? 1 : 16))
        rig.run(5)
        rig.chip.inject(.brownOut)
        rig.run(5)
        #expect(rig.samples - samples > 1850 && rig.wrongSamples == 0)
        #expect(rig.failures.joinedReads == joined, "a restart does not ask again")
        #expect(rig.status.recoveries == (error.kind == .timedOut ? 2 : 1))
        // It is no failure of the bus. The chip does not answer while it starts.
        #expect(rig.status.busErrors.timedOut + rig.status.busErrors.inputOutput == 0)
    }

    /// An adapter that joins short reads only is no longer asked to join long ones.
    @Test func measuresIfAnAdapterJoinsShortReadsOnly() {
        var settings = IMUSettings()
        // There are short ones between the long ones.
        settings.batchInterval = 0.05
        let rig = VirtualRig(settings: settings, joinsReads: true)
        rig.failures.ofJoinedReads = BusError(.inputOutput, code: 5)
        rig.failures.longestJoined = 8
        rig.run(5)
        let gaps = rig.status.gaps
        rig.run(10)
        #expect(rig.failures.failedJoins == 8)
        #expect(rig.failures.joinedReads > 100)
        #expect(rig.status.gaps == gaps && rig.wrongSamples == 0)
    }

    /// Another program sets another range at any time, and may reset it.
    @Test(arguments: [VirtualPart.mpu6050, .icm42688, .lsm6dso, .adxl345], [false, true])
    func noSampleHasAnotherRange(part: VirtualPart, joinsReads: Bool) {
        // The register with the accelerometer's range, and one of its bits.
        let (register, bit): (UInt8, UInt8) =
            switch part {
            case .icm42688: (0x50, 5)
            case .lsm6dso: (0x10, 2)
            case .adxl345: (0x31, 0)
            default: (0x1C, 3)
            }
        let rig = VirtualRig(part, joinsReads: joinsReads)
        // The FIFO of the others sends whole frames only.
        rig.failures.pause = 0.003
        rig.failures.pausesWithinFrames = part == .mpu6050
        rig.run(2)
        var random: UInt64 = 3
        for number in 0..<100 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            rig.chip.inject(
                number % 4 < 2 ? .bitFlip(register: register, bit: bit) : .brownOut,
                at: rig.clock.now().advanced(bySeconds: 0.1 * Double(random >> 11) / 9_007_199_254_740_992))
            rig.rests = number % 2 == 0
            rig.run(0.7)
        }
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.recoveries > 50, "\(rig.status.recoveries)")
    }
}
