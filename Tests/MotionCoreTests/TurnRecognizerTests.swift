import MotionCore
import Testing
import VirtualIMU

/// Turns in the mode `free`: begun, followed and ended with an angle right within 3°, whatever the axis, the pose and the speed.
@Suite struct TurnRecognizerTests {
    private static let degree = radiansPerDegree
    private static var free: MotionSettings {
        var settings = MotionSettings()
        settings.gestures.turn.mode = .free
        return settings
    }
    private static let axes: [(Vector3, BodyAxis)] = [
        (Vector3(1, 0, 0), .x), (Vector3(0, 1, 0), .y), (Vector3(0, 0, 1), .z),
    ]

    private static func turn(_ degrees: Double, about axis: Vector3 = Vector3(0, 0, 1), within seconds: Double) -> Turn
    {
        Turn(axis: axis, angle: degrees * degree, duration: seconds)
    }

    @Test func reportsEveryPhaseAndField() throws {
        var feed = MovementFeed(Self.free)
        feed.move(Rest(2), Self.turn(90, within: 1), Rest(1))
        let events = feed.events(of: .turn)
        #expect(events.first?.phase == .began)
        #expect(events.last?.phase == .ended)
        #expect(events.dropFirst().dropLast().allSatisfy { $0.phase == .changed })
        #expect((3...7).contains(events.count - 2))
        #expect(events.allSatisfy { $0.axis == .z && $0.direction == .left })
        let began = try #require(events.first)
        let ended = try #require(events.last)
        // It began a third of the way round, and reports how long ago the movement began.
        let angle = began.angle ?? 0
        #expect(angle > 29 * Self.degree && angle < 40 * Self.degree)
        #expect(abs(began.timestamp.seconds - (began.duration ?? 0) - 7) < 0.15)
        #expect(abs((ended.angle ?? 0) - 90 * Self.degree) < 1 * Self.degree)
        #expect(abs((ended.duration ?? 0) - 1) < 0.2)
        #expect(ended.timestamp.seconds < 8.3)
        #expect(ended.reason == nil && ended.strength == nil)
        // The peak of a smooth turn is 1.875 times its mean.
        let (firstRate, peak) = (began.rate ?? 0, ended.rate ?? 0)
        #expect(abs(peak - 1.875 * 90 * Self.degree) < 2 * Self.degree)
        #expect(firstRate > 90 * Self.degree && firstRate < peak + 1e-9)
        for (one, next) in zip(events, events.dropFirst()) where next.phase == .changed {
            #expect((next.angle ?? 0) - (one.angle ?? 0) >= 10 * Self.degree - 1e-9)
            #expect(next.timestamp.seconds - one.timestamp.seconds >= 0.1 - 1e-6)
        }
    }

    @Test func reportsAngleAtEverySpeedPoseAndAxis() throws {
        let poses = [Quaternion.identity, Quaternion(roll: 0.7, pitch: -0.4, yaw: 1)]
        for (axis, name) in Self.axes {
            for pose in poses {
                for (degrees, seconds) in [(90.0, 0.4), (-90, 0.4), (90, 3), (-90, 3), (360, 4), (-720, 8), (45, 1)] {
                    var feed = MovementFeed(Self.free, pose: pose)
                    feed.move(Rest(3), Self.turn(degrees, about: axis, within: seconds), Rest(1))
                    let events = feed.events(of: .turn)
                    #expect(events.filter { $0.phase == .began }.count == 1, "\(name) \(degrees)° in \(seconds) s")
                    let ended = try #require(events.last)
                    #expect(ended.phase == .ended)
                    #expect(ended.axis == name)
                    #expect(ended.direction == (degrees > 0 ? .left : .right))
                    #expect(abs((ended.angle ?? 0) - degrees * Self.degree) < 1.5 * Self.degree)
                }
            }
        }
    }

