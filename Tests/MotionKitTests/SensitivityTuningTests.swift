import BrokerTestSupport
import MotionCore
import MotionKit
import Testing

/// Requirement: for demonstrated gestures, reports the hits and false alarms of each sensitivity, and the best one.
@Suite struct SensitivityTuningTests {
    /// Samples at 100 Hz of a flat board that is shaken along x.
    private struct SampleSequence {
        var samples: [MotionSample] = []

        mutating func rest(_ seconds: Double) { shake(seconds, peak: 0) }

        mutating func shake(_ seconds: Double, peak: Double, frequency: Double = 4) {
            for index in 0..<Int((seconds * 100).rounded()) {
                let phase = Double(index) / 100 * frequency * 2 * .pi
                let x = peak * standardGravity * Quaternion(angle: 2 * phase, axis: Vector3(1, 0, 0)).x
                samples.append(
                    MotionSample(
                        timestamp: Timestamp(seconds: Double(samples.count) / 100),
                        acceleration: Vector3(x, 0, standardGravity), rotationRate: .zero))
            }
        }
    }

    /// Three shakes of this strength, g.
    private func shakes(peak: Double) -> [MotionSample] {
        var sequence = SampleSequence()
        sequence.rest(3)
        for _ in 0..<3 {
            sequence.shake(1, peak: peak)
            sequence.rest(2.5)
        }
        return sequence.samples
    }

    private func tune(shown: Double, ordinary: Double) -> SensitivityTuning {
        let samples = shakes(peak: shown)
        return SensitivityTuning(
            .shake, settings: MotionSettings(), shown: samples, bouts: BoutDetector.bouts(in: samples),
            ordinary: shakes(peak: ordinary))
    }

    @Test func separatesBoutsByPauses() {
        let bouts = BoutDetector.bouts(in: shakes(peak: 2))
        #expect(bouts.count == 3)
        for (index, bout) in bouts.enumerated() {
            let start = 3 + 3.5 * Double(index)
            #expect(abs(bout.start.seconds - start) < 0.1 && abs(bout.end.seconds - start - 1) < 0.2)
            #expect(abs(bout.peak - 2 * standardGravity) < 4)
        }
        #expect(BoutDetector.bouts(in: shakes(peak: 0)).isEmpty)
        // A bout in progress at the end counts.
        #expect(BoutDetector.bouts(in: Array(shakes(peak: 2).prefix(350))).count == 1)
    }

    @Test func suggestsDefaultForOrdinaryShakes() {
        let tuning = tune(shown: 2, ordinary: 0)
        #expect(tuning.shown == 3 && tuning.outcomes.map(\.sensitivity) == Array(1...10))
        #expect(tuning.isClean)
        // With a margin on both sides.
        #expect((4...7).contains(tuning.best.sensitivity), "\(tuning.best)")
    }

    @Test func suggestsHigherSensitivityForGentleShakes() throws {
        let gentle = (1...30).map { 0.05 * Double($0) }.first { peak in
            let caught = tune(shown: peak, ordinary: 0).outcomes.map(\.caught)
            return caught[4] == 0 && caught[9] == 3
        }
        guard let gentle else { throw Unexpected("no strength is caught by 10 and missed by 5") }
        let tuning = tune(shown: gentle, ordinary: 0)
        #expect(tuning.best.sensitivity > 5 && tuning.best.caught == 3)
        let caught = tuning.outcomes.map(\.caught)
        #expect(caught == caught.sorted())
    }

    @Test func countsFalseAlarms() {
        let tuning = tune(shown: 3, ordinary: 0.75)
        #expect(tuning.outcomes[9].fired >= 3)
        #expect(tuning.outcomes[0].fired == 0)
        #expect(tuning.best.fired == 0 && tuning.best.caught == 3, "\(tuning.outcomes)")
        #expect(tuning.isClean)
    }

    @Test func reportsWhenMovementsAreAlike() {
        let tuning = tune(shown: 2, ordinary: 2)
        #expect(!tuning.isClean)
    }

    /// Every demonstration says at which sensitivities it was recognised, and every false alarm when it came.
    @Test func tellsMovementsApart() throws {
        let tuning = tune(shown: 3, ordinary: 0.75)
        #expect(tuning.demonstrations.map { $0.sensitivities == Array(1...10) } == [true, true, true])
        #expect(tuning.demonstrations[0].event?.gesture == .shake)
        #expect(tuning.falseAlarms.count >= 3 && tuning.falseAlarms.allSatisfy(\.isInHandling))
        let first = try #require(tuning.falseAlarms.first)
        #expect((3...4).contains(first.seconds) && first.sensitivities.last == 10 && !first.sensitivities.contains(1))
        #expect(first.sensitivities == Array((first.sensitivities.first ?? 0)...10))
        // Each alarm is listed once, at all sensitivities.
        for sensitivity in 1...10 {
            let listed = tuning.falseAlarms.count { $0.sensitivities.contains(sensitivity) }
            #expect(listed == tuning.outcomes[sensitivity - 1].fired)
        }
        #expect(tuning.misses(at: 5).isEmpty)
    }

    @Test func saysWhyDemonstrationsAreMissed() throws {
        var sequence = SampleSequence()
        sequence.rest(3)
        // One swing to and fro.
        sequence.shake(0.25, peak: 2)
        sequence.rest(2.5)
        let tuning = SensitivityTuning(
            .shake, settings: MotionSettings(), shown: sequence.samples,
            bouts: BoutDetector.bouts(in: sequence.samples), ordinary: [])
        #expect(tuning.shown == 1 && tuning.best.caught == 0)
        let miss = try #require(tuning.misses(at: 5).first)
        #expect(miss.index == 0 && miss.miss.nearMiss?.reason == .tooFewReversals, "\(miss)")
    }

    @Test func tunesDisabledGesture() {
        var settings = MotionSettings()
        settings.gestures.shake.common.isEnabled = false
        let samples = shakes(peak: 2)
        let tuning = SensitivityTuning(
            .shake, settings: settings, shown: samples, bouts: BoutDetector.bouts(in: samples), ordinary: [])
        #expect(tuning.best.caught == 3)
    }
}
