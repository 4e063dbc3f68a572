internal import JostleCommandLine
internal import MotionCore

/// The customary units of sensor noise, and their conversion from SI.
struct NoiseUnits {
    struct Unit {
        let name: String
        let scale: Double

        /// An SI value in this unit, for people.
        func text(_ value: Double) -> String { "\(threeDigits(value * scale)) \(name)" }
    }

    /// From rad/s/√Hz or m/s²/√Hz.
    let density: Unit
    /// From rad/√s or m/s/√s.
    let randomWalk: Unit
    /// From rad/s or m/s²: bias instability and the curve itself.
    let bias: Unit
    /// From rad/s/√s or m/s²/√s.
    let biasWalk: Unit

    /// Square root of the seconds in an hour.
    private static let rootHour = 60.0

    static let gyroscope = NoiseUnits(
        density: Unit(name: "°/s/√Hz", scale: degreesPerRadian),
        randomWalk: Unit(name: "°/√h", scale: degreesPerRadian * rootHour),
        bias: Unit(name: "°/h", scale: degreesPerRadian * 3600),
        biasWalk: Unit(name: "°/h/√h", scale: degreesPerRadian * 3600 * rootHour))

    static let accelerometer = NoiseUnits(
        density: Unit(name: "µg/√Hz", scale: 1e6 / standardGravity),
        randomWalk: Unit(name: "m/s/√h", scale: rootHour),
        bias: Unit(name: "mg", scale: 1e3 / standardGravity),
        biasWalk: Unit(name: "mg/√h", scale: 1e3 / standardGravity * rootHour))
}
