import MotionCore
import Testing
import VirtualIMU

/// Requirement: with `directions`, flicks in other directions are not reported and do not hinder those that are.
@Suite struct FlickDirectionTests {
    private static let y = Vector3(0, 1, 0)

    private static func feed(_ directions: MotionDirections) -> MovementFeed {
        var settings = MotionSettings()
        settings.gestures.flick.directions = directions
        var feed = MovementFeed(settings)
        feed.rest(3)
        return feed
    }

    private static func flick(_ axis: Vector3) -> Flick { Flick(axis: axis, amplitude: 18, duration: 0.18) }

    private static let flicks: [(MotionDirection, Vector3)] = [
        (.left, y), (.right, -1 * y), (.up, Vector3(0, 0, 1)), (.down, Vector3(0, 0, -1)), (.forward, Vector3(1, 0, 0)),
        (.backward, Vector3(-1, 0, 0)),
    ]

    @Test(arguments: MotionDirection.allCases)
    func oneDirectionWithoutTheOthers(wanted: MotionDirection) {
        var feed = Self.feed(MotionDirections(wanted))
        for (_, axis) in Self.flicks {
            feed.move(Self.flick(axis), Rest(1))
        }
        #expect(feed.events(of: .flick).map(\.direction) == [wanted])
        let misses = feed.misses.filter { $0.gesture == .flick }
        #expect(misses.allSatisfy { $0.reason == .otherDirection })
        let others = Self.flicks.map(\.0).filter { $0 != wanted }
        #expect(misses.map(\.direction) == others)
    }

    @Test func listHasSeveral() {
        var feed = Self.feed([MotionDirections(.left), MotionDirections(.up)])
        for (_, axis) in Self.flicks {
            feed.move(Self.flick(axis), Rest(1))
        }
        #expect(feed.events(of: .flick).map(\.direction) == [.left, .up])
    }

    /// The board is back 1.4 s after a flick. There is no cooldown after a flick that was not reported, but its way back is not a flick to the other side.
    @Test func unwantedFlickBlocksOnlyItsWayBack() {
        func directions(after pause: Double, _ axis: Vector3, _ wanted: MotionDirection) -> [MotionDirection?] {
            var settings = MotionSettings()
            settings.gestures.flick.directions = MotionDirections(wanted)
            settings.gestures.flick.common.cooldown = 2
            var feed = MovementFeed(settings)
            feed.move(Rest(3), Self.flick(Self.y), Rest(pause), Self.flick(axis), Rest(2))
            return feed.events(of: .flick).map(\.direction)
        }
        #expect(directions(after: 0.1, -1 * Self.y, .right).isEmpty)
        #expect(directions(after: 1, -1 * Self.y, .right) == [.right])
        #expect(directions(after: 0.1, Vector3(0, 0, 1), .up) == [.up])
    }

    @Test func changesWhileItRuns() {
        var feed = Self.feed(.all)
        var settings = MotionSettings()
        settings.gestures.flick.directions = MotionDirections(.right)
        feed.pipeline.apply(settings) { _ in }
        feed.move(Self.flick(Self.y), Rest(2))
        #expect(feed.events(of: .flick).isEmpty)
        feed.pipeline.apply(MotionSettings()) { _ in }
        feed.move(Self.flick(Self.y), Rest(2))
        #expect(feed.events(of: .flick).map(\.direction) == [.left])
    }
}
