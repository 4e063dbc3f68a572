import MotionCore
import Testing
import VirtualIMU

/// Impacts: reported with their strength and the side that was hit, and distinguished from shakes, steps and handling.
@Suite struct ImpactRecognizerTests {
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))

    private static func blow(_ axis: Vector3, g: Double = 6, width: Double = 0.012) -> Tap {
        Tap(axis: axis, amplitude: g * standardGravity, width: width)
    }

    @Test(arguments: [
        (0, BodySide.minusX), (1, .plusX), (2, .minusY), (3, .plusY), (4, .minusZ), (5, .plusZ),
    ])
    func hitSideIsOppositeToAcceleration(index: Int, side: BodySide) {
        let axes = [
            Vector3(1, 0.2, 0), Vector3(-1, 0.2, 0.1), Vector3(0, 1, 0.2), Vector3(0.1, -1, 0), Vector3(0, 0, 1),
            Vector3(0, 0.2, -1),
        ]
        var feed = TrajectoryFeed(mount: Self.mount)
        feed.follow(Posed(Quaternion(roll: 0.3, pitch: 0.2, yaw: 1)), seconds: 3)
        feed.follow(Self.blow(axes[index]), Rest(1))
        let events = feed.events(of: .impact)
        #expect(events.count == 1)
        #expect(events.first?.phase == .recognized)
        #expect(events.first?.side == side)
        #expect(abs((events.first?.strength ?? 0) / standardGravity - 6) < 1.3)
    }

    @Test(arguments: [50.0, 100, 200, 400, 1000])
    func recognisesHeavyBlowAtEverySampleRate(rate: Double) {
        for hasGyroscope in [true, false] {
            var feed = TrajectoryFeed(rate: rate, hasGyroscope: hasGyroscope, range: 16 * standardGravity)
            feed.rest(3)
            // 30 g for 10 ms is 1.9 m/s: at 50 Hz two samples of at least 5 g.
            feed.follow(Self.blow(Vector3(0, -1, 0), g: 30, width: 0.01), Rest(1))
            #expect(feed.events(of: .impact).map(\.side) == [.plusY], "\(rate) Hz")
        }
    }

    @Test func clippedBlowIsAtLeastAsStrongAsRange() {
        var feed = TrajectoryFeed(range: 4 * standardGravity)
        feed.follow(Rest(3), Self.blow(Vector3(1, 0, 0), g: 20), Rest(1))
        let events = feed.events(of: .impact)
        #expect(events.count == 1)
        #expect((events.first?.strength ?? 0) >= 4 * standardGravity)
    }

    @Test func doesNotTakeOtherMovementForImpact() {
        var feed = TrajectoryFeed()
        feed.rest(2)
        for frequency in [2.0, 3, 4, 5, 6] {
            feed.follow(
                Shake(axis: Vector3(1, 0.3, 0), amplitude: 5 * standardGravity, frequency: frequency, cycles: 6))
            feed.rest(1)
        }
        feed.follow(Walk(duration: 10), Tap(axis: Vector3(0, 0, -1), amplitude: 3 * standardGravity), Rest(1))
        feed.follow(Slide(axis: Vector3(0, 0, -1), distance: 0.3, duration: 0.5))
        feed.follow(Drop(height: 0.004, contact: 0.02, bounces: 0), Rest(1))
        #expect(feed.events(of: .impact).isEmpty)
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore([1, 2, 3, 4, 5, 7, 9], "g") { g, sensitivity in
            TrajectoryFeed.recognises(
                .impact, at: sensitivity, Rest(2), Self.blow(Vector3(0, 1, 0), g: g), Rest(0.5))
        }
    }

    @Test func appliesSettingsBetweenBlows() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(2), Self.blow(Vector3(0, 1, 0), g: 2.5), Rest(1))
        var settings = MotionSettings()
        settings.gestures.impact.threshold = 1.5 * standardGravity
        feed.pipeline.apply(settings) { _ in }
        feed.follow(Self.blow(Vector3(0, 1, 0), g: 2.5), Rest(1))
        #expect(feed.events(of: .impact).count == 1)
    }

    @Test func reportsNearMissReasons() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Self.blow(Vector3(1, 0, 0), g: 3.3), Rest(1))
        #expect(feed.misses.contains { $0.gesture == .impact && $0.reason == .tooWeak && $0.value < $0.limit })
        feed.follow(Shake(axis: Vector3(0, 1, 0), amplitude: 6 * standardGravity, frequency: 3, cycles: 2), Rest(1))
        #expect(feed.misses.contains { $0.gesture == .impact && $0.reason == .tooSlow && $0.value > $0.limit })
        #expect(feed.events(of: .impact).isEmpty)
    }
}
