import MotionCore
import Testing

/// Shakes: a shake begins when three swings after a quiet period qualify, and ends or is cancelled with a reason. Every
/// `began` has exactly one end.
@Suite struct ShakeRecognizerTests {
    /// Feeds a recognizer with acceleration along a tilted board's x axis.
    private struct Feed: ~Copyable {
        var pipeline: MotionPipeline
        var time = 0.0
        let rate: Double
        var events: [GestureEvent] = []
        var lastRefusal: NearMiss?

        init(rate: Double = 200, settings: ShakeSettings = ShakeSettings()) {
            self.rate = rate
            var all = MotionSettings()
            all.gestures.shake = settings
            pipeline = MotionPipeline(settings: all)
            pipeline.explainsNearMisses = true
        }

        mutating func feed(seconds: Double, _ linear: (Double) -> Vector3) {
            let count = Int((seconds * rate).rounded())
            for index in 0..<count {
                let acceleration = Vector3(0, 0, standardGravity) + linear(Double(index) / rate)
                var new: [GestureEvent] = []
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: time), acceleration: acceleration, rotationRate: .zero, flags: [])
                pipeline.process(sample) { new.append($0) }
                events += new.filter { $0.gesture == .shake }
                while let miss = pipeline.takeNearMiss() {
                    if miss.gesture == .shake { lastRefusal = miss }
                }
                time += 1 / rate
            }
        }

        mutating func rest(seconds: Double) {
            feed(seconds: seconds) { _ in .zero }
        }

        mutating func shake(
            seconds: Double, frequency: Double = 5, peak: Double = 2 * standardGravity, axis: Vector3 = Vector3(1, 0, 0)
        ) {
            feed(seconds: seconds) { t in
                axis * (peak * Quaternion(angle: 4 * .pi * frequency * t, axis: Vector3(1, 0, 0)).x)
            }
        }

        /// Rests for 2 s, shakes, and rests again.
        mutating func shakeFromRest(
            seconds: Double, frequency: Double = 5, peak: Double = 2 * standardGravity,
            axis: Vector3 = Vector3(1, 0, 0), thenRest: Double = 1
        ) {
            rest(seconds: 2)
            shake(seconds: seconds, frequency: frequency, peak: peak, axis: axis)
            rest(seconds: thenRest)
        }

        static func sine(_ angle: Double) -> Double {
            Quaternion(angle: 2 * angle, axis: Vector3(1, 0, 0)).x
        }

        /// Steps: up and down with a second harmonic, and half as much to and fro.
        static func steps(perSecond: Double, peak: Double) -> (Double) -> Vector3 {
            { t in
                let phase = 2 * .pi * perSecond * t
                let up = sine(phase) + 0.4 * sine(2 * phase + 0.8)
                return Vector3(0.3 * sine(phase + 1.1), -0.2 * sine(0.5 * phase), up) * peak
            }
        }

        var phases: [GesturePhase] { events.map(\.phase) }
    }

    @Test func shakeFromRestBeginsAndEnds() throws {
        var feed = Feed()
        feed.shakeFromRest(seconds: 1.2)
        #expect(feed.phases == [.began, .ended])
        let began = try #require(feed.events.first)
        let ended = try #require(feed.events.last)
        #expect(began.axis == .x)
        #expect(began.timestamp.seconds > 2.1 && began.timestamp.seconds < 2.6)
        #expect(abs((ended.strength ?? 0) - 2 * standardGravity) < 0.2 * standardGravity)
        // 1.2 s at 5 Hz are twelve swings and eleven reversals.
        #expect((9...12).contains(ended.reversals ?? 0))
        #expect(abs((ended.duration ?? 0) - 1.2) < 0.25)
        #expect(ended.reason == nil)
        // `ended` comes within half a second after the motion stops.
        #expect(ended.timestamp.seconds < 3.2 + 0.5)
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func decidesAlikeAtEverySampleRate(rate: Double) {
        var feed = Feed(rate: rate)
        feed.shakeFromRest(seconds: 1.2, frequency: 3.7)
        #expect(feed.phases == [.began, .ended])
    }

    @Test(arguments: [2.0, 2.5, 3, 4, 5, 6])
    func recognisesSlowAndFastShakes(frequency: Double) {
        var feed = Feed(rate: 100)
        feed.shakeFromRest(seconds: 1.6, frequency: frequency)
        #expect(feed.phases == [.began, .ended])
    }

    @Test(arguments: [50.0, 100, 200])
    func decidesAtSameTimeAtEverySampleRate(rate: Double) throws {
        var feed = Feed(rate: rate)
        feed.shakeFromRest(seconds: 1.2, frequency: 3.1, peak: 1.6 * standardGravity, axis: Vector3(0.6, -0.64, 0.48))
        let began = try #require(feed.events.first)
        var fine = Feed(rate: 400)
        fine.shakeFromRest(seconds: 1.2, frequency: 3.1, peak: 1.6 * standardGravity, axis: Vector3(0.6, -0.64, 0.48))
        let reference = try #require(fine.events.first)
        #expect(abs(began.timestamp.seconds - reference.timestamp.seconds) <= 0.06)
    }

    @Test(arguments: [1.5, 1.8, 2.2])
    func shakeWhileWalkingBeginsAndEnds(steps: Double) {
        var feed = Feed(rate: 100)
        feed.rest(seconds: 1)
        let walk = Feed.steps(perSecond: steps, peak: 0.45 * standardGravity)
        feed.feed(seconds: 15, walk)
        #expect(feed.phases.isEmpty)
        feed.feed(seconds: 1.4) { t in
            walk(t) + Vector3(-1.6, 2.2, 0.5) * (standardGravity * Feed.sine(2 * .pi * 4 * t))
        }
        #expect(feed.phases == [.began])
        feed.feed(seconds: 4, walk)
        #expect(feed.phases == [.began, .ended])
    }

    @Test(arguments: [0.25, 0.4])
    func doesNotTakeDropForShake(height: Double) {
        var feed = Feed()
        feed.rest(seconds: 2)
        // Free fall, then three bounces to and fro, each weaker.
        feed.feed(seconds: height) { _ in Vector3(0, 0, -standardGravity) }
        for bounce in [3.0, -2.4, 2.0, -1.6] {
            feed.feed(seconds: 0.09) { t in
                Vector3(0.3, 0.2, 0.9) * (bounce * standardGravity * Feed.sine(.pi * t / 0.09))
            }
        }
        feed.rest(seconds: 2)
        #expect(feed.events.isEmpty)
        #expect(feed.lastRefusal != nil)
    }

    @Test func doesNotTakeBlowForShake() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.feed(seconds: 0.03) { _ in Vector3(60, 0, 0) }
        feed.rest(seconds: 2)
        #expect(feed.events.isEmpty)
    }

    @Test func doesNotTakeWeakMovementForShake() {
        var feed = Feed()
        feed.shakeFromRest(seconds: 2, peak: 0.3 * standardGravity)
        #expect(feed.events.isEmpty)
    }

    @Test func doesNotTakeLongMovementForShake() {
        var feed = Feed()
        // Half a minute of jogging-like bounces along the vertical, with a stronger one now and then.
        feed.shake(seconds: 30, frequency: 2.6, peak: 1.2 * standardGravity, axis: Vector3(0, 0, 1))
        #expect(feed.events.isEmpty)
    }

    @Test func unconfirmedShakeIsCancelledAsTooShort() {
        var settings = ShakeSettings()
        settings.common.sensitivity = 9
        var feed = Feed(settings: settings)
        // Only three swings, but so strong that they qualify at once.
        feed.shakeFromRest(seconds: 0.5, frequency: 3, peak: 6 * standardGravity, thenRest: 1.5)
        #expect(feed.phases == [.began, .cancelled])
        #expect(feed.events.last?.reason == .tooShort)
    }

    @Test func longShakeIsCancelledAndNeedsQuiet() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 9)
        #expect(feed.phases == [.began, .cancelled])
        #expect(feed.events.last?.reason == .tooLong)
        feed.rest(seconds: 3)
        feed.shake(seconds: 1)
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .cancelled, .began, .ended])
    }

    @Test func disablingCancelsShakeInProgress() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 0.8)
        #expect(feed.phases == [.began])
        var settings = MotionSettings()
        settings.gestures.shake.common.isEnabled = false
        var cancelled: [GestureEvent] = []
        feed.pipeline.apply(settings) { cancelled.append($0) }
        #expect(cancelled.map(\.phase) == [.cancelled])
        #expect(cancelled.first?.reason == .disabled)
        feed.events = []
        feed.rest(seconds: 2)
        feed.shake(seconds: 1)
        #expect(feed.events.isEmpty)
    }

    @Test func gapInterruptsShake() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 0.8)
        feed.time += 2
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .cancelled])
        #expect(feed.events.last?.reason == .interrupted)
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore(stride(from: 0.4, through: 4, by: 0.2), "g") { peak, sensitivity in
            var settings = ShakeSettings()
            settings.common.sensitivity = sensitivity
            var feed = Feed(settings: settings)
            feed.shakeFromRest(seconds: 1.2, peak: peak * standardGravity)
            return feed.phases.contains(.began)
        }
    }

    @Test func reportsNearMissTooWeak() throws {
        var feed = Feed()
        feed.shakeFromRest(seconds: 1.2, peak: 0.42 * standardGravity, thenRest: 1.5)
        #expect(feed.phases.isEmpty)
        let last = feed.lastRefusal
        let refusal = try #require(last)
        #expect(refusal.reason == .tooWeak)
        #expect(refusal.value < 0.45 * standardGravity && refusal.value > 0.3 * standardGravity)
        #expect(refusal.limit > refusal.value)
        #expect(refusal.timestamp.seconds > 2 && refusal.timestamp.seconds < 3.3)
    }

    @Test func reportsNearMissWithoutQuietBefore() throws {
        var feed = Feed()
        feed.shake(seconds: 14, frequency: 2.6, peak: 1.3 * standardGravity, axis: Vector3(0, 0, 1))
        // A wobble too weak for a swing, so that another movement begins, and too strong for quiet.
        feed.shake(seconds: 1, frequency: 2, peak: 0.27 * standardGravity)
        feed.events = []
        feed.shake(seconds: 1, frequency: 4, peak: 1.1 * standardGravity, axis: Vector3(0.1, -0.99, 0))
        feed.rest(seconds: 2)
        #expect(feed.phases.isEmpty)
        let last = feed.lastRefusal
        let refusal = try #require(last)
        #expect(refusal.reason == .noQuietBefore)
        #expect(refusal.value > refusal.limit)
    }

    @Test func reportsNearMissForTwoStrongSwings() throws {
        var feed = Feed()
        feed.shakeFromRest(seconds: 0.2, peak: 2.5 * standardGravity, thenRest: 2)
        #expect(feed.phases.isEmpty)
        let last = feed.lastRefusal
        let refusal = try #require(last)
        #expect(refusal.reason == .tooFewReversals)
    }

    @Test func recognisedShakeLeavesNoNearMiss() {
        var feed = Feed()
        feed.shakeFromRest(seconds: 1.2, thenRest: 2)
        #expect(feed.lastRefusal == nil)
    }

    @Test func noShakeBeginsDuringCooldown() {
        var settings = ShakeSettings()
        settings.common.cooldown = 4
        var feed = Feed(settings: settings)
        feed.shakeFromRest(seconds: 1, thenRest: 1.5)
        feed.shake(seconds: 1)
        feed.rest(seconds: 5)
        feed.shake(seconds: 1)
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .ended, .began, .ended])
    }
}
