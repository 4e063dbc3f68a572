import Glibc
import MotionCore

/// Consecutive samples, at 200 Hz, of a board that rests and is shaken.
struct Movement {
    static let rate = 200.0

    /// Specific force of the resting board, m/s².
    private(set) var gravity: Vector3
    /// The time of the next sample, s. Its start is arbitrary, since nothing reads a clock.
    private(set) var time = 100.0

    init(rolledBy degrees: Double = 0) {
        gravity = Quaternion(roll: degrees * radiansPerDegree, pitch: 0, yaw: 0)
            .unrotate(Vector3(0, 0, standardGravity))
    }

    mutating func rest(_ seconds: Double) -> [MotionSample] {
        samples(seconds) { _ in .zero }
    }

    /// A shake along x with 2 g at 5 Hz.
    mutating func shake(_ seconds: Double) -> [MotionSample] {
        samples(seconds) { Vector3(2 * standardGravity * sin(2 * .pi * 5 * $0), 0, 0) }
    }

    /// A turn about x within a second.
    mutating func roll(by degrees: Double) -> [MotionSample] {
        let step = Quaternion(roll: degrees * radiansPerDegree / Self.rate, pitch: 0, yaw: 0)
        return (0..<Int(Self.rate)).flatMap { _ in
            gravity = step.unrotate(gravity)
            var samples = rest(1 / Self.rate)
            samples[0].rotationRate.x = degrees * radiansPerDegree
            return samples
        }
    }

    /// A rest that is long enough for a gesture to start, a shake, and the rest that ends it.
    mutating func wholeShake() -> [MotionSample] {
        rest(2) + shake(1.2) + rest(1)
    }

    /// A rest and a shake that has not ended.
    mutating func openShake() -> [MotionSample] {
        rest(2) + shake(1)
    }

    /// The same movements from the start.
    static func rest(_ seconds: Double, rolledBy degrees: Double = 0) -> [MotionSample] {
        var movement = Movement(rolledBy: degrees)
        return movement.rest(seconds)
    }

    static func wholeShake() -> [MotionSample] {
        var movement = Movement()
        return movement.wholeShake()
    }

    static func openShake() -> [MotionSample] {
        var movement = Movement()
        return movement.openShake()
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

extension MotionSettings {
    /// Default settings with all gestures but shakes switched off: for tests that count a movement's events.
    static var shakesOnly: MotionSettings {
        var settings = MotionSettings()
        for gesture in Gesture.allCases { settings.gestures[gesture].isEnabled = gesture == .shake }
        return settings
    }
}
