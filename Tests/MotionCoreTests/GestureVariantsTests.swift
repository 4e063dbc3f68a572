import MotionCore
import Testing
import VirtualIMU

/// Recognizers with settings of their own beside those of the pipeline.
@Suite struct GestureVariantsTests {
    private func variant(
        _ number: UInt16, _ gesture: Gesture, _ change: (inout GestureSettings) -> Void
    ) -> GestureVariant {
        var settings = GestureSettings()
        change(&settings)
        return GestureVariant(number: number, gesture: gesture, settings: settings)
    }

    /// A tilt of 45°.
    private var tilt: any Trajectory { VirtualTrajectory.tilt.trajectory }

    @Test func variantsDifferOnTheSameMovement() {
        var feed = MovementFeed()
        feed.pipeline.apply([
            variant(1, .tilt) { $0.tilt.angle = 20 * radiansPerDegree },
            variant(2, .tilt) { $0.tilt.angle = 60 * radiansPerDegree },
        ]) { _ in }
        feed.rest(2)
        feed.move(tilt, seconds: 7)
        let usual = feed.events(of: .tilt).filter { $0.variant == 0 }
        #expect(usual.map(\.phase) == [.began, .ended])
        let early = feed.events(of: .tilt).filter { $0.variant == 1 }
        #expect(early.map(\.phase) == [.began, .ended])
        #expect(feed.events(of: .tilt).allSatisfy { $0.variant != 2 })
        #expect(early[0].timestamp < usual[0].timestamp && early[1].timestamp > usual[1].timestamp)
    }

    @Test func variantReportsItsGestureOnly() {
        var feed = MovementFeed()
        feed.pipeline.apply([variant(7, .tilt) { _ in }]) { _ in }
        feed.rest(2)
        feed.move(tilt, seconds: 7)
        let gestures = feed.events.filter { $0.variant == 7 }.map(\.gesture)
        #expect(Set(gestures) == [.tilt])
        #expect(feed.events(of: .motion).contains { $0.variant == 0 })
    }

    @Test func removedVariantIsCancelledAndKeptOneGoesOn() {
        var feed = MovementFeed()
        let kept = variant(1, .tilt) { $0.tilt.angle = 20 * radiansPerDegree }
        feed.pipeline.apply([kept, variant(2, .tilt) { _ in }]) { _ in }
        feed.rest(2)
        feed.move(tilt, seconds: 4)
        #expect(feed.pipeline.openGestures.contains(.tilt))
        var events: [GestureEvent] = []
        feed.pipeline.apply([kept]) { events.append($0) }
        #expect(events.map(\.variant) == [2])
        #expect(events.map(\.phase) == [.cancelled] && events.map(\.reason) == [.disabled])
        events = []
        feed.pipeline.cancelGestures(.stopped) { events.append($0) }
        #expect(Set(events.filter { $0.gesture == .tilt }.map(\.variant)) == [0, 1])
        #expect(feed.pipeline.openGestures.isEmpty)
    }

    @Test func silencedGestureBeginsInNoVariant() {
        var feed = MovementFeed()
        feed.pipeline.silenced = .tilt
        feed.pipeline.apply([variant(1, .tilt) { _ in }]) { _ in }
        feed.rest(2)
        feed.move(tilt, seconds: 7)
        #expect(feed.events(of: .tilt).isEmpty)
    }

    @Test func exclusionHoldsWithinAVariant() {
        var feed = MovementFeed()
        feed.pipeline.apply([
            variant(1, .turn) { _ in },
            variant(2, .turn) { $0.relations.allow(.turn, simultaneouslyWith: .shake) },
        ]) { _ in }
        feed.rest(2)
        feed.move(VirtualTrajectory.shake.trajectory, seconds: 5)
        #expect(feed.events(of: .shake).map(\.variant) == [0, 0])
        #expect(feed.events(of: .turn).allSatisfy { $0.variant != 1 })
    }
}
