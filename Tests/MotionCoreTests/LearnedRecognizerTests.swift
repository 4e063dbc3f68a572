import Testing
import VirtualIMU

@testable import MotionCore

/// Requirement: a movement that was shown is recognised once, when it is over, and what is not like it is not.
@Suite struct LearnedRecognizerTests {
    /// A board is raised, turned and put back: `wide` scales the way and `slow` the time.
    private func movement(wide: Double = 1, slow: Double = 1) -> MotionSequence {
        let turn = 1.2 * wide
        return MotionSequence([
            Slide(axis: Vector3(0, 0, 1), distance: 0.25 * wide, duration: 0.35 * slow),
            Turn(axis: Vector3(1, 0, 0), angle: turn, duration: 0.4 * slow),
            Turn(axis: Vector3(1, 0, 0), angle: -turn, duration: 0.4 * slow),
        ])
    }

    /// The frames of a movement between two rests.
    private func recorded(_ trajectory: any Trajectory, rate: Double = 200) -> [SampledFrame] {
        var pipeline = MotionPipeline()
        pipeline.recordFrames()
        var frames: [SampledFrame] = []
        forEachSample(Rest(1), trajectory, Rest(1), rate: rate) { sample in
            pipeline.process(sample) { _ in }
            while let frame = pipeline.takeFrame() { frames.append(frame) }
        }
        return frames
    }

    private func forEachSample(_ parts: any Trajectory..., rate: Double, _ body: (MotionSample) -> Void) {
        let all = MotionSequence(parts)
        for index in 0..<Int(all.duration * rate) {
            let motion = all.motion(at: Double(index) / rate, from: .identity)
            body(
                MotionSample(
                    timestamp: Timestamp(seconds: 5 + Double(index) / rate), acceleration: motion.specificForce,
                    rotationRate: motion.rotationRate, flags: .rotationRate))
        }
    }

    private func learned(rate: Double = 200) throws -> LearnedGesture {
        let shown = [(1.0, 1.0), (1.1, 0.95), (0.95, 1.1)].map {
            ShownMovements(recorded(movement(wide: $0, slow: $1), rate: rate))
        }
        let examples = ShownMovements.alike(shown).compactMap { $0 }
        try #require(examples.count == 3)
        return GestureLearner(examples).gesture
    }

    /// The events of trajectories between rests, with the seconds from the start.
    private func events(_ gestures: [LearnedGesture], rate: Double = 200, _ parts: any Trajectory...) -> [(
        GestureEvent, Double
    )] {
        events(of: configured(gestures), rate: rate, parts).filter { $0.0.gesture == .learned }
    }

    /// Those of all gestures.
    private func events(
        of gestures: [LearnedGestureSettings], settings: MotionSettings = MotionSettings(), rate: Double = 200,
        _ parts: [any Trajectory]
    ) -> [(GestureEvent, Double)] {
        var pipeline = MotionPipeline(settings: settings)
        pipeline.apply(gestures.isEmpty ? nil : LearnedGestures(gestures))
        var events: [(GestureEvent, Double)] = []
        var all: [any Trajectory] = [Rest(1)]
        for part in parts { all += [part, Rest(1)] }
        forEachSample(MotionSequence(all), rate: rate) { sample in
            pipeline.process(sample) { events.append(($0, sample.timestamp.seconds(since: Timestamp(seconds: 5)))) }
        }
        return events
    }

    private func configured(_ gestures: [LearnedGesture]) -> [LearnedGestureSettings] {
        gestures.enumerated().compactMap { number, gesture in
            GestureName("g\(number)").map { LearnedGestureSettings(name: $0, gesture) }
        }
    }

    @Test(arguments: [50.0, 100, 200, 1000])
    func isRecognisedOnceAtEveryRate(rate: Double) throws {
        let gesture = try learned()
        let found = events([gesture], rate: rate, movement(), movement(wide: 1.05, slow: 1.05))
        try #require(found.count == 2)
        let (event, time) = found[0]
        // The movement ends at 2.15 s.
        #expect((2.15...2.75).contains(time), "\(time)")
        let (confidence, duration) = (try #require(event.confidence), try #require(event.duration))
        #expect(event.name == GestureName("g0") && confidence > 0.8 && abs(duration - 1.15) < 0.25, "\(event)")
        #expect(event.strength ?? 0 > 3)
    }

    @Test(arguments: [0.75, 1.35])
    func isRecognisedAtAnotherTempo(slow: Double) throws {
        #expect(events([try learned()], movement(slow: slow)).count == 1)
    }

    @Test func otherMovementsAreNot() throws {
        let gesture = try learned()
        #expect(
            events(
                [gesture], Shake(axis: Vector3(1, 0, 0), amplitude: 20, frequency: 4, cycles: 5),
                Flick(axis: Vector3(0, 1, 0), amplitude: 15), Tap(axis: Vector3(0, 0, 1), amplitude: 20),
                Turn(axis: Vector3(0, 0, 1), angle: 1.5, duration: 0.6), Walk(duration: 20)
            ).isEmpty)
    }

