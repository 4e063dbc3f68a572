import MotionCore
import Testing
import VirtualIMU

/// Movements that can be simulated by name cause the gesture after which they are named, once per period.
@Suite struct HandlingTrajectoryTests {
    @Test(arguments: [
        (VirtualTrajectory.toss, Gesture.fall, 5.0), (.drop, .fall, 5), (.bump, .impact, 4), (.flip, .flip, 2.5),
        (.flip180, .flip, 3), (.tilt, .tilt, 7), (.carry, .motion, 20),
    ])
    func trajectoryCausesItsGesture(name: VirtualTrajectory, gesture: Gesture, period: Double) {
        var feed = TrajectoryFeed()
        feed.follow(name.trajectory, seconds: 4 * period + 0.9)
        let starts = feed.events(of: gesture).filter { $0.phase == .began || $0.phase == .recognized }
        #expect(starts.count == 4)
        if gesture == .flip {
            let angles = Set(starts.map { $0.angle ?? 0 })
            #expect(angles == [name == .flip ? 0.5 * .pi : .pi])
            let sides = starts.map(\.to)
            let there: BodySide = name == .flip ? .plusY : .minusZ
            #expect(sides == [there, .plusZ, there, .plusZ])
        }
        if gesture == .impact {
            #expect(Set(starts.map(\.side)) == [.minusX])
        }
    }
}