    @Test func reportsAngleOnNoisyChipOnceBiasIsKnown() throws {
        var chip = Imperfections.typical
        chip.gyroscopeMatrix = .identity
        let z = Vector3(0, 0, 1)
        let movement = MotionSequence([
            Rest(15), Self.turn(90, about: z, within: 0.4), Rest(2), Self.turn(-90, about: z, within: 3), Rest(2),
            Self.turn(90, about: Vector3(1, 0, 0), within: 0.4), Rest(2),
            Self.turn(360, about: Vector3(0, 1, 0), within: 4), Rest(2),
        ])
        let rig = CalibrationRig(Posed(Quaternion(roll: 0.3, pitch: 0.2, yaw: 0), movement), chip)
        var pipeline = MotionPipeline(settings: Self.free)
        var ended: [GestureEvent] = []
        rig.run(movement.duration) { sample in
            pipeline.process(sample) { event in
                if event.gesture == .turn, event.phase == .ended { ended.append(event) }
            }
        }
        #expect(ended.map(\.axis) == [.z, .z, .x, .y])
        for (event, degrees) in zip(ended, [90.0, -90, 90, 360]) {
            #expect(abs((event.angle ?? 0) * degreesPerRadian - degrees) < 3)
        }
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func decidesAlikeAtEverySampleRate(rate: Double) throws {
        var feed = MovementFeed(Self.free, rate: rate)
        feed.move(Rest(2), Self.turn(-90, within: 0.5), Rest(1))
        let events = feed.events(of: .turn)
        #expect(events.first?.phase == .began)
        let ended = try #require(events.last)
        #expect(ended.phase == .ended)
        #expect(abs((ended.angle ?? 0) * degreesPerRadian + 90) < 3)
    }

    @Test func mountRotatesSensorAxesIntoBodyAxes() {
        var settings = Self.free
        settings.mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))
        for (axis, name) in Self.axes {
            var feed = MovementFeed(settings)
            feed.move(Rest(2), Self.turn(80, about: axis, within: 0.7), Rest(1))
            #expect(feed.events(of: .turn).last?.phase == .ended)
            #expect(feed.events(of: .turn).last?.axis == name)
            #expect(feed.events(of: .turn).last?.direction == .left)
        }
    }

    @Test func reversalEndsTurnAndBeginsNext() {
        var feed = MovementFeed(Self.free)
        feed.move(VirtualTrajectory.twist.trajectory, seconds: 4)
        let ends = feed.events(of: .turn).filter { $0.phase != .changed }
        #expect(ends.map(\.phase) == [.began, .ended, .began, .ended])
        #expect(ends.map(\.direction) == [.left, .left, .right, .right])
        #expect(ends.allSatisfy { $0.axis == .x })
        #expect(abs((ends[1].angle ?? 0) * degreesPerRadian - 60) < 1)
        #expect(abs((ends[3].angle ?? 0) * degreesPerRadian + 60) < 1)
    }

    @Test func doesNotTakeSwingingOrShakingForTurn() {
        // The arm of a person who walks: ±35° at 0.95 Hz, for half a minute.
        var feed = MovementFeed(Self.free)
        feed.move(Rest(2), Oscillation(axis: Vector3(0, 1, 0), amplitude: 0.6, frequency: 0.95, duration: 30), Rest(1))
        #expect(feed.events(of: .turn).filter { $0.phase == .began }.count <= 3)

        feed = MovementFeed(Self.free)
        feed.rest(2)
        let wrist = Oscillation(axis: Vector3(1, 0, 0), amplitude: 0.5, frequency: 4, duration: 1.5)
        feed.move(Superposed(Shake(axis: Vector3(0, 1, 0), amplitude: 20, frequency: 4, cycles: 6), wrist), Rest(1))
        #expect(feed.events(of: .shake).map(\.phase) == [.began, .ended])
        #expect(feed.events(of: .turn).isEmpty)
    }

    @Test func shakeCancelsTurn() {
        var feed = MovementFeed(Self.free)
        feed.rest(2)
        let shake = MotionSequence([Rest(1.3), Shake(axis: Vector3(0, 0, 1), amplitude: 30, frequency: 5, cycles: 6)])
        feed.move(Superposed(shake, Self.turn(200, within: 4)), seconds: 4)
        feed.rest(1)
        let turn = feed.events(of: .turn).filter { $0.phase != .changed }
        #expect(turn.prefix(2).map(\.phase) == [.began, .cancelled])
        #expect(turn.dropFirst().first?.reason == .interrupted)
    }

    @Test func rejectsSmallSlowAndLongRotations() {
        var feed = MovementFeed(Self.free)
        feed.move(Rest(2), Self.turn(25, within: 0.5), Rest(1))
        #expect(feed.reasons(.turn) == [.tooSmallAngle])
        feed.misses = []
        feed.move(Self.turn(90, within: 10), Rest(1))
        #expect(feed.reasons(.turn) == [.tooWeak])
        feed.misses = []
        // A flick of the wrist by 40° and back within 0.3 s.
        feed.move(Self.turn(40, within: 0.15), Self.turn(-40, within: 0.15), Rest(1))
        #expect(feed.reasons(.turn).first == .tooShort)
        #expect(feed.events(of: .turn).isEmpty)

        var settings = Self.free
        settings.gestures.turn.maximumDuration = 2
        feed = MovementFeed(settings)
        feed.rest(2)
        feed.move(Rotation(axis: Vector3(0, 0, 1), rate: 2), seconds: 3.5)
        let events = feed.events(of: .turn).filter { $0.phase != .changed }
        #expect(events.prefix(2).map(\.phase) == [.began, .cancelled])
        #expect(events.dropFirst().first?.reason == .tooLong)
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore(stride(from: 12, through: 60, by: 4), "°") { degrees, sensitivity in
            var settings = Self.free
            settings.gestures.turn.common.sensitivity = sensitivity
            var feed = MovementFeed(settings, rate: 50)
            feed.move(Rest(2), Self.turn(degrees, within: 1), Rest(1))
            let isCaught = feed.events(of: .turn).contains { $0.phase == .ended }
            #expect(sensitivity != 5 || isCaught == (degrees > 30), "\(degrees)°")
            return isCaught
        }
    }

    @Test func appliesSettingsDuringTurn() throws {
        var feed = MovementFeed(Self.free)
        feed.rest(2)
        let turn = Self.turn(120, within: 2)
        feed.move(turn, seconds: 1)
        #expect(feed.events(of: .turn).first?.phase == .began)
        var settings = Self.free
        settings.gestures.turn.minimumAngle = 60 * Self.degree
        settings.gestures.turn.changeAngle = 45 * Self.degree
        var cancelled: [GestureEvent] = []
        feed.pipeline.apply(settings) { cancelled.append($0) }
        #expect(cancelled.isEmpty)
        feed.move(Rest(), seconds: 0.2)
        let ended = try #require(feed.events(of: .turn).last)
        #expect(ended.phase == .ended)
        #expect(abs((ended.angle ?? 0) * degreesPerRadian - 60) < 3)

        feed.rest(1)
        feed.move(Self.turn(90, within: 1), seconds: 0.9)
        settings.gestures.turn.common.isEnabled = false
        feed.pipeline.apply(settings) { cancelled.append($0) }
        #expect(cancelled.map(\.reason) == [.disabled])
        feed.events = []
        feed.rest(1)
        #expect(feed.events(of: .turn).isEmpty)
    }

    /// A turn in progress ends as a free one; what follows is that of a knob.
    @Test func modeChangesAfterTurn() {
        var feed = MovementFeed(Self.free)
        feed.rest(2)
        let x = Vector3(1, 0, 0)
        feed.move(Self.turn(90, about: x, within: 1), seconds: 0.6)
        feed.pipeline.apply(MotionSettings()) { _ in }
        feed.rest(1)
        #expect(feed.events(of: .turn).first?.phase == .began)
        #expect(feed.events(of: .turn).last?.phase == .ended)
        feed.events = []
        feed.move(Self.turn(-90, about: x, within: 1), Rest(1))
        #expect(feed.events(of: .turn).isEmpty)
    }

    @Test func recognisesNoTurnsWithoutGyroscope() {
        #expect(Gesture.needingGyroscope == .turn)
        var feed = MovementFeed(Self.free, hasGyroscope: false)
        for (axis, _) in Self.axes {
            feed.move(Rest(2), Self.turn(90, about: axis, within: 0.6))
        }
        feed.rest(1)
        #expect(feed.events(of: .turn).isEmpty)
    }

    @Test func losingGyroscopeCancelsTurn() {
        var feed = MovementFeed(Self.free)
        feed.rest(2)
        feed.move(Self.turn(180, within: 2), seconds: 1)
        feed.hasGyroscope = false
        feed.rest(0.5)
        #expect(feed.events(of: .turn).last?.phase == .cancelled)
        #expect(feed.events(of: .turn).last?.reason == .interrupted)
        feed.hasGyroscope = true
        feed.events = []
        feed.move(Rest(2), Self.turn(90, within: 1), Rest(1))
        #expect(feed.events(of: .turn).last?.phase == .ended)
        #expect(abs((feed.events(of: .turn).last?.angle ?? 0) * degreesPerRadian - 90) < 3)
    }
}
