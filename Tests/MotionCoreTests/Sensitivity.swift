import MotionCore
import Testing
import VirtualIMU

/// Requirement: what one sensitivity catches, every higher one catches too. The sizes say how strong, large or long a
/// movement is.
func expectHigherSensitivityCatchesMore(
    _ sizes: some Sequence<Double>, _ unit: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ catches: (_ size: Double, _ sensitivity: Int) -> Bool
) {
    for size in sizes {
        var caught = false
        for sensitivity in 1...10 {
            let now = catches(size, sensitivity)
            #expect(
                now || !caught, "\(size) \(unit) is missed at sensitivity \(sensitivity)",
                sourceLocation: sourceLocation)
            caught = caught || now
        }
    }
}

extension TrajectoryFeed {
    /// Whether a gesture is recognised in movements, with the default settings except for its sensitivity.
    static func recognises(_ gesture: Gesture, at sensitivity: Int, _ movements: any Trajectory...) -> Bool {
        var settings = GestureSettings()
        settings[gesture].sensitivity = sensitivity
        var feed = TrajectoryFeed(settings: settings)
        for movement in movements { feed.follow(movement) }
        return !feed.events(of: gesture).isEmpty
    }
}
