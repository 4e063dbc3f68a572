import MotionCore
import Testing

/// Shakes: begun where three swings out of quiet qualify, ended, or cancelled with the reason; every beginning has
/// exactly one end.
@Suite struct ShakeRecognizerTests {
    /// Feeds a recognizer with acceleration along a tilted board's x axis.
    private struct Feed: ~Copyable {
        var pipeline: MotionPipeline
        var time = 0.0
        let rate: Double
        var events: [GestureEvent] = []

        init(rate: Double = 200, settings: ShakeSettings = ShakeSettings()) {
            self.rate = rate
            var all = MotionSettings()
            all.gestures.shake = settings
            pipeline = MotionPipeline(settings: all)
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

        var phases: [GesturePhase] { events.map(\.phase) }
    }

    @Test func aShakeOutOfRestBeginsAndEnds() throws {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 1.2)
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .ended])
        let began = try #require(feed.events.first)
        let ended = try #require(feed.events.last)
        #expect(began.axis == .x)
        #expect(began.timestamp.seconds > 2.1 && began.timestamp.seconds < 2.6)
        #expect(abs((ended.strength ?? 0) - 2 * standardGravity) < 0.2 * standardGravity)
        // 1.2 s at 5 Hz are twelve swings, eleven turns.
        #expect((9...12).contains(ended.reversals ?? 0))
        #expect(abs((ended.duration ?? 0) - 1.2) < 0.25)
        #expect(ended.reason == nil)
        // `ended` comes within half a second after the motion stops.
        #expect(ended.timestamp.seconds < 3.2 + 0.5)
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func everySampleRateDecidesAlike(rate: Double) {
        var feed = Feed(rate: rate)
        feed.rest(seconds: 2)
        feed.shake(seconds: 1.2, frequency: 3.7)
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .ended])
    }

    @Test func aBlowIsNoShake() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.feed(seconds: 0.03) { _ in Vector3(60, 0, 0) }
        feed.rest(seconds: 2)
        #expect(feed.events.isEmpty)
    }

    @Test func weakMovementIsNoShake() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 2, peak: 0.3 * standardGravity)
        feed.rest(seconds: 1)
        #expect(feed.events.isEmpty)
    }

    @Test func movementThatHasGoneOnForLongIsNoShake() {
        var feed = Feed()
        // Half a minute of jogging-like bounces along the vertical, with a stronger one now and then.
        feed.shake(seconds: 30, frequency: 2.6, peak: 1.2 * standardGravity, axis: Vector3(0, 0, 1))
        #expect(feed.events.isEmpty)
    }

    @Test func aShakeThatFadesUnconfirmedIsTooWeak() {
        var feed = Feed()
        feed.rest(seconds: 2)
        // Three swings and no more.
        feed.shake(seconds: 0.3, peak: 3 * standardGravity)
        feed.rest(seconds: 1.5)
        #expect(feed.phases == [.began, .cancelled])
        #expect(feed.events.last?.reason == .tooWeak)
    }

    @Test func aShakeThatLastsTooLongIsCancelledAndNeedsQuiet() {
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

    @Test func switchingItOffCancelsWhatIsUnderWay() {
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

    @Test func aGapInTheSamplesInterrupts() {
        var feed = Feed()
        feed.rest(seconds: 2)
        feed.shake(seconds: 0.8)
        feed.time += 2
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .cancelled])
        #expect(feed.events.last?.reason == .interrupted)
    }

    @Test func higherSensitivityNeverMissesWhatALowerOneCatches() {
        for peak in stride(from: 0.4, through: 4, by: 0.2) {
            var caught = false
            for sensitivity in 1...10 {
                var settings = ShakeSettings()
                settings.common.sensitivity = sensitivity
                var feed = Feed(settings: settings)
                feed.rest(seconds: 2)
                feed.shake(seconds: 1.2, peak: peak * standardGravity)
                feed.rest(seconds: 1)
                let now = feed.phases.contains(.began)
                #expect(now || !caught, "peak \(peak) g is missed at sensitivity \(sensitivity)")
                caught = caught || now
            }
        }
    }

    @Test func duringTheCooldownNoOtherShakeBegins() {
        var settings = ShakeSettings()
        settings.common.cooldown = 4
        var feed = Feed(settings: settings)
        feed.rest(seconds: 2)
        feed.shake(seconds: 1)
        feed.rest(seconds: 1.5)
        feed.shake(seconds: 1)
        feed.rest(seconds: 5)
        feed.shake(seconds: 1)
        feed.rest(seconds: 1)
        #expect(feed.phases == [.began, .ended, .began, .ended])
    }
}
