import Glibc
import MotionCore

/// Samples of a board that rests and is shaken, one movement after the other, 200 a second.
struct Movement {
    static let rate = 200.0

    /// Specific force of the resting board, m/s².
    var gravity = Vector3(0, 0, standardGravity)
    /// The instant of the next sample, s; as good as any, since nothing looks at a clock.
    private(set) var time = 100.0

    mutating func rest(_ seconds: Double) -> [MotionSample] {
        samples(seconds) { _ in .zero }
    }

    /// Along x with 2 g, five times to and fro a second.
    mutating func shake(_ seconds: Double) -> [MotionSample] {
        samples(seconds) { Vector3(2 * standardGravity * sin(2 * .pi * 5 * $0), 0, 0) }
    }

    /// A rest long enough to come out of, a shake, and the quiet in which it ends.
    mutating func wholeShake() -> [MotionSample] {
        rest(2) + shake(1.2) + rest(1)
    }

    /// A rest and a shake that goes on.
    mutating func openShake() -> [MotionSample] {
        rest(2) + shake(1)
    }

    private mutating func samples(_ seconds: Double, _ linear: (Double) -> Vector3) -> [MotionSample] {
        (0..<Int((seconds * Self.rate).rounded())).map { index in
            defer { time += 1 / Self.rate }
            return MotionSample(
                timestamp: Timestamp(seconds: time), acceleration: gravity + linear(Double(index) / Self.rate),
                rotationRate: .zero, temperature: 21.5)
        }
    }
}

/// The specific force of a board that rests rolled by `degrees`.
func gravity(rolledBy degrees: Double) -> Vector3 {
    Quaternion(roll: degrees * radiansPerDegree, pitch: 0, yaw: 0).unrotate(Vector3(0, 0, standardGravity))
}

extension MotionSettings {
    /// Default settings with all gestures but shakes switched off: for tests that count a movement's events.
    static var shakesOnly: MotionSettings {
        var settings = MotionSettings()
        for gesture in Gesture.allCases { settings.gestures[gesture].isEnabled = gesture == .shake }
        return settings
    }
}
