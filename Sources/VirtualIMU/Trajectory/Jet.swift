internal import Glibc

/// A quantity that changes with time, together with its first and second derivative.
///
/// Trajectories are written in jets, which apply the rules of differentiation. So their rates and accelerations are the
/// exact derivatives of their angles and positions.
struct Jet {
    var value: Double
    var first: Double
    var second: Double

    init(_ value: Double, _ first: Double, _ second: Double) {
        self.value = value
        self.first = first
        self.second = second
    }

    /// A constant quantity.
    init(constant: Double) {
        self.init(constant, 0, 0)
    }

    /// A quantity that grows linearly: `rate` times the time.
    init(time: Double, rate: Double) {
        self.init(rate * time, rate, 0)
    }

    static func + (a: Jet, b: Jet) -> Jet { Jet(a.value + b.value, a.first + b.first, a.second + b.second) }

    static func * (k: Double, a: Jet) -> Jet { Jet(k * a.value, k * a.first, k * a.second) }

    static func * (a: Jet, b: Jet) -> Jet {
        Jet(
            a.value * b.value, a.first * b.value + a.value * b.first,
            a.second * b.value + 2 * a.first * b.first + a.value * b.second)
    }

    /// The sine of a quantity in radians.
    static func sine(_ x: Jet) -> Jet {
        let s = sin(x.value)
        let c = cos(x.value)
        return Jet(s, c * x.first, c * x.second - s * x.first * x.first)
    }

    /// The cosine of a quantity in radians.
    static func cosine(_ x: Jet) -> Jet {
        let s = sin(x.value)
        let c = cos(x.value)
        return Jet(c, -s * x.first, -s * x.second - c * x.first * x.first)
    }

    /// Rises from 0 to 1 within `duration` seconds, with a continuous second derivative at both ends.
    ///
    /// The polynomial of least degree with this property: 10u³ - 15u⁴ + 6u⁵.
    static func smoothStep(_ time: Double, over duration: Double) -> Jet {
        guard time > 0 else { return Jet(constant: 0) }
        guard time < duration else { return Jet(constant: 1) }
        let u = time / duration
        let v = 1 - u
        return Jet(
            u * u * u * (10 - u * (15 - 6 * u)), 30 * u * u * v * v / duration,
            60 * u * v * (v - u) / (duration * duration))
    }

    /// The integral of `smoothStep` over time; after `duration` it grows by 1 per second.
    static func smoothRamp(_ time: Double, over duration: Double) -> Jet {
        guard time > 0 else { return Jet(constant: 0) }
        guard time < duration else { return Jet(time - 0.5 * duration, 1, 0) }
        let u = time / duration
        let step = smoothStep(time, over: duration)
        return Jet(duration * u * u * u * u * (2.5 - u * (3 - u)), step.value, step.first)
    }

    /// Rises from 0 to 1 within `ramp` seconds, and falls back to 0 in the last `ramp` seconds of `duration`.
    static func envelope(_ time: Double, duration: Double, ramp: Double) -> Jet {
        if time < duration - ramp { return smoothStep(time, over: ramp) }
        let fall = smoothStep(time - (duration - ramp), over: ramp)
        return Jet(constant: 1) + -1 * fall
    }
}
