import MotionCore
import Testing
import VirtualIMU

/// Requirement: there is a movement for every cancellation that a movement can bring about.
@Suite struct CancellationTests {
    /// The movement, the gesture that it begins, and why that is cancelled.
    static let movements: [(VirtualTrajectory, Gesture, CancellationReason)] = [
        (.shortShake, .shake, .tooShort), (.longShake, .shake, .tooLong), (.shakeAndDrop, .shake, .interrupted),
        (.longTurn, .turn, .tooLong), (.turnAndShake, .turn, .interrupted), (.longFall, .fall, .tooLong),
        (.softCatch, .fall, .tooWeak), (.tiltedTurn, .turn, .tilted),
    ]

    private static func events(of movement: VirtualTrajectory) -> [GestureEvent] {
        let seconds = movement.once.duration + 3
        var pipeline = MotionPipeline()
        var events: [GestureEvent] = []
        let rested = MotionSequence([Rest(8), movement.once])
        for sample in GestureTuningTests.samples(of: rested, seconds: 8 + seconds) {
            pipeline.process(sample) { events.append($0) }
        }
        return events
    }

    @Test(arguments: movements.indices)
    func cancelsTheGestureOnce(of index: Int) throws {
        let (movement, gesture, reason) = Self.movements[index]
        let phases = Self.events(of: movement).filter { $0.gesture == gesture && $0.phase != .changed }
        #expect(phases.count == 2, "\(movement): \(phases)")
        #expect(phases.first?.phase == .began, "\(movement)")
        #expect(phases.last?.phase == .cancelled && phases.last?.reason == reason, "\(movement): \(phases)")
    }
}