    /// The near misses of a trajectory between rests, and the number of events.
    private func misses(_ gesture: LearnedGesture, _ part: any Trajectory) -> (misses: [LearnedMiss], events: Int) {
        var pipeline = MotionPipeline()
        pipeline.explainsNearMisses = true
        pipeline.apply(LearnedGestures(gesture))
        var (misses, events) = ([LearnedMiss](), 0)
        forEachSample(Rest(1), part, Rest(1), rate: 200) { sample in
            pipeline.process(sample) { if $0.gesture == .learned { events += 1 } }
            if let miss = pipeline.takeLearnedMiss() { misses.append(miss) }
        }
        return (misses, events)
    }

    @Test func aNearMissSaysWhatItLacked() throws {
        let gesture = try learned()
        var lacks: Set<LearnedMiss.Lack> = []
        for (wide, slow) in [0.3, 0.4, 0.5, 0.7, 1, 1.8, 2.2, 2.6, 3].flatMap({ wide in
            [0.5, 0.7, 1, 1.5, 2, 2.5].map { (wide, $0) }
        }) {
            let (misses, events) = misses(gesture, movement(wide: wide, slow: slow))
            #expect(misses.count + events <= 1, "\(wide) \(slow) \(misses)")
            #expect(wide != 1 || slow != 1 || events == 1)
            guard let miss = misses.first else { continue }
            lacks.insert(miss.lack)
            #expect(miss.threshold == Double(Float(gesture.threshold)) && miss.score.score >= miss.threshold)
            #expect(miss.event.confidence ?? 1 <= 0.5 && (0..<3).contains(miss.score.example))
            switch miss.lack {
            case .weaker, .stronger: #expect((miss.lack == .weaker) == (wide / slow < 1), "\(wide) \(slow)")
            case .quicker: #expect(slow < 1.5)
            case .slower: #expect(slow > 1)
            case .shape, .movementBefore, .movementAfter: break
            }
        }
        #expect(lacks.isSuperset(of: [.weaker, .stronger]) && lacks.count > 2, "\(lacks)")
        #expect(misses(gesture, Rest(2)) == ([], 0))
        #expect(LearnedMiss.Lack.weaker.reason == .tooWeak && LearnedMiss.Lack.slower.reason == .tooSlow)
    }

    /// Whatever the threshold, what comes just before is the reason if the rest is as it was shown.
    @Test func aNearMissNamesTheMovementAroundIt() throws {
        var gesture = try learned()
        var lacks: Set<LearnedMiss.Lack> = []
        let turn = Turn(axis: Vector3(0, 0, 1), angle: 0.8, duration: 0.5)
        let shake = Shake(axis: Vector3(0, 1, 0), amplitude: 20, frequency: 5, cycles: 3)
        for threshold in [0.15, 0.2, 0.25, 0.3, 0.35, 0.4] {
            gesture.threshold = threshold
            for parts in [[turn, movement()], [movement(), shake]] as [[any Trajectory]] {
                lacks.formUnion(misses(gesture, MotionSequence(parts)).misses.map(\.lack))
            }
        }
        #expect(lacks.isSuperset(of: [.movementBefore, .movementAfter]), "\(lacks)")
    }

    @Test func aWeakOneIsNot() throws {
        // A third as wide: too weak, although the shape is the same.
        #expect(events([try learned()], movement(wide: 0.2)).isEmpty)
    }

    /// Its beginning is another gesture, which must wait until the longer one is over.
    @Test func theLongerGestureWins() throws {
        let whole = try learned()
        let part = Slide(axis: Vector3(0, 0, 1), distance: 0.25, duration: 0.35)
        let shown = [1.0, 1.05, 1.1].map {
            ShownMovements(recorded(Slide(axis: Vector3(0, 0, 1), distance: 0.25 * $0, duration: 0.35)))
        }
        let short = GestureLearner(ShownMovements.alike(shown).compactMap { $0 }).gesture
        let found = events([short, whole], movement(), part).map(\.0.name)
        #expect(found == [GestureName("g1"), GestureName("g0")])
    }

    @Test func everydayMovementLowersTheThreshold() throws {
        let gesture = try learned()
        var learner = GestureLearner(gesture.examples)
        let near = recorded(movement(wide: 0.8, slow: 1.2)).map(\.frame)
        let before = learner.gesture.threshold
        let (isNearer, isNear) = (learner.avoid([MotionFrame](repeating: .zero, count: 100)), learner.avoid(near))
        #expect(!isNearer && isNear)
        let (lowered, nearest) = (learner.gesture, learner.nearest)
        #expect(lowered.threshold < before && nearest > lowered.threshold)
        #expect(events([lowered], movement(wide: 0.8, slow: 1.2)).isEmpty)
        #expect(events([lowered], movement()).count == 1)
    }

