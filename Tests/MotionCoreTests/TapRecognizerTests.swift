import MotionCore
import Testing
import VirtualIMU

/// Taps: reported once, with their count and side, and never while a higher count is still possible.
@Suite struct TapRecognizerTests {
    /// Feeds a pipeline with the readings of a noisy sensor along a trajectory.
    private final class Feed {
        var pipeline: MotionPipeline
        var settings: MotionSettings
        let rate: Double
        let hasGyroscope: Bool
        var time = 0.0
        var events: [GestureEvent] = []
        var misses: [NearMiss] = []
        private var random: UInt64 = 11

        init(rate: Double = 200, gyroscope: Bool = true, _ change: (inout MotionSettings) -> Void = { _ in }) {
            var settings = MotionSettings()
            change(&settings)
            self.settings = settings
            self.rate = rate
            hasGyroscope = gyroscope
            pipeline = MotionPipeline(settings: settings)
            pipeline.explainsNearMisses = true
        }

        /// Applies changed settings between two samples.
        func apply(_ change: (inout MotionSettings) -> Void) {
            change(&settings)
            pipeline.apply(settings) { _ in }
        }

        /// A number between -1 and 1.
        private func noise() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(Int64(bitPattern: random) >> 11) / Double(1 << 52)
        }

        /// Moves along the trajectory. Readings are means over the sample period, as with an anti-aliasing filter, plus
        /// noise.
        func follow(_ trajectory: any Trajectory, seconds: Double, sensor: Quaternion = .identity) {
            let parts = 8
            for index in 0..<Int((seconds * rate).rounded()) {
                var force = Vector3.zero
                var turn = Vector3.zero
                for part in 0..<parts {
                    let motion = trajectory.motion(at: (Double(index) + Double(part) / Double(parts)) / rate)
                    force += motion.specificForce * (1 / Double(parts))
                    turn += motion.rotationRate * (1 / Double(parts))
                }
                force += Vector3(noise(), noise(), noise()) * 0.06
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: 10 + time), acceleration: sensor.unrotate(force),
                    rotationRate: hasGyroscope ? sensor.unrotate(turn) : .zero,
                    flags: hasGyroscope ? .rotationRate : [])
                var new: [GestureEvent] = []
                pipeline.process(sample) { new.append($0) }
                events += new.filter { $0.gesture == .tap }
                while let miss = pipeline.takeNearMiss() {
                    if miss.gesture == .tap { misses.append(miss) }
                }
                time += 1 / rate
            }
        }

        /// Taps on the top at these times, s, and a rest until the end.
        func taps(at times: [Double], until end: Double, amplitude: Double = 20, width: Double = 0.008) {
            let tap = Tap(axis: Vector3(0, 0, -1), amplitude: amplitude, width: width)
            var segments: [any Trajectory] = []
            var now = 0.0
            for time in times {
                segments += [Rest(time - now), tap]
                now = time + tap.duration
            }
            follow(MotionSequence(segments), seconds: end)
        }

        var counts: [Int?] { events.map(\.count) }
        var reasons: [NearMiss.Reason] { misses.map(\.reason) }
    }

    private static func everyCount(_ settings: inout MotionSettings) {
        settings.gestures.tap.counts = .all
    }

    @Test func reportsTapOnceWithSideAndStrength() throws {
        let feed = Feed()
        feed.follow(VirtualTrajectory.tap.trajectory, seconds: 12)
        #expect(feed.counts == [1, 1, 1, 1])
        for (index, event) in feed.events.enumerated() {
            #expect(event.phase == .recognized)
            #expect(event.side == .plusZ)
            let strength = try #require(event.strength)
            #expect(strength > 1.5 * standardGravity && strength < 3.3 * standardGravity)
            // Reported within 0.15 s, and not before it happened.
            let late = event.timestamp.seconds - 10 - (1.5 + 3 * Double(index))
            #expect(late > 0 && late < 0.15)
        }
    }

    @Test(arguments: [50.0, 100, 200, 400, 1000])
    func decidesAlikeAtEverySampleRateFromFiftyHertz(rate: Double) {
        let feed = Feed(rate: rate)
        feed.follow(VirtualTrajectory.sideTaps.trajectory, seconds: 12)
        #expect(feed.counts == [1, 1, 1, 1, 1, 1])
        #expect(feed.events.map(\.side) == [.plusX, .minusX, .plusY, .minusY, .plusZ, .minusZ])
    }

    @Test(arguments: [20.0, 25])
    func recognisesNoTapsBelowFortyHertz(rate: Double) {
        let feed = Feed(rate: rate)
        feed.taps(at: [2, 4, 6, 8], until: 10, amplitude: 60, width: 0.03)
        #expect(feed.events.isEmpty)
    }

    @Test func reportsBodySideInEveryPoseAndMounting() {
        let pose = Quaternion(roll: 1.1, pitch: -0.6, yaw: 2)
        // A quarter turn and a half turn: the sensor's y is the body's -x, its z the body's -z.
        let mount = Quaternion(roll: .pi, pitch: 0, yaw: .pi / 2)
        let feed = Feed {
            $0.mount = Matrix3(
                mount.unrotate(Vector3(1, 0, 0)), mount.unrotate(Vector3(0, 1, 0)), mount.unrotate(Vector3(0, 0, 1)))
        }
        feed.follow(Posed(pose, VirtualTrajectory.sideTaps.trajectory), seconds: 12, sensor: mount)
        #expect(feed.events.map(\.side) == [.plusX, .minusX, .plusY, .minusY, .plusZ, .minusZ])
    }

    @Test func recognisesTapsWithoutGyroscope() {
        let feed = Feed(gyroscope: false)
        feed.follow(VirtualTrajectory.softTap.trajectory, seconds: 12)
        #expect(feed.counts == [1, 1, 1, 1])
    }

    @Test func doesNotTakeOtherMovementForTap() {
        let others: [VirtualTrajectory] = [
            .rest, .walk, .tapWalking, .putDown, .shake, .gentleShake, .fastTurn, .slowTurn, .drop, .demo,
        ]
        for other in others {
            let feed = Feed()
            feed.follow(other.trajectory, seconds: 24)
            #expect(feed.events.isEmpty, "\(other.name)")
        }
    }

    @Test func doesNotTakeMachineForTap() {
        for frequency in [25.0, 40, 70] {
            for strength in [3, 0.9] {
                let feed = Feed()
                feed.follow(Rest(), seconds: 2)
                let amplitude = strength / (4 * .pi * .pi * frequency * frequency)
                feed.follow(Buzz(amplitude: amplitude, frequency: frequency), seconds: 5)
                feed.follow(Rest(), seconds: 2)
                #expect(feed.events.isEmpty, "\(strength) m/s² at \(frequency) Hz")
            }
        }
    }

    // MARK: - How many

    @Test func reportsEveryTapAtOnceIfOnlySinglesCount() {
        let feed = Feed()
        feed.taps(at: [2, 2.25, 2.5, 2.75], until: 4)
        #expect(feed.counts == [1, 1, 1, 1])
        #expect(feed.events.map { $0.timestamp.seconds - 10 < 2.95 } == [true, true, true, true])
    }

    @Test func doesNotReportSingleBeforeDouble() {
        let feed = Feed { $0.gestures.tap.counts = [.single, .double] }
        feed.follow(VirtualTrajectory.doubleTap.trajectory, seconds: 12)
        #expect(feed.counts == [2, 2, 2, 2])
        // The double tap need not wait any longer.
        let first = feed.events.first.map { $0.timestamp.seconds - 10 } ?? 0
        #expect(first > 1.7 && first < 1.7 + 0.15)
    }

    @Test func reportsSingleAfterWindow() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2, 4], until: 6)
        #expect(feed.counts == [1, 1])
        let first = feed.events.first.map { $0.timestamp.seconds - 10 } ?? 0
        #expect(first > 2.4 && first < 2.43)
    }

    @Test func tripleIsOneEvent() {
        let feed = Feed(Self.everyCount)
        feed.follow(VirtualTrajectory.tripleTap.trajectory, seconds: 12)
        #expect(feed.counts == [3, 3, 3])
        #expect(feed.events.allSatisfy { $0.side == .plusZ })
    }

    @Test(arguments: [0.15, 0.2, 0.3, 0.39])
    func recognisesFastAndSlowDoubles(pause: Double) {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2, 2 + pause, 4, 4 + pause], until: 6)
        #expect(feed.counts == [2, 2])
        let soft = Feed(Self.everyCount)
        soft.taps(at: [2, 2 + pause, 4, 4 + pause], until: 6, amplitude: 1.2, width: 0.012)
        #expect(soft.counts == [2, 2])
    }

    @Test func tapsFartherApartThanWindowAreSingles() {
        let feed = Feed {
            Self.everyCount(&$0)
            $0.gestures.tap.window = 0.3
        }
        feed.taps(at: [2, 2.35, 2.7], until: 4)
        #expect(feed.counts == [1, 1, 1])
    }

    @Test func tapsAfterTripleBelongToItUntilPause() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2, 2.25, 2.5, 2.75, 3.0, 4.5], until: 6)
        #expect(feed.counts == [3, 1])
        #expect(feed.reasons == [.tooSoon, .tooSoon])
    }

    @Test func reportsNoSinglesIfOnlyDoublesCount() {
        let feed = Feed { $0.gestures.tap.counts = .double }
        feed.taps(at: [2, 4, 4.25], until: 6)
        #expect(feed.counts == [2])
        #expect(feed.misses.map(\.reason) == [.tooFewTaps])
        #expect(feed.misses.first?.value == 1)
        #expect(feed.misses.first?.limit == 2)
    }

    @Test func doubleIsNotReportedAsSingle() {
        let feed = Feed { $0.gestures.tap.counts = [.single, .triple] }
        feed.taps(at: [2, 2.25, 4, 4.25, 4.5, 6], until: 8)
        #expect(feed.counts == [3, 1])
    }

    @Test func reportsNothingWithoutCounts() {
        let feed = Feed { $0.gestures.tap.counts = [] }
        feed.taps(at: [2, 2.25, 4], until: 6)
        #expect(feed.events.isEmpty)
    }
}

