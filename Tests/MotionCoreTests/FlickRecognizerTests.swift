import MotionCore
import Testing
import VirtualIMU

/// Flicks: one stroke and its braking, from rest to rest, reported with the direction of the stroke.
@Suite struct FlickRecognizerTests {
    private static let directions: [(VirtualTrajectory, MotionDirection)] = [
        (.flickLeft, .left), (.flickRight, .right), (.flickUp, .up), (.flickDown, .down), (.flickForward, .forward),
        (.flickBackward, .backward),
    ]

    private static func flick(_ axis: Vector3 = Vector3(0, 1, 0), peak: Double = 18, duration: Double = 0.18) -> Flick {
        Flick(axis: axis, amplitude: peak, duration: duration)
    }

    @Test(arguments: [true, false])
    func directionIsThatOfStroke(hasGyroscope: Bool) throws {
        for (trajectory, direction) in Self.directions {
            var feed = MovementFeed(hasGyroscope: hasGyroscope)
            feed.move(trajectory.trajectory, seconds: 12)
            let events = feed.events(of: .flick)
            #expect(events.count == 3, "\(trajectory)")
            let first = try #require(events.first)
            #expect(first.phase == .recognized)
            #expect(events.allSatisfy { $0.direction == direction }, "\(trajectory)")
            // A cell of 20 ms rounds off the peak a little.
            #expect(abs((first.strength ?? 0) - 1.8 * standardGravity) < 0.15 * standardGravity)
            #expect(first.axis == nil && first.angle == nil && first.reason == nil)
            // The stroke is over 1.68 s after the start and is reported within half a second.
            #expect(first.timestamp.seconds > 6.68 && first.timestamp.seconds < 7.2)
        }
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func decidesAlikeAtEverySampleRate(rate: Double) {
        for (trajectory, direction) in Self.directions {
            // At 20 Hz a stroke of 0.09 s has two samples.
            var feed = MovementFeed(rate: rate)
            feed.move(trajectory.trajectory, seconds: 4)
            #expect(feed.events(of: .flick).map(\.direction) == [direction], "\(trajectory)")
        }
    }

    /// The direction of a flick along `axis` of a board that is held in `pose`.
    private func direction(along axis: Vector3, in pose: Quaternion, hasGyroscope: Bool = true) -> [MotionDirection?] {
        var feed = MovementFeed(hasGyroscope: hasGyroscope, pose: pose)
        feed.move(Rest(2), Self.flick(axis), Rest(1))
        return feed.events(of: .flick).map(\.direction)
    }

    @Test(arguments: [true, false])
    func upIsAgainstGravityInEveryPose(hasGyroscope: Bool) {
        for pose in [
            Quaternion(roll: 0.6, pitch: -0.5, yaw: 2), Quaternion(roll: -1.6, pitch: 0.3, yaw: 0),
            Quaternion(roll: 0, pitch: 1.5, yaw: 1), Quaternion(roll: 3.1, pitch: 0.05, yaw: 0),
        ] {
            let up = pose.unrotate(Vector3(0, 0, 1))
            #expect(direction(along: up, in: pose, hasGyroscope: hasGyroscope) == [.up])
            #expect(direction(along: -up, in: pose, hasGyroscope: hasGyroscope) == [.down])
        }
    }

    @Test func leftAndForwardHoldOnTiltedBoard() {
        let pose = Quaternion(roll: 0.5, pitch: -0.4, yaw: 1)
        #expect(direction(along: Vector3(0, 1, 0), in: pose) == [.left])
        #expect(direction(along: Vector3(-1, 0, 0), in: pose) == [.backward])
    }

    @Test func boardOnItsFaceKeepsForwardAndSwapsLeft() {
        // In whichever direction it is slightly tilted.
        for roll in [3.0, -3.0] {
            for pitch in [0.1, -0.1] {
                let pose = Quaternion(roll: roll, pitch: pitch, yaw: 0)
                #expect(direction(along: Vector3(1, 0, 0), in: pose) == [.forward])
                #expect(direction(along: Vector3(0, -1, 0), in: pose) == [.left])
            }
        }
    }

    @Test func mountRotatesSensorAxesIntoBodyAxes() {
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))
        for (trajectory, direction) in Self.directions {
            var feed = MovementFeed(settings)
            feed.move(trajectory.trajectory, seconds: 4)
            #expect(feed.events(of: .flick).map(\.direction) == [direction], "\(trajectory)")
        }
    }

    @Test func toleratesWristRotationDuringFlick() {
        for hasGyroscope in [true, false] {
            var feed = MovementFeed(hasGyroscope: hasGyroscope)
            feed.rest(2)
            let turn = MotionSequence([
                Turn(axis: Vector3(0.3, 0.2, 1), angle: 0.4, duration: 0.16),
                Turn(axis: Vector3(0.3, 0.2, 1), angle: -0.4, duration: 0.3),
            ])
            feed.move(Superposed(Self.flick(), turn), Rest(1))
            #expect(feed.events(of: .flick).map(\.direction) == [.left])
            #expect(feed.events(of: .turn).isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func doesNotTakeOtherMovementForFlick(hasGyroscope: Bool) {
        let x = Vector3(1, 0, 0)
        let others: [(String, any Trajectory)] = [
            ("a shake", Shake(axis: x, amplitude: 20, frequency: 5, cycles: 6)),
            ("a tap", Tap(axis: Vector3(0, 0, -1), amplitude: 3 * standardGravity)),
            ("a strong tap", Tap(axis: Vector3(0, 0, -1), amplitude: 8 * standardGravity)),
            ("picking up", Slide(axis: Vector3(0.3, 0, 1), distance: 0.6, duration: 0.8)),
            ("putting down", Slide(axis: Vector3(0.2, 0.1, -1), distance: 0.6, duration: 0.9)),
            ("a turn of the wrist", Turn(axis: x, angle: 1.5, duration: 0.3)),
            ("a turn upside down", Turn(axis: Vector3(0, 1, 0), angle: .pi, duration: 0.6)),
        ]
        for (name, other) in others {
            var feed = MovementFeed(hasGyroscope: hasGyroscope)
            feed.move(Rest(3), other, Rest(2))
            #expect(feed.events(of: .flick).isEmpty, "\(name)")
        }
        var feed = MovementFeed(hasGyroscope: hasGyroscope)
        feed.move(VirtualTrajectory.walk.trajectory, seconds: 60)
        #expect(feed.events(of: .flick).isEmpty)
    }

    @Test func doesNotReportFlickAtStartOfShake() {
        var feed = MovementFeed()
        feed.move(VirtualTrajectory.shake.trajectory, seconds: 15)
        feed.move(VirtualTrajectory.gentleShake.trajectory, seconds: 15)
        #expect(feed.events(of: .shake).count == 12)
        #expect(feed.events(of: .flick).isEmpty)
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        var caughtAtFive: [Double] = []
        expectHigherSensitivityCatchesMore(stride(from: 3, through: 30, by: 1.5), "m/s²") { peak, sensitivity in
            var settings = MotionSettings()
            settings.gestures.flick.common.sensitivity = sensitivity
            var feed = MovementFeed(settings)
            feed.move(Rest(2), Self.flick(peak: peak), Rest(1))
            let isCaught = !feed.events(of: .flick).isEmpty
            if isCaught, sensitivity == 5 { caughtAtFive.append(peak) }
            return isCaught
        }
        // The default strength determines what is recognised at 5.
        #expect(caughtAtFive.first == 10.5)
    }

    @Test func appliesSettingsDuringFlick() {
        var feed = MovementFeed()
        feed.rest(2)
        let flick = Self.flick(peak: 9)
        feed.move(flick, seconds: 0.1)
        var settings = MotionSettings()
        settings.gestures.flick.strength = 8
        var cancelled: [GestureEvent] = []
        feed.pipeline.apply(settings) { cancelled.append($0) }
        feed.move(Later(flick, by: 0.1), seconds: 1.5)
        #expect(cancelled.isEmpty)
        #expect(feed.events(of: .flick).map(\.direction) == [.left])

        settings.gestures.flick.common.isEnabled = false
        feed.pipeline.apply(settings) { cancelled.append($0) }
        feed.move(Rest(1), flick, Rest(1))
        #expect(feed.events(of: .flick).count == 1)
    }

    @Test func gapResetsMovement() {
        var feed = MovementFeed()
        feed.rest(2)
        feed.move(Self.flick(), seconds: 0.1)
        feed.time += 3
        feed.rest(1)
        #expect(feed.events(of: .flick).isEmpty)
        feed.move(Self.flick())
        #expect(feed.events(of: .flick).count == 1)
    }

    @Test func gateChecksPostureBeforeFlick() {
        var settings = MotionSettings()
        settings.gestures.flick.common.gate.still = true
        var feed = MovementFeed(settings)
        feed.move(Rest(3), Self.flick(), Rest(1))
        #expect(feed.events(of: .flick).count == 1)
    }

    @Test func reportsNearMissReasons() {
        func reasons(
            _ movement: any Trajectory, before: any Trajectory = Rest(3), longest: Double = 0.9
        ) -> [NearMiss.Reason] {
            var settings = MotionSettings()
            settings.gestures.flick.maximumDuration = longest
            var feed = MovementFeed(settings)
            feed.move(Rest(1), before, movement, Rest(2))
            #expect(feed.events(of: .flick).isEmpty)
            return feed.reasons(.flick)
        }
        let x = Vector3(1, 0, 0)
        #expect(reasons(Self.flick(peak: 8)) == [.tooWeak])
        #expect(reasons(Tap(axis: Vector3(0, 0, -1), amplitude: 100)) == [.tooShort])
        #expect(reasons(Self.flick(), longest: 0.1) == [.tooSlow])
        // A push that is braked so softly that there is no counter-stroke.
        #expect(reasons(SoftlyBraked()) == [.notBraked])
        let trembling = Shake(axis: x, amplitude: 2.3, frequency: 3, cycles: 6)
        #expect(reasons(Self.flick(), before: trembling).last == .noQuietBefore)
        let restless = MotionSequence([
            Slide(axis: x, distance: 0.1, duration: 0.18),
            Oscillation(axis: x, amplitude: 0.5, frequency: 8, duration: 4),
        ])
        #expect(reasons(restless).first == .noQuietAfter)
    }
}

/// A trajectory from some instant on.
private struct Later: Trajectory {
    let base: any Trajectory
    let offset: Double
    var duration: Double { base.duration - offset }

    init(_ base: any Trajectory, by offset: Double) {
        self.base = base
        self.offset = offset
    }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion { base.motion(at: time + offset, from: pose) }
}

/// A stroke of 14 m/s² along x for 0.08 s, then a twentieth of it in the opposite direction for twenty times as long.
private struct SoftlyBraked: Trajectory {
    let duration = 1.68

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        let acceleration = time < 0 || time >= duration ? 0 : time < 0.08 ? 14 : -0.7
        return TrueMotion(
            attitude: pose, rotationRate: .zero, position: .zero,
            acceleration: pose.rotate(Vector3(acceleration, 0, 0)))
    }
}
