package import MotionCore

/// Guides somebody through showing a gesture: a rehearsal, examples between rests, and a live test of what was learned.
///
/// It has no clock and does no I/O: it gets the samples of the sensor, and says after each what has happened, and what to do
/// next. A caller that reads a sensor shows both.
package final class LearningSession {
    /// What to learn.
    package struct Plan: Sendable {
        package var name: GestureName
        package var settings = MotionSettings()
        package var calibration = ChipCalibration()
        /// The fewest and the most examples to show. More than the fewest are only asked for if these differ.
        package var examples = 3...5
        /// Examples of another day, which are known already.
        package var earlier: [[MotionFrame]] = []
        /// The gestures that are learned already.
        package var others: [GestureTemplate] = []
        /// Movement that the gesture must not be.
        package var avoided = EverydayMovement()
        /// Seconds for which movement that it must not be is taken from the sensor, before the examples.
        package var background = 0.0

        /// Adds examples to those of a known gesture, and asks for `times` of them, or else for the usual number.
        package init(name: GestureName, addingTo known: GestureTemplate? = nil, times: Int? = nil) {
            self.name = name
            if let known {
                earlier = known.gesture.examples
                examples = 2...2
            }
            if let times { examples = times...times }
        }
    }

    /// What to do now.
    package enum Prompt: Equatable, Sendable {
        /// To do what one usually does, for so many seconds more.
        case wear(left: Double)
        /// To rest, of which this share is done.
        case rest(Double)
        /// To show the gesture for the first time, as an example of so many, or as a trial of so many.
        case rehearse
        case show(Int, of: Int)
        case test(Int, of: Int)
        /// To go on and then rest.
        case moving
        /// To wait: what was shown is compared with everyday movement, for seconds.
        case wait
        case over
    }

    /// What has happened.
    package enum Step: Equatable, Sendable {
        /// The movement of the background is taken.
        case worn
        /// The rehearsal, and what would be wrong with it.
        case rehearsed([ExampleFinding])
        /// An example that counts, its distance from the nearest other one, and how much moved in each frame.
        case accepted(Int, seconds: Double, distance: Double, energies: [Double], [ExampleFinding])
        /// One that does not, and why.
        case refused([ExampleFinding])
        /// The two examples so far differ: only the second counts.
        case startedAgain
        /// It does not come to rest.
        case restless
        /// The gesture is learned, from so many examples.
        case learned(Int, [Lesson.Remark])
        case tested(Int, Trial)
        /// All trials are over. `isReliable`: whether the examples are so alike that most repetitions are recognised.
        case done(recognised: Int, isReliable: Bool)
        /// Nothing was learned.
        case failed(Failure)
    }

    /// What came of a trial.
    package enum Trial: Equatable, Sendable {
        case recognised(confidence: Double)
        /// It was another gesture.
        case other(String)
        case almost(LearnedMiss)
        case missed
    }

    /// Why nothing was learned.
    package enum Failure: Equatable, Sendable {
        /// The median distance between the examples, and the most that it may be.
        case tooDifferent(Double, limit: Double)
        /// The last of many refusals in a row.
        case refusals(Int, [ExampleFinding])
        /// Too few trials were recognised.
        case unreliable(recognised: Int)
    }

    /// The trials, and how many of them must be recognised.
    package static let trials = 3
    private static let fewestRecognised = 2
    /// Refusals in a row after which nothing will come of it.
    private static let mostRefusals = 6
    /// Seconds of rest before and after a movement, and of a movement that does not end.
    private static let pause = 1.0
    private static let endless = 6.0
    /// Seconds without a sample after which a movement is not complete.
    private static let gap = 0.25

    private enum Phase: Equatable {
        case wearing, rehearsing, showing, learning, testing, over
    }

    private let plan: Plan
    private var reader: ExampleReader
    private var phase: Phase
    private var avoided: EverydayMovement
    private let earlier: [ShownExample]
    private var examples: [ShownExample] = []
    /// The examples wanted.
    private var wanted: Int
    private var refusals = 0
    private var tested = 0
    private var recognised = 0
    /// The loudness of the weakest example.
    private var weakest = 0.0
    private var isReliable = true
    private var first: Timestamp?
    private var last: Timestamp?
    /// Whether it has rested, so that a movement may begin.
    private var isReady = false
    private var isRestless = false
    /// What has also happened.
    private var next: Step?

    /// The gesture, after it was learned.
    package private(set) var template: GestureTemplate?

    package init(_ plan: Plan) {
        self.plan = plan
        reader = ExampleReader(
            plan.settings, calibration: plan.calibration, known: plan.others, keepsFrames: plan.background > 0)
        phase = plan.background > 0 ? .wearing : .rehearsing
        avoided = plan.avoided
        earlier = plan.earlier.map { ShownExample(movement: $0) }
        wanted = plan.examples.lowerBound
    }

    /// What to do now.
    package var prompt: Prompt {
        switch phase {
        case .wearing: return .wear(left: max(0, plan.background - elapsed))
        case .learning: return .wait
        case .over: return .over
        case .rehearsing, .showing, .testing: break
        }
        if reader.isMoving { return .moving }
        if !isReady || reader.hasMoved { return .rest(min(1, reader.seconds / LearningSession.pause)) }
        switch phase {
        case .testing: return .test(tested + 1, of: LearningSession.trials)
        case .showing: return .show(examples.count + 1, of: wanted)
        default: return .rehearse
        }
    }

    private var elapsed: Double {
        guard let first, let last else { return 0 }
        return last.seconds(since: first)
    }

    /// Takes a sample along the sensor's axes, not calibrated. Returns what has happened.
    package func take(_ sample: MotionSample) -> Step? {
        if let step = next {
            next = nil
            return step
        }
        if phase == .learning { return learn() }
        guard phase != .over else { return nil }
        if let last, phase != .wearing, sample.timestamp.seconds(since: last) > LearningSession.gap { interrupt() }
        if first == nil { first = sample.timestamp }
        last = sample.timestamp
        reader.add(sample)
        guard phase != .wearing else { return wear() }
        if reader.isMoving, reader.seconds > LearningSession.endless, !isRestless {
            isRestless = true
            return .restless
        }
        guard !reader.isMoving, reader.seconds >= LearningSession.pause else { return nil }
        isRestless = false
        guard isReady else {
            reader.interrupt()
            isReady = true
            return nil
        }
        guard reader.hasMoved else { return nil }
        let shown = reader.take()
        return phase == .testing ? test(shown) : judge(shown)
    }

    /// What follows is not the continuation of what was.
    private func interrupt() {
        reader.interrupt()
        isReady = false
    }

    private func wear() -> Step? {
        guard elapsed >= plan.background else { return nil }
        avoided.add(reader.frames, activity: "what you usually do")
        reader = ExampleReader(plan.settings, calibration: plan.calibration, known: plan.others)
        phase = .rehearsing
        return .worn
    }

    // MARK: Examples

    private func judge(_ new: ShownExample) -> Step? {
        let movements = new.movements.movements
        guard movements.count == 1 else {
            return answer(
                [movements.count > 1 ? .several : new.movements.unsuitable > Lesson.longest ? .tooLong : .tooShort])
        }
        var alone = Lesson([new])
        alone.avoid(avoided)
        let lesson = Lesson(earlier + examples + [new])
        let number = earlier.count + examples.count
        var findings = lesson.findings(of: number)
        if !earlier.isEmpty { findings.removeAll { $0 == .unlikeOthers } }
        let distance = lesson.distance(of: number)
        let isUnlike = distance.isFinite && distance > Lesson.mostDifferent
        if isUnlike, number != 1, !findings.contains(.unlikeOthers) { findings.append(.unlikeOthers) }
        if let activity = alone.hopelesslyNear { findings.append(.likeEveryday(activity)) }
        if !new.gestures.isEmpty { findings.append(.alsoRecognised(new.gestures)) }
        guard phase == .showing, !findings.contains(where: \.isFault) else { return answer(findings) }
        if isUnlike {
            // Which of the two is the odd one is not known.
            examples = [new]
            count([.unlikeOthers])
            return .startedAgain
        }
        refusals = 0
        examples.append(new)
        if examples.count >= wanted, !lesson.isEnough { wanted = min(wanted + 1, plan.examples.upperBound) }
        if examples.count >= wanted { phase = .learning }
        return .accepted(
            examples.count, seconds: lesson.duration(of: number), distance: distance,
            energies: new.movement.map { Double($0.energy) }, findings)
    }

    /// Answers to the rehearsal, or to what does not count.
    private func answer(_ findings: [ExampleFinding]) -> Step {
        guard phase != .rehearsing else {
            phase = .showing
            return .rehearsed(findings)
        }
        count(findings)
        return .refused(findings)
    }

    /// Counts a refusal, and gives up after many.
    private func count(_ findings: [ExampleFinding]) {
        refusals += 1
        if refusals == LearningSession.mostRefusals { end(with: .failed(.refusals(refusals, findings))) }
    }

    private func end(with step: Step) {
        phase = .over
        next = step
    }

    // MARK: Learning and trials

    private func learn() -> Step {
        let kept = Lesson.kept(of: earlier + examples)
        var lesson = Lesson(kept)
        guard !lesson.isRefused else {
            phase = .over
            return .failed(.tooDifferent(lesson.median, limit: Lesson.mostDifferent))
        }
        lesson.avoid(avoided)
        let template = GestureTemplate(name: plan.name, lesson.gesture)
        self.template = template
        weakest = kept.indices.reduce(Double.infinity) { min($0, lesson.loudness(of: $1)) }
        reader.recognise(plan.others + [template])
        (phase, refusals) = (.testing, 0)
        interrupt()
        isReliable = !lesson.remarks.contains(.veryDifferent)
        return .learned(kept.count, lesson.remarks)
    }

    private func test(_ new: ShownExample) -> Step {
        let trial: Trial
        if let found = new.learned.first(where: { $0.name == plan.name }) {
            trial = .recognised(confidence: found.confidence ?? 0)
        } else if let other = new.learned.first {
            trial = .other(other.name.map { "\($0)" } ?? "")
        } else if let almost = new.almost, almost.event.name == plan.name {
            trial = .almost(almost)
        } else if isTooWeak(new.movements) {
            return answer([.tooWeak])
        } else {
            trial = .missed
        }
        refusals = 0
        tested += 1
        if case .recognised = trial { recognised += 1 }
        if tested == LearningSession.trials {
            let isGood = recognised >= LearningSession.fewestRecognised
            end(
                with: isGood
                    ? .done(recognised: recognised, isReliable: isReliable)
                    : .failed(.unreliable(recognised: recognised)))
        }
        return .tested(tested, trial)
    }

    /// Whether nobody would take the movements for the gesture.
    private func isTooWeak(_ shown: ShownMovements) -> Bool {
        shown.movements.allSatisfy { Lesson([ShownExample(movement: $0)]).loudness(of: 0) < 0.5 * weakest }
    }
}
