import MotionCore
import MotionKit
import Testing
import VirtualIMU

/// Requirement: every gesture can be tuned: its demonstrations are told apart and caught, and nothing else is.
@Suite struct GestureTuningTests {
    /// The samples of a perfect sensor at 200 Hz.
    static func samples(of trajectory: any Trajectory, seconds: Double) -> [MotionSample] {
        (0..<Int(seconds * 200)).map { index in
            let time = Double(index) / 200
            let motion = trajectory.motion(at: time)
            return MotionSample(
                timestamp: Timestamp(seconds: 1 + time), acceleration: motion.specificForce,
                rotationRate: motion.rotationRate)
        }
    }

    private static func bouts(of gesture: Gesture, in samples: [MotionSample]) -> [BoutDetector.Bout] {
        guard gesture == .vibration else { return BoutDetector.bouts(in: samples, TuningTrial.limits(of: gesture)) }
        return [BoutDetector.Bout(start: samples[0].timestamp, end: samples[samples.count - 1].timestamp)]
    }

    private static func tune(
        _ gesture: Gesture, _ trajectory: any Trajectory, seconds: Double,
        _ settings: MotionSettings = MotionSettings()
    ) -> SensitivityTuning {
        let shown = samples(of: MotionSequence([Rest(2), trajectory]), seconds: 2 + seconds)
        return SensitivityTuning(
            gesture, settings: settings, shown: shown, bouts: bouts(of: gesture, in: shown),
            ordinary: samples(of: Rest(), seconds: 10))
    }

    /// The movement, how often it is made in a time, and that time.
    static let movements: [(Gesture, VirtualTrajectory, Int, Double)] = [
        (.shake, .shake, 3, 15), (.tap, .tap, 3, 9), (.flick, .flickLeft, 3, 12), (.turn, .turnLeft, 3, 9),
        (.flip, .flip, 4, 11.8), (.tilt, .tilt, 2, 14), (.fall, .fall, 2, 12), (.impact, .bump, 3, 12),
        (.motion, .carry, 2, 40), (.vibration, .fan, 1, 32),
    ]

    @Test(arguments: movements.indices)
    func findsEveryDemonstration(of index: Int) {
        let (gesture, movement, count, seconds) = Self.movements[index]
        let tuning = Self.tune(gesture, movement.trajectory, seconds: seconds)
        #expect(tuning.shown == count, "\(gesture)")
        #expect(tuning.isClean, "\(gesture): \(tuning.outcomes)")
        let caught = tuning.outcomes.map(\.caught)
        #expect(caught == caught.sorted(), "\(gesture)")
    }

    /// Settings that keep demonstrations in quick succession from being recognised do not count.
    @Test func judgesEachDemonstrationAlone() {
        var settings = MotionSettings()
        settings.gestures.shake.common.cooldown = 60
        settings.gestures.shake.common.gate.minimumInterval = 600
        #expect(Self.tune(.shake, VirtualTrajectory.shake.trajectory, seconds: 15, settings).isClean)
        settings.gestures.motion.stillness = 3600
        #expect(Self.tune(.motion, VirtualTrajectory.carry.trajectory, seconds: 40, settings).isClean)
    }

    /// A tilt is measured from the attitude in which the board lies at first.
    @Test func measuresTiltFromTheStart() {
        let leaning = Quaternion(angle: 0.6, axis: Vector3(0, 1, 0))
        let trajectory = Posed(leaning, MotionSequence([Rest(3), VirtualTrajectory.tilt.trajectory]))
        let shown = Self.samples(of: trajectory, seconds: 17)
        let tuning = SensitivityTuning(
            .tilt, settings: MotionSettings(), shown: shown, bouts: Self.bouts(of: .tilt, in: shown),
            ordinary: Self.samples(of: Posed(leaning), seconds: 10))
        #expect(tuning.isClean && tuning.shown == 2, "\(tuning.outcomes)")
    }

    /// Flicks in another direction than the demonstrated one are mistakes.
    @Test func proposesTheDirectionOfFlicks() throws {
        let settings = MotionSettings()
        let shown = Self.samples(of: VirtualTrajectory.flickLeft.trajectory, seconds: 12)
        let ordinary = Self.samples(of: VirtualTrajectory.flickUp.trajectory, seconds: 12)
        func tune(_ settings: MotionSettings) -> SensitivityTuning {
            SensitivityTuning(
                .flick, settings: settings, shown: shown, bouts: Self.bouts(of: .flick, in: shown), ordinary: ordinary)
        }
        let present = tune(settings)
        #expect(present.shown == 3 && !present.isClean)
        let alternatives = TuningChoice.alternatives(for: .flick, to: settings, after: present)
        #expect(alternatives.map(\.value) == ["left"])
        let choice = try #require(alternatives.first)
        #expect(tune(choice.settings).isClean)
        #expect(TuningChoice.alternatives(for: .flick, to: choice.settings, after: present).isEmpty)
    }

    /// Somebody who turns the board in the hand needs every rotation; somebody who turns a knob does not.
    @Test func proposesTheModeOfTurns() throws {
        var settings = MotionSettings()
        let twist = VirtualTrajectory.twist.trajectory
        let present = Self.tune(.turn, twist, seconds: 12, settings)
        #expect(present.shown == 3 && present.best.caught == 0)
        let free = try #require(TuningChoice.alternatives(for: .turn, to: settings, after: present).first)
        #expect(free.key == "mode" && free.value == "free" && free.settings.gestures.turn.mode == .free)
        #expect(Self.tune(.turn, twist, seconds: 12, free.settings).best.caught == 3)

        settings = free.settings
        let shown = Self.samples(of: VirtualTrajectory.turnLeft.trajectory, seconds: 9)
        func tune(_ settings: MotionSettings) -> SensitivityTuning {
            SensitivityTuning(
                .turn, settings: settings, shown: shown, bouts: Self.bouts(of: .turn, in: shown),
                ordinary: Self.samples(of: twist, seconds: 12))
        }
        let handled = tune(settings)
        #expect(handled.shown == 3 && !handled.isClean)
        let knob = try #require(TuningChoice.alternatives(for: .turn, to: settings, after: handled).first)
        #expect(knob.value == "knob" && tune(knob.settings).isClean)
    }

    /// Somebody who always taps twice means a double tap.
    @Test func proposesTheNumberOfTaps() {
        let settings = MotionSettings()
        let trajectory = VirtualTrajectory.doubleTap.trajectory
        let present = Self.tune(.tap, trajectory, seconds: 9, settings)
        #expect(present.shown == 3 && !present.isClean)
        let alternatives = TuningChoice.alternatives(for: .tap, to: settings, after: present)
        let losses = alternatives.map { Self.tune(.tap, trajectory, seconds: 9, $0.settings).leastLoss }
        #expect(alternatives.map(\.value) == ["double", "triple"])
        #expect(losses[0] == 0 && losses[1] > 0 && present.leastLoss > 0, "\(losses)")
    }
}