/// A body that vibrates from one moment to the next.
private struct Buzz: Trajectory {
    var amplitude: Double
    var frequency: Double
    var duration: Double { .infinity }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        let rate = 2 * Double.pi * frequency
        let phase = Quaternion(angle: 2 * rate * time, axis: Vector3(1, 0, 0))
        let stroke = Vector3(phase.x, 0, phase.w)
        return TrueMotion(
            attitude: pose, rotationRate: .zero, position: stroke * amplitude,
            acceleration: stroke * (-amplitude * rate * rate))
    }
}

// MARK: - Settings and explanations

extension TapRecognizerTests {
    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        var caughtAtAll: Set<Int> = []
        for step in 1...14 {
            let amplitude = 0.35 * Double(step)
            var last = 0
            for sensitivity in 1...10 {
                let feed = Feed { $0.gestures.tap.common.sensitivity = sensitivity }
                feed.taps(at: [2, 3.2, 4.4], until: 6, amplitude: amplitude)
                let now = feed.events.count
                #expect(now >= last, "\(amplitude) m/s² at sensitivity \(sensitivity)")
                last = now
                if now == 3 { caughtAtAll.insert(sensitivity) }
            }
        }
        // Each sensitivity has its own threshold within the range tried.
        #expect(caughtAtAll.count == 10)
        let gentle = Feed { $0.gestures.tap.common.sensitivity = 10 }
        gentle.taps(at: [2, 3.2, 4.4], until: 6, amplitude: 0.7)
        let usual = Feed()
        usual.taps(at: [2, 3.2, 4.4], until: 6, amplitude: 0.7)
        #expect(gentle.events.count == 3)
        #expect(usual.events.isEmpty)
    }

    @Test func thresholdIsInMetresPerSecondSquared() {
        let feed = Feed { $0.gestures.tap.threshold = 12 }
        // Half of it is needed at rest.
        feed.taps(at: [2], until: 4, amplitude: 7)
        feed.taps(at: [2], until: 4, amplitude: 10)
        #expect(feed.events.count == 1)
        #expect((feed.events.first?.timestamp.seconds ?? 0) > 15)
    }

    @Test func largerStillnessRecognisesTapsWhileWalking() {
        let feed = Feed { $0.gestures.tap.stillness = 4 }
        feed.follow(VirtualTrajectory.tapWalking.trajectory, seconds: 30)
        // Not all of them: a footstep just before a tap, or the turning point of the arm, hides it.
        #expect(feed.events.count >= 3)
    }

    @Test func reportsWaitingSingleWhenDoublesAreDisabled() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2], until: 2.2)
        #expect(feed.events.isEmpty)
        feed.apply { $0.gestures.tap.counts = .single }
        feed.follow(Rest(), seconds: 0.02)
        #expect(feed.counts == [1])
        feed.follow(Rest(), seconds: 2)
        #expect(feed.counts == [1])
    }

    @Test func settingsChangeDoesNotInterruptDouble() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2], until: 2.2)
        feed.apply { $0.gestures.tap.common.sensitivity = 7 }
        feed.taps(at: [0.05], until: 1.5)
        #expect(feed.counts == [2])
    }

    @Test func disablingSuppressesAndResets() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2], until: 2.2)
        feed.apply { $0.gestures.tap.common.isEnabled = false }
        feed.taps(at: [1], until: 2)
        feed.apply { $0.gestures.tap.common.isEnabled = true }
        feed.follow(Rest(), seconds: 1)
        #expect(feed.events.isEmpty)
        feed.taps(at: [1], until: 2)
        #expect(feed.counts == [1])
    }

    @Test func gapDropsWaitingTap() {
        let feed = Feed(Self.everyCount)
        feed.taps(at: [2], until: 2.2)
        feed.time += 1
        feed.taps(at: [2], until: 4)
        #expect(feed.counts == [1])
    }

    @Test func reportsNearMissForSoftTap() throws {
        let feed = Feed { $0.gestures.tap.common.sensitivity = 1 }
        feed.taps(at: [2], until: 4, amplitude: 1.8)
        #expect(feed.events.isEmpty)
        #expect(feed.reasons == [.tooWeak])
        let miss = try #require(feed.misses.first)
        #expect(miss.value > 1 && miss.value < miss.limit)
    }

    @Test func reportsNearMissForPush() throws {
        let feed = Feed()
        feed.taps(at: [2], until: 4, amplitude: 8, width: 0.06)
        #expect(feed.events.isEmpty)
        let miss = try #require(feed.misses.first)
        #expect(miss.reason == .tooSlow || miss.reason == .noQuietAfter)
    }

    @Test func reportsNearMissOncePerMovement() {
        let feed = Feed()
        feed.follow(VirtualTrajectory.tapWalking.trajectory, seconds: 8)
        #expect(feed.events.isEmpty)
        #expect(feed.reasons.contains(.noQuietBefore))
        #expect(feed.misses.count <= 4)
        #expect(feed.misses.allSatisfy { $0.value.isNaN || $0.value > $0.limit })
    }

    @Test func reportsNearMissForContinuedVibration() {
        let feed = Feed()
        feed.follow(Rest(), seconds: 2)
        feed.follow(Buzz(amplitude: 5 / (4 * .pi * .pi * 1600), frequency: 40), seconds: 3)
        #expect(feed.events.isEmpty)
        #expect(feed.reasons.contains(.noQuietAfter))
    }

    /// Taps too soon after a movement do not count as taps, but not as movement either.
    @Test func recognisesTapsAfterMovementOnceCalm() {
        let feed = Feed()
        feed.follow(VirtualTrajectory.walk.trajectory, seconds: 8)
        feed.taps(at: (0..<10).map { 0.5 + 0.4 * Double($0) }, until: 5)
        #expect(feed.events.count >= 4)
    }

    @Test func reportsNoTapDuringCooldown() {
        let feed = Feed { $0.gestures.tap.common.cooldown = 1 }
        feed.taps(at: [2, 2.5, 3.5], until: 5)
        #expect(feed.counts == [1, 1])
        #expect(feed.reasons == [.tooSoon])
    }
}
