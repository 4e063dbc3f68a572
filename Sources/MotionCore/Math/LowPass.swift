internal import CMotionMath

/// The coefficients of a second-order Butterworth low-pass for one sample period.
///
/// The filter is a state-variable filter discretised by the trapezoidal rule (Zavalishin, The Art of VA Filter Design,
/// chapter 4). Its two states are physical, so cut-off and sample period may change while it runs without a jump of the
/// output.
struct ButterworthCoefficients: Equatable, Sendable, BitwiseCopyable {
    private(set) var a1 = 0.0
    private(set) var a2 = 0.0
    private(set) var a3 = 0.0
    private var cutoff = 0.0
    private var interval = 0.0

    /// Sets a cut-off (Hz) and a sample period (s). Computes nothing if they differ by less than 0.1 % from those in
    /// use.
    mutating func prepare(cutoff: Double, interval: Double) {
        if cutoff == self.cutoff, abs(interval - self.interval) <= 0.001 * self.interval { return }
        self.cutoff = cutoff
        self.interval = interval
        // Above 0.45 of the sample rate the tangent diverges, and such a low-pass would change nothing.
        let g = tan(.pi * min(cutoff * interval, 0.45))
        a1 = 1 / (1 + g * (g + 2.0.squareRoot()))
        a2 = g * a1
        a3 = g * a2
    }
}

/// A second-order Butterworth low-pass on the three components of a vector.
package struct VectorLowPass: Sendable, BitwiseCopyable {
    /// -3 dB frequency, Hz; 0 turns the filter off.
    package var cutoff: Double

    private var coefficients = ButterworthCoefficients()
    private var integrator1 = Vector3.zero
    private var integrator2 = Vector3.zero
    private var isPrimed = false

    /// The filtered vector; zero before the first update.
    package private(set) var output = Vector3.zero

    /// The first input becomes the steady state.
    package init(cutoff: Double) {
        self.cutoff = cutoff
    }

    /// Resets the filter: the next input is the next output.
    package mutating func reset() {
        isPrimed = false
    }

    /// Continues from `value`, as if it had always been the input.
    package mutating func reset(to value: Vector3) {
        integrator1 = .zero
        integrator2 = value
        output = value
        isPrimed = true
    }

    /// Filters the input, `interval` seconds after the previous one, and returns the output.
    @discardableResult
    package mutating func update(_ input: Vector3, interval: Double) -> Vector3 {
        guard cutoff > 0, isPrimed, interval > 0 else {
            reset(to: input)
            return input
        }
        coefficients.prepare(cutoff: cutoff, interval: interval)
        let v3 = input - integrator2
        let v1 = coefficients.a1 * integrator1 + coefficients.a2 * v3
        let v2 = integrator2 + coefficients.a2 * integrator1 + coefficients.a3 * v3
        integrator1 = 2 * v1 - integrator1
        integrator2 = 2 * v2 - integrator2
        output = v2
        return v2
    }
}

/// A first-order low-pass on the rotation group: the output turns towards the input by a share of the angle between
/// them.
///
/// Filtering angles would fail where they wrap, and filtered quaternion components are not a rotation.
package struct AttitudeLowPass: Sendable, BitwiseCopyable {
    /// -3 dB frequency, Hz; 0 turns the filter off.
    package var cutoff: Double

    /// The filtered attitude.
    package private(set) var output = Quaternion.identity

    private var isPrimed = false
    private var share = 1.0
    private var shareCutoff = 0.0
    private var shareInterval = 0.0

    /// The first input is the first output.
    package init(cutoff: Double) {
        self.cutoff = cutoff
    }

    /// Resets the filter: the next input is the next output.
    package mutating func reset() {
        isPrimed = false
    }

    /// Filters the input, `interval` seconds after the previous one, and returns the output.
    @discardableResult
    package mutating func update(_ input: Quaternion, interval: Double) -> Quaternion {
        guard cutoff > 0, isPrimed, interval > 0 else {
            output = input
            isPrimed = true
            return input
        }
        if cutoff != shareCutoff || abs(interval - shareInterval) > 0.001 * shareInterval {
            shareCutoff = cutoff
            shareInterval = interval
            share = 1 - exp(-2 * .pi * cutoff * interval)
        }
        let step = (output.conjugate * input).rotationVector * share
        output = (output * Quaternion(rotationVector: step)).normalized
        return output
    }
}
