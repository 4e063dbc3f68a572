internal import Glibc
public import MotionCore

extension MotionSettings {
    /// The cut-off, Hz, of the low-pass `y += factor * (x - y)` that ported code applies to each frame.
    ///
    /// It is -ln(1 - factor) · f / 2π: at 60 frames a second, 28.6 Hz for a factor of 0.95, and 0.49 Hz for one of 0.05.
    ///
    /// - Parameters:
    ///   - factor: the weight of the new value, 0 to 1. Code in the form `y = a * y + (1 - a) * x` has the factor 1 - a.
    ///   - framesPerSecond: how often the code filters, Hz.
    /// - Returns: the cut-off for `attitudeLowPass` and its like. 0, which switches a low-pass off, for a factor of 1 and
    ///   for arguments outside their range.
    public static func cutoff(ofFactor factor: Double, framesPerSecond: Double) -> Double {
        guard factor > 0, factor < 1, framesPerSecond > 0 else { return 0 }
        return -log(1 - factor) * framesPerSecond / (2 * .pi)
    }
}
