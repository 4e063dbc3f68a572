import MotionCore
import Testing
import VirtualIMU

@testable import MotionKit

/// Requirement: a guided session takes each movement between rests as an example or says why not, learns from enough of them,
/// and tries out what it has learned.
@Suite struct LearningSessionTests {
    /// A board is raised, turned and put back: `wide` scales the way and `slow` the time.
    private func movement(wide: Double = 1, slow: Double = 1) -> any Trajectory {
        MotionSequence([
            Slide(axis: Vector3(0, 0, 1), distance: 0.25 * wide, duration: 0.35 * slow),
            Turn(axis: Vector3(1, 0, 0), angle: 1.2 * wide, duration: 0.4 * slow),
            Turn(axis: Vector3(1, 0, 0), angle: -1.2 * wide, duration: 0.4 * slow),
        ])
    }

    /// Another movement, of the same length.
    private var swing: any Trajectory {
        let axis = Vector3(0, 0, 1)
        return MotionSequence([
            Turn(axis: axis, angle: 1.4, duration: 0.55), Turn(axis: axis, angle: -1.4, duration: 0.55),
        ])
    }

    private func plan() throws -> LearningSession.Plan {
        var plan = LearningSession.Plan(name: try #require(GestureName("lift")))
        // Built-in gestures are not the matter here.
        plan.settings.gestures.flick.common.isEnabled = false
        plan.settings.gestures.turn.common.isEnabled = false
        plan.settings.gestures.flip.common.isEnabled = false
        return plan
    }

    /// What a session says to movements with rests between them, and the samples so far.
    private final class Player {
        private var session: LearningSession
        var time = 5.0
        private let flags: MotionSample.Flags
        /// The acceleration at the end of the sensor's range, m/s².
        var range = Double.infinity
        var prompt: LearningSession.Prompt { session.prompt }
        var template: GestureTemplate? { session.template }

        init(_ plan: LearningSession.Plan, flags: MotionSample.Flags = .rotationRate) {
            session = LearningSession(plan)
            self.flags = flags
            _ = play(Rest(1.2), rest: 0)
        }

        /// Plays a movement after a short rest and before a long one.
        func play(_ movement: any Trajectory, rest: Double = 1.5) -> [LearningSession.Step] {
            var steps: [LearningSession.Step] = []
            let all = MotionSequence([Rest(0.3), movement, Rest(rest)])
            for index in 0..<Int(all.duration * 100) {
                let motion = all.motion(at: Double(index) / 100, from: .identity)
                time += 0.01
                let isClipped = abs(motion.specificForce.x) >= range
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: time), acceleration: motion.specificForce,
                    rotationRate: motion.rotationRate,
                    flags: isClipped ? flags.union(.accelerationClipped(axis: 0)) : flags)
                if let step = session.take(sample) { steps.append(step) }
            }
            return steps
        }
    }

    /// The findings of the only step, which refuses.
    private func refusal(_ steps: [LearningSession.Step]) throws -> [ExampleFinding] {
        guard steps.count == 1, case .refused(let findings) = steps[0] else {
            Issue.record("\(steps)")
            return []
        }
        return findings.filter(\.isFault)
    }

    /// A session that has had its rehearsal, and these examples.
    private func player(_ plan: LearningSession.Plan, _ examples: Int) -> Player {
        let player = Player(plan)
        for number in 0...examples { _ = player.play(movement(wide: 1 + 0.05 * Double(number % 3))) }
        return player
    }

    @Test func learnsAndTriesOut() throws {
        let player = Player(try plan())
        #expect(LearningSession(try plan()).prompt == .rest(0))
        #expect(player.prompt == .rehearse)
        #expect(player.play(movement()) == [.rehearsed([])])
        #expect(player.prompt == .show(1, of: 3))
        for (number, wide) in [1.05, 1, 0.95].enumerated() {
            let steps = player.play(movement(wide: wide, slow: 2 - wide))
            guard case .accepted(number + 1, let seconds, let distance, let energies, [])? = steps.first else {
                Issue.record("\(steps)")
                return
            }
            #expect(abs(seconds - 1.15) < 0.25 && energies.count == Int((seconds * 25).rounded()))
            #expect(number == 0 ? distance.isInfinite : distance < 0.3)
            if number == 2 { #expect(steps.dropFirst() == [.learned(3, [])]) }
        }
        let template = try #require(player.template)
        #expect("\(template.name)" == "lift" && template.exampleCount == 3)
        _ = player.play(Rest(1))
        #expect(player.prompt == .test(1, of: 3))
        for number in 1...3 {
            let steps = player.play(movement(wide: 1.02))
            guard case .tested(number, .recognised(let confidence))? = steps.first else {
                Issue.record("\(steps)")
                return
            }
            #expect(confidence > 0.7)
            #expect(steps.dropFirst() == (number == 3 ? [.done(recognised: 3, isReliable: true)] : []))
        }
        #expect(player.prompt == .over && player.play(movement()).isEmpty)
    }

    @Test func repeatsWhatWillNotDo() throws {
        let player = player(try plan(), 1)
        let long = Shake(axis: Vector3(1, 0, 0), amplitude: 8, frequency: 2, cycles: 8)
        #expect(try refusal(player.play(movement(wide: 0.22))) == [.tooWeak])
        #expect(try refusal(player.play(long)).contains(.tooLong))
        #expect(try refusal(player.play(MotionSequence([movement(), Rest(0.5), movement()]))) == [.several])
        #expect(try refusal(player.play(Tap(axis: Vector3(0, 0, 1), amplitude: 40))) == [.tooShort])
        #expect(player.prompt == .show(2, of: 3))
    }

    /// Of two that differ, nobody knows which is the odd one; of three it is the one that is unlike the others.
    @Test func noticesTheOddOne() throws {
        let player = player(try plan(), 1)
        #expect(player.play(swing) == [.startedAgain])
        #expect(player.prompt == .show(2, of: 3))
        #expect(player.play(swing).count == 1)
        #expect(try refusal(player.play(movement())) == [.unlikeOthers])
        #expect(player.prompt == .show(3, of: 3))
    }

    @Test func asksForMoreIfExamplesDiffer() throws {
        let player = player(try plan(), 1)
        _ = player.play(movement(wide: 1.5, slow: 1.6))
        _ = player.play(movement(wide: 1.8, slow: 0.7))
        #expect(player.prompt == .show(4, of: 4))
        #expect(player.template == nil)
    }

    private func samples(_ movement: any Trajectory) -> [MotionSample] {
        let all = MotionSequence([Rest(1), movement, Rest(1)])
        return (0..<Int(all.duration * 100)).map { index in
            let motion = all.motion(at: Double(index) / 100, from: .identity)
            return MotionSample(
                timestamp: Timestamp(seconds: 1 + Double(index) / 100), acceleration: motion.specificForce,
                rotationRate: motion.rotationRate, flags: .rotationRate)
        }
    }

    /// The frames of a movement, as a background has them.
    private func frames(_ movement: any Trajectory) -> [SampledFrame] {
        var reader = ExampleReader(MotionSettings(), keepsFrames: true)
        for sample in samples(movement) { reader.add(sample) }
        return reader.frames
    }

    @Test func refusesWhatIsLikeEverydayMovement() throws {
        var plan = try plan()
        plan.avoided.add(frames(movement(wide: 1.05)), activity: "lifting boxes")
        let player = Player(plan)
        #expect(player.play(movement()) == [.rehearsed([.likeEveryday("lifting boxes")])])
        #expect(try refusal(player.play(movement())) == [.likeEveryday("lifting boxes")])
        for _ in 0..<4 { _ = player.play(movement()) }
        #expect(player.play(movement()).last == .failed(.refusals(6, [.likeEveryday("lifting boxes")])))
        #expect(player.prompt == .over)
    }

    @Test func takesTheBackgroundFromTheSensor() throws {
        var plan = try plan()
        plan.background = 6
        let player = Player(plan)
        #expect(player.play(movement(wide: 1.05), rest: 0.5).isEmpty)
        guard case .wear(let left) = player.prompt else {
            Issue.record("\(player.prompt)")
            return
        }
        #expect(left > 1.5 && left < 4)
        #expect(player.play(Rest(3)) == [.worn])
        _ = player.play(Rest(1))
        #expect(player.play(movement()) == [.rehearsed([.likeEveryday("what you usually do")])])
    }

    @Test func namesTheGestureThatItIsLike() throws {
        let first = player(try plan(), 3)
        let lift = try #require(first.template)
        var plan = try plan()
        plan.name = try #require(GestureName("raise"))
        plan.others = [lift]
        let player = Player(plan)
        #expect(player.play(movement()) == [.rehearsed([.likeLearned("lift")])])
        #expect(try refusal(player.play(movement())) == [.likeLearned("lift")])
        // Another one is not, although a part of what is shown may be.
        for _ in 0..<3 { _ = player.play(swing) }
        #expect(player.template.map { "\($0.name)" } == "raise")
        _ = player.play(Rest(1))
        #expect(player.play(movement()).first == .tested(1, .other("lift")))
    }

    @Test func saysWhatElseAnExampleIs() throws {
        var plan = try plan()
        plan.settings.gestures.shake.common.isEnabled = true
        let player = Player(plan)
        let shake = Shake(axis: Vector3(1, 0, 0), amplitude: 20, frequency: 5, cycles: 6)
        #expect(player.play(shake) == [.rehearsed([.alsoRecognised([.shake])])])
        player.range = 12
        guard case .accepted(1, _, _, _, let findings)? = player.play(shake).first else {
            Issue.record("no example")
            return
        }
        #expect(findings == [.clipped, .alsoRecognised([.shake])])
        guard case .rehearsed(let others)? = Player(plan, flags: []).play(shake).first else {
            Issue.record("no rehearsal")
            return
        }
        #expect(others.contains(.noRotationRate))
    }

    /// How wide a movement is that is just not recognised.
    private func nearlyTooWide(_ player: Player) throws -> Double {
        let template = try #require(player.template)
        let wides = stride(from: 1.5, to: 4, by: 0.1)
        return try #require(
            wides.first { wide in
                var reader = ExampleReader(try plan().settings, known: [template])
                for sample in samples(movement(wide: wide)) { reader.add(sample) }
                return reader.take().learned.isEmpty
            })
    }

    @Test func saysWhyATrialFailed() throws {
        let player = player(try plan(), 3)
        try #require(player.template != nil)
        _ = player.play(Rest(1))
        // Too little to be meant as the gesture.
        #expect(try refusal(player.play(movement(wide: 0.19))) == [.tooWeak])
        let steps = player.play(movement(wide: try nearlyTooWide(player)))
        guard case .tested(1, .almost(let miss))? = steps.first else {
            Issue.record("\(steps)")
            return
        }
        #expect(
            miss.lack == .stronger && miss.score.score >= miss.threshold && miss.event.confidence ?? 1 <= 0.5, "\(miss)"
        )
        #expect(player.play(swing).first == .tested(2, .missed))
        let last = player.play(movement())
        #expect(last.count == 2 && last.last == .failed(.unreliable(recognised: 1)))
    }

    @Test func learnsMoreWithTheExamplesOfAnotherDay() throws {
        let first = player(try plan(), 3)
        let lift = try #require(first.template)
        var plan = try plan()
        plan.earlier = lift.gesture.examples
        plan.examples = 2...2
        let player = Player(plan)
        _ = player.play(movement(wide: 1.3, slow: 0.9))
        // Unlike the others, but not another movement.
        #expect(player.play(movement(wide: 1.4, slow: 0.8)).count == 1)
        #expect(try refusal(player.play(swing)) == [.unlikeOthers])
        #expect(player.play(movement(wide: 1.35, slow: 0.85)).last == .learned(5, []))
        let examples = try #require(player.template).gesture.examples
        #expect(Array(examples[..<3]) == lift.gesture.examples)
    }

    @Test func keepsEightExamplesThatDiffer() throws {
        let shown = [1, 1.3, 1.001, 0.7, 1.5, 0.8, 1.15, 0.9, 1.7, 0.6].map { wide in
            ShownExample(movement: ShownMovements(frames(movement(wide: wide))).movements[0])
        }
        let kept = Lesson.kept(of: shown)
        #expect(kept.count == 8)
        let isKept = shown.map { one in kept.contains { $0.movement == one.movement } }
        // The first and the third are nearly the same: one of them stays.
        #expect(isKept[0] != isKept[2] && isKept[8] && isKept[9], "\(isKept)")
        #expect(Lesson.kept(of: Array(shown[..<8])).count == 8)
    }

    /// What happened during a gap is not known, and a movement that does not end is no example.
    @Test func waitsForRest() throws {
        let player = player(try plan(), 1)
        #expect(player.play(movement(), rest: 0.3).isEmpty)
        player.time += 1
        #expect(player.play(Rest(1)).isEmpty)
        #expect(player.prompt == .show(2, of: 3))
        #expect(player.play(Walk(duration: 12)).first == .restless)
    }
}