    /// A flick that is shown as a part of a gesture: it waits while the gesture may come, and is dropped if it does.
    @Test func builtInGesturesWithinItAreHeldBack() throws {
        let flick = Flick(axis: Vector3(0, 1, 0), amplitude: 15)
        func whole(_ slow: Double = 1) -> MotionSequence {
            MotionSequence([
                Slide(axis: Vector3(0, 1, 0), distance: 0.084, duration: 0.18), Rest(0.12 * slow),
                Turn(axis: Vector3(1, 0, 0), angle: 1.2, duration: 0.5 * slow),
            ])
        }
        let shown = [1.0, 0.95, 1.1].map { ShownMovements(recorded(whole($0))) }
        var settings = try #require(
            configured([GestureLearner(ShownMovements.alike(shown).compactMap { $0 }).gesture]).first)
        let alone = events(of: [], [flick, whole()]).filter { $0.0.gesture == .flick }
        try #require(alone.count == 2)
        let held = events(of: [settings], [flick, whole()])
        #expect(held.filter { $0.0.gesture == .learned }.count == 1)
        let flicks = held.filter { $0.0.gesture == .flick }
        // The first one is not the beginning of the gesture: it comes later by 0.4 s and the gesture's length at most.
        try #require(flicks.count == 1)
        #expect(flicks[0].1 < alone[0].1 + 0.4 + 1.2)
        settings.held = []
        let both = events(of: [settings], [flick, whole()])
        #expect(both.filter { $0.0.gesture == .flick }.map(\.1) == alone.map(\.1))
        #expect(both.filter { $0.0.gesture == .learned }.count == 1)
    }

    @Test func builtInGesturesWithoutItAreNotDelayed() throws {
        let parts: [any Trajectory] = [
            Flick(axis: Vector3(0, 1, 0), amplitude: 15), Tap(axis: Vector3(0, 0, 1), amplitude: 20),
            Turn(axis: Vector3(0, 0, 1), angle: 1.5, duration: 0.6),
        ]
        let alone = events(of: [], parts)
        let beside = events(of: configured([try learned()]), parts)
        #expect(alone.count > 3 && alone.map(\.0) == beside.map(\.0))
    }

    /// A turn has phases: if it waits, it is reported whole or not at all.
    @Test func aHeldTurnIsWholeOrNothing() throws {
        let turn = Turn(axis: Vector3(0, 0, 1), angle: 1.5, duration: 0.6)
        let back = Turn(axis: Vector3(0, 0, 1), angle: -1.5, duration: 0.6)
        let whole = MotionSequence([turn, Rest(0.15), Turn(axis: Vector3(1, 0, 0), angle: 1, duration: 0.4)])
        let shown = [1.0, 1.0].map { _ in ShownMovements(recorded(whole)) }
        let settings = configured([GestureLearner(ShownMovements.alike(shown).compactMap { $0 }).gesture])
        for parts in [[turn, back, turn], [whole, turn], [turn, whole]] as [[any Trajectory]] {
            var open = false
            for (event, _) in events(of: settings, parts) where event.gesture == .turn {
                switch event.phase {
                case .began:
                    #expect(!open)
                    open = true
                case .changed: #expect(open)
                default:
                    #expect(open)
                    open = false
                }
            }
            #expect(!open)
        }
    }

    @Test func settingsApplyToIt() throws {
        var settings = try #require(configured([try learned()]).first)
        settings.common.cooldown = 10
        #expect(events(of: [settings], [movement(), movement()]).filter { $0.0.gesture == .learned }.count == 1)
        settings.common.cooldown = 0
        settings.common.gate.sides = BodySides(.minusZ)
        #expect(events(of: [settings], [movement()]).filter { $0.0.gesture == .learned }.isEmpty)
        settings.common.gate = GestureGate()
        settings.common.sensitivity = 1
        let strict = events(of: [settings], [movement()]).compactMap(\.0.confidence)
        settings.common.sensitivity = 10
        let lenient = events(of: [settings], [movement()]).compactMap(\.0.confidence)
        #expect(lenient.count == 1 && strict.first ?? 0 < lenient[0])
    }

    @Test func aGapInterruptsIt() throws {
        let gesture = try learned()
        var pipeline = MotionPipeline()
        pipeline.apply(LearnedGestures(gesture))
        var found = 0
        forEachSample(Rest(1), movement(), Rest(1), rate: 200) { sample in
            let time = sample.timestamp.seconds(since: Timestamp(seconds: 5))
            guard !(1.4...2.0).contains(time) else { return }
            pipeline.process(sample) { if $0.gesture == .learned { found += 1 } }
        }
        #expect(found == 0)
    }

    /// After a violent movement the attitude may be off, so that a board at rest seems to accelerate.
    @Test func aSteadyErrorEndsAMovement() {
        var history = FrameHistory()
        var ended = 0
        for index in 0..<100 {
            let isMoving = (20..<40).contains(index)
            let value: Float = isMoving ? 1 + 0.3 * Float(index % 3) : index < 20 ? 0 : 0.4
            let frame = MotionFrame(values: SIMD8(value, 0, 0, 0, 0, 0, 0, 0))
            let ends = history.add(SampledFrame(frame, isSteady: !isMoving))
            if let range = ends {
                #expect(range.lowerBound >= 18 && range.upperBound <= 41, "\(range)")
                ended += 1
            }
        }
        let last = history.energy(99)
        #expect(ended == 1 && last == 0)
    }
}
