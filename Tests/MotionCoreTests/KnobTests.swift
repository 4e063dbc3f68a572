import MotionCore
import Testing
import VirtualIMU

/// Turns of a knob: found whatever the mounting, the angle and the speed, and nothing else is taken for one.
@Suite struct KnobTests {
    private static let degree = radiansPerDegree
    private static let z = Vector3(0, 0, 1)

    /// Repeatable random numbers.
    private struct Random {
        var state: UInt64

        mutating func next(_ range: ClosedRange<Double>) -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound
                + (range.upperBound - range.lowerBound) * Double(state >> 11) / Double(UInt64(1) << 53)
        }

        mutating func pose() -> Quaternion {
            Quaternion(next(-1...1), next(-1...1), next(-1...1), next(-1...1)).normalized
        }
    }

    /// A turn about the vertical of a body in a pose.
    private static func turn(_ degrees: Double, within seconds: Double, pose: Quaternion = .identity) -> Turn {
        Turn(axis: pose.unrotate(z), angle: degrees * degree, duration: seconds)
    }

    /// The poses of a board whose axes are all level or vertical.
    private static var squarePoses: [Quaternion] {
        let right = 0.5 * Double.pi
        let ups = [
            Quaternion.identity, Quaternion(angle: right, axis: Vector3(1, 0, 0)),
            Quaternion(angle: -right, axis: Vector3(1, 0, 0)), Quaternion(angle: right, axis: Vector3(0, 1, 0)),
            Quaternion(angle: -right, axis: Vector3(0, 1, 0)), Quaternion(angle: .pi, axis: Vector3(1, 0, 0)),
        ]
        return ups.flatMap { up in (0..<4).map { Quaternion(angle: Double($0) * right, axis: z) * up } }
    }

    private static func feed(
        _ settings: MotionSettings = MotionSettings(), pose: Quaternion = .identity, then movement: any Trajectory
    ) -> MovementFeed {
        var feed = MovementFeed(settings, rate: 100, pose: pose)
        feed.move(Rest(2), movement, Rest(1))
        return feed
    }

    @Test func reportsEveryPhaseAndField() throws {
        let feed = Self.feed(then: Self.turn(90, within: 1))
        let events = feed.events(of: .turn)
        #expect(events.first?.phase == .began && events.last?.phase == .ended)
        #expect(events.dropFirst().dropLast().allSatisfy { $0.phase == .changed })
        #expect((4...9).contains(events.count - 2))
        #expect(events.allSatisfy { $0.axis == .z && $0.direction == .left })
        let began = try #require(events.first)
        let ended = try #require(events.last)
        let (angle, rate) = (began.angle ?? 0, began.rate ?? 0)
        #expect(angle >= 8 * Self.degree && angle < 12 * Self.degree)
        #expect(abs(began.timestamp.seconds - (began.duration ?? 0) - 7) < 0.1)
        #expect(rate > 60 * Self.degree && rate < 120 * Self.degree)
        #expect(abs((ended.angle ?? 0) - 90 * Self.degree) < 0.5 * Self.degree)
        #expect(abs((ended.duration ?? 0) - 1) < 0.1)
        #expect(abs((ended.rate ?? 0) - 1.875 * 90 * Self.degree) < 3 * Self.degree)
        #expect(ended.timestamp.seconds < 8.3)
        for (one, next) in zip(events, events.dropFirst()) where next.phase == .changed {
            #expect((next.angle ?? 0) - (one.angle ?? 0) >= 10 * Self.degree - 1e-9)
            #expect(next.timestamp.seconds - one.timestamp.seconds >= 0.1 - 1e-6)
        }
    }

    /// Requirement: .98 of turns from 10° to 360° within 0.2 to 2 s are found, in every mounting.
    @Test func findsTurnsInEveryMounting() {
        var random = Random(state: 1)
        let poses = Self.squarePoses + (0..<36).map { _ in random.pose() }
        var (made, found) = (0, 0)
        for pose in poses {
            var degrees = 0.0
            var seconds = 0.0
            // The gyroscope does not saturate.
            repeat {
                degrees = random.next(10...360)
                seconds = random.next(0.2...2)
            } while 1.875 * degrees / seconds > 2000
            for sign in [1.0, -1] {
                let feed = Self.feed(pose: pose, then: Self.turn(sign * degrees, within: seconds, pose: pose))
                let events = feed.events(of: .turn).filter { $0.phase != .changed }
                made += 1
                guard events.map(\.phase) == [.began, .ended], let axis = events[1].axis else { continue }
                found += 1
                let up = pose.unrotate(Self.z)
                let component = axis == .x ? up.x : axis == .y ? up.y : up.z
                #expect(abs(component) > 0.57, "the nearest axis")
                let expected = sign * degrees * (component < 0 ? -1 : 1)
                #expect(abs((events[1].angle ?? 0) * degreesPerRadian - expected) < 3)
                #expect(events[1].direction == (expected > 0 ? .left : .right))
                #expect((events[1].rate ?? 0) * expected > 0)
            }
        }
        #expect(made == 120 && Double(found) >= 0.98 * Double(made), "\(found) of \(made)")
    }

    @Test(arguments: [(10.0, 0.2), (10, 2), (-20, 0.2), (180, 0.2), (360, 2), (-360, 0.5)])
    func findsTheExtremes(degrees: Double, seconds: Double) {
        for rate in [25.0, 50, 200, 1000] {
            var feed = MovementFeed(rate: rate)
            feed.move(Rest(2), Self.turn(degrees, within: seconds), Rest(1))
            let events = feed.events(of: .turn).filter { $0.phase != .changed }
            #expect(events.map(\.phase) == [.began, .ended], "at \(rate) Hz")
            guard rate > 25 || seconds > 0.3 else { continue }
            #expect(abs((events.last?.angle ?? 0) * degreesPerRadian - degrees) < 3, "at \(rate) Hz")
        }
    }

    @Test func findsTurnsOnNoisyChip() {
        var chip = Imperfections.typical
        chip.gyroscopeMatrix = .identity
        let movement = MotionSequence([
            Rest(15), Self.turn(90, within: 0.4), Rest(1), Self.turn(-12, within: 1.5), Rest(0.6),
            Self.turn(-200, within: 1), Rest(2),
        ])
        let rig = CalibrationRig(Posed(.identity, movement), chip)
        var pipeline = MotionPipeline()
        var ended: [GestureEvent] = []
        rig.run(movement.duration) { sample in
            pipeline.process(sample) { event in
                if event.gesture == .turn, event.phase == .ended { ended.append(event) }
            }
        }
        #expect(ended.count == 3)
        for (event, degrees) in zip(ended, [90.0, -12, -200]) {
            #expect(abs((event.angle ?? 0) * degreesPerRadian - degrees) < 3)
        }
    }

    /// A turn may take as long as the settings say, however slowly it begins.
    @Test func findsSlowTurns() {
        var settings = MotionSettings()
        settings.gestures.turn.knobDuration = 20
        for (degrees, seconds) in [(30.0, 6.0), (360, 18)] {
            let events = Self.feed(settings, then: Self.turn(degrees, within: seconds)).events(of: .turn)
            #expect(events.filter { $0.phase == .began }.count == 1 && events.last?.phase == .ended)
            #expect(abs((events.last?.angle ?? 0) * degreesPerRadian - degrees) < 3, "\(degrees)° in \(seconds) s")
            #expect((events.last?.duration ?? 0) > 0.5 * seconds)
        }
    }

    /// Somebody overshoots and corrects: the angle follows, and it is one turn.
    @Test func goesBackWithinATurn() throws {
        let feed = Self.feed(then: MotionSequence([Self.turn(90, within: 0.7), Self.turn(-30, within: 0.5)]))
        let events = feed.events(of: .turn)
        #expect(events.filter { $0.phase == .began }.count == 1 && events.last?.phase == .ended)
        #expect(abs((events.last?.angle ?? 0) - 60 * Self.degree) < 1 * Self.degree)
        let angles = events.map { $0.angle ?? 0 }
        #expect((angles.max() ?? 0) > 80 * Self.degree)
        #expect(events.contains { $0.phase == .changed && ($0.rate ?? 0) < 0 })
    }

    /// A worn or carried board moves like this.
    @Test func ignoresOtherMovement() {
        let x = Vector3(1, 0, 0)
        let shake = Shake(axis: x, amplitude: 20, frequency: 4, cycles: 6)
        let wrist = Oscillation(axis: Self.z, amplitude: 0.5, frequency: 4, duration: 1.5)
        let movements: [(String, any Trajectory)] = [
            ("a twist of the wrist", Turn(axis: x, angle: 1, duration: 0.6)),
            ("a turn about a leaning axis", Turn(axis: Vector3(0.5, 0, 1), angle: 1.2, duration: 0.8)),
            (
                "the arm of somebody who walks",
                Oscillation(axis: Vector3(0, 1, 0), amplitude: 0.6, frequency: 0.95, duration: 10)
            ),
            ("a slow swing", Oscillation(axis: Vector3(0.3, 0, 1), amplitude: 0.6, frequency: 0.7, duration: 10)),
            ("a jerk", MotionSequence([Self.turn(40, within: 0.15), Self.turn(-40, within: 0.15)])),
            ("a shake", Superposed(shake, wrist)),
            (
                "a push along the table",
                Superposed(Slide(axis: x, distance: 0.3, duration: 0.5), Self.turn(20, within: 0.5))
            ),
            ("a slow drift", Self.turn(90, within: 25)),
        ]
        for (name, movement) in movements {
            #expect(Self.feed(then: movement).events(of: .turn).isEmpty, "\(name)")
        }
    }

    /// It must have been at rest: a hand that turns to and fro does not turn a knob.
    @Test func needsRestBefore() {
        var feed = MovementFeed()
        feed.move(Rest(2), Turn(axis: Vector3(1, 0, 0), angle: 0.5, duration: 0.5))
        feed.move(Turn(axis: Vector3(1, 0, 0), angle: -0.5, duration: 0.5), Rest(0.1))
        feed.misses = []
        feed.move(Self.turn(90, within: 0.8), Rest(0.4))
        #expect(feed.events(of: .turn).isEmpty)
        let early = feed.misses.first { $0.gesture == .turn }
        #expect(early?.reason == .noQuietBefore && early?.unit == .seconds)
        #expect((early?.value ?? 0) < 0.3 && early?.limit == 0.3)
        feed.move(Self.turn(90, within: 0.8), Rest(1))
        #expect(feed.events(of: .turn).last?.phase == .ended)

        feed = MovementFeed()
        feed.rest(2)
        let trembling = Oscillation(axis: Vector3(1, 0, 0), amplitude: 0.02, frequency: 1, duration: 6)
        feed.move(Superposed(trembling, MotionSequence([Rest(4.1), Self.turn(90, within: 0.8)])), Rest(0.5))
        #expect(feed.events(of: .turn).isEmpty)
        let restless = feed.misses.last { $0.gesture == .turn }
        #expect(restless?.reason == .noQuietBefore && restless?.unit == .rate)
        #expect((restless?.value ?? 0) > 5 * Self.degree && (restless?.limit ?? 0) < 2 * Self.degree)
    }

    @Test func cancelsWhatTiltsOrGoesOn() {
        let tilted = Superposed(
            Self.turn(90, within: 1.2),
            MotionSequence([Rest(0.5), Turn(axis: Vector3(1, 0, 0), angle: 0.6, duration: 0.6)]))
        var events = Self.feed(then: tilted).events(of: .turn).filter { $0.phase != .changed }
        #expect(events.map(\.phase) == [.began, .cancelled] && events.last?.reason == .tilted)

        events = Self.feed(then: Self.turn(720, within: 6)).events(of: .turn).filter { $0.phase != .changed }
        #expect(events.map(\.phase) == [.began, .cancelled] && events.last?.reason == .tooLong)
        let duration = events.last?.duration ?? 0
        #expect(abs(duration - 2) < 0.05)
        #expect(events.allSatisfy { ($0.angle ?? 0) > 0 })

        var feed = MovementFeed()
        feed.rest(2)
        feed.move(Self.turn(180, within: 1.5), seconds: 0.8)
        feed.hasGyroscope = false
        feed.rest(0.5)
        #expect(feed.events(of: .turn).last?.reason == .interrupted)
        feed.hasGyroscope = true
        feed.events = []
        feed.move(Rest(1), Self.turn(90, within: 1), Rest(1))
        #expect(feed.events(of: .turn).last?.phase == .ended)
    }

    @Test func explainsNearMisses() throws {
        func miss(_ movement: any Trajectory, _ line: Int = #line) throws -> NearMiss {
            let feed = Self.feed(then: movement)
            #expect(feed.events(of: .turn).isEmpty, "line \(line)")
            return try #require(feed.misses.first { $0.gesture == .turn }, "line \(line)")
        }
        let small = try miss(Self.turn(6, within: 0.5))
        #expect(small.reason == .tooSmallAngle)
        #expect(abs(small.value - 6 * Self.degree) < 0.3 * Self.degree && abs(small.limit - 8 * Self.degree) < 1e-9)
        let tilted = try miss(
            Superposed(Self.turn(60, within: 1), Turn(axis: Vector3(1, 0, 0), angle: 20 * Self.degree, duration: 1)))
        #expect(tilted.reason == .tilted && abs(tilted.value - 20 * Self.degree) < 2 * Self.degree)
        #expect(abs(tilted.limit - 12 * Self.degree) < 1e-9)
        let leaning = try miss(Turn(axis: Vector3(0.4, 0, 1), angle: 20 * Self.degree, duration: 0.6))
        #expect(leaning.reason == .notVertical && leaning.value > 18 * Self.degree && leaning.value < 26 * Self.degree)
        let slow = try miss(Self.turn(12, within: 5))
        #expect(slow.reason == .tooSlow && slow.value > 2 && slow.limit == 2)
        let quick = try miss(MotionSequence([Self.turn(20, within: 0.1), Self.turn(-20, within: 0.1)]))
        #expect(quick.reason == .tooShort && quick.value < 0.25)
        let pushed = try miss(
            Superposed(Slide(axis: Vector3(1, 0, 0), distance: 0.3, duration: 0.5), Self.turn(20, within: 0.5)))
        #expect(pushed.reason == .setInMotion && pushed.value > pushed.limit)
    }

    @Test func explainingChangesNothing() {
        var random = Random(state: 7)
        var plain = MovementFeed(rate: 50)
        var explained = MovementFeed(rate: 50)
        plain.pipeline.explainsNearMisses = false
        for _ in 0..<60 {
            let movement = Self.anything(&random)
            plain.move(movement)
            explained.move(movement)
        }
        #expect(plain.events == explained.events && !plain.events(of: .turn).isEmpty)
    }

    /// Every beginning has exactly one end, whatever happens.
    @Test func everyBeginningHasOneEnd() {
        var random = Random(state: 3)
        var feed = MovementFeed(rate: 50)
        for _ in 0..<200 {
            feed.move(Self.anything(&random))
            if random.next(0...1) < 0.1 { feed.time += 1 }
            if random.next(0...1) < 0.1 {
                var settings = MotionSettings()
                settings.gestures.turn.mode = random.next(0...1) < 0.5 ? .knob : .free
                settings.gestures.turn.knobRest = random.next(0.1...0.5)
                settings.gestures.turn.common.sensitivity = Int(random.next(1...10))
                settings.gestures.turn.common.isEnabled = random.next(0...1) < 0.8
                var new: [GestureEvent] = []
                feed.pipeline.apply(settings) { new.append($0) }
                feed.events += new
            }
        }
        feed.rest(30)
        var isOpen = false
        for event in feed.events(of: .turn) {
            #expect((event.phase == .began) == !isOpen)
            isOpen = event.phase == .began || event.phase == .changed
        }
        #expect(!isOpen)
        #expect(feed.events(of: .turn).filter { $0.phase == .began }.count > 20)
    }

    private static func anything(_ random: inout Random) -> any Trajectory {
        let seconds = random.next(0.1...1.5)
        switch Int(random.next(0...5.99)) {
        case 0, 1: return MotionSequence([Rest(seconds)])
        case 2, 3: return turn(random.next(-200...200), within: max(0.2, seconds))
        case 4:
            let axis = Vector3(random.next(-1...1), random.next(-1...1), random.next(-1...1))
            return MotionSequence([
                Turn(axis: axis, angle: 0.5, duration: seconds), Turn(axis: axis, angle: -0.5, duration: seconds),
            ])
        default: return Superposed(turn(60, within: seconds), Shake(axis: z, amplitude: 8, frequency: 4, cycles: 2))
        }
    }

    @Test func appliesSettingsDuringTurn() {
        var settings = MotionSettings()
        settings.gestures.turn.changeAngle = 90 * Self.degree
        var feed = MovementFeed()
        feed.rest(2)
        feed.move(Self.turn(90, within: 1), seconds: 0.6)
        #expect(feed.events(of: .turn).first?.phase == .began)
        // The turn in progress ends as that of a knob; what follows is free.
        settings.gestures.turn.mode = .free
        var cancelled: [GestureEvent] = []
        feed.pipeline.apply(settings) { cancelled.append($0) }
        #expect(cancelled.isEmpty)
        feed.rest(1)
        #expect(feed.events(of: .turn).last?.phase == .ended)
        feed.events = []
        feed.move(Turn(axis: Vector3(1, 0, 0), angle: 1, duration: 0.6), Rest(1))
        #expect(feed.events(of: .turn).map(\.axis) == [.x, .x])
        settings.gestures.turn.mode = .knob
        feed.pipeline.apply(settings) { cancelled.append($0) }
        feed.events = []
        feed.move(Turn(axis: Vector3(1, 0, 0), angle: -1, duration: 0.6), Rest(1))
        #expect(feed.events(of: .turn).isEmpty)

        for (angle, duration, rest, found) in [(30.0, 2.0, 0.3, 0), (8, 2, 0.3, 1), (8, 0.5, 0.3, 0), (8, 2, 3, 0)] {
            settings = MotionSettings()
            settings.gestures.turn.knobAngle = angle * Self.degree
            settings.gestures.turn.knobDuration = duration
            settings.gestures.turn.knobRest = rest
            let events = Self.feed(settings, then: Self.turn(25, within: 1)).events(of: .turn)
            #expect(events.filter { $0.phase == .ended }.count == found, "\(angle)°, \(duration) s, \(rest) s")
        }
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore(stride(from: 4, through: 16, by: 1), "°") { degrees, sensitivity in
            var settings = MotionSettings()
            settings.gestures.turn.common.sensitivity = sensitivity
            let isCaught = Self.feed(settings, then: Self.turn(degrees, within: 0.7)).events(of: .turn)
                .contains { $0.phase == .ended }
            #expect(sensitivity != 5 || isCaught == (degrees > 8), "\(degrees)°")
            return isCaught
        }
    }
}
