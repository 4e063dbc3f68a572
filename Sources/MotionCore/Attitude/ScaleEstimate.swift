/// A gyroscope's estimated scale and misalignment beyond its calibration, element by element, with the uncertainty.
///
/// The true rate is (1 + K) times the calibrated, bias-free one. Elements are ratios: 0.01 on the diagonal is 1 % of
/// scale, 0.01 off the diagonal is 0.57° of misalignment. `AttitudeFilter` estimates K in body axes. It is stored in
/// sensor axes, because it belongs to the chip and not to a mounting.
public struct ScaleEstimate: Equatable, Sendable, BitwiseCopyable {
    /// K: the part of rate `column` that appears in rate `row`, beyond the identity.
    public var scale: Matrix3

    /// The standard deviation of each element of K.
    public var deviation: Matrix3

    @inlinable
    public init(scale: Matrix3, deviation: Matrix3) {
        self.scale = scale
        self.deviation = deviation
    }

    /// Whether all numbers are finite and all deviations positive.
    public var isUsable: Bool {
        scale.row0.isFinite && scale.row1.isFinite && scale.row2.isFinite && deviation.row0.isFinite
            && deviation.row1.isFinite && deviation.row2.isFinite && deviation.smallestElement > 0
    }

    /// The estimate in axes into which `rotation` turns the present ones: R·K·Rᵀ.
    ///
    /// The variances are propagated as if the elements were independent. This is exact if axes are only exchanged and
    /// reversed, as in most mountings. Otherwise it evens out the deviations and keeps the sum of the variances.
    public func turned(by rotation: Matrix3) -> ScaleEstimate {
        let shares = rotation.mapElements { $0 * $0 }
        let variance = shares * deviation.mapElements { $0 * $0 } * shares.transposed
        return ScaleEstimate(
            scale: rotation * scale * rotation.transposed, deviation: variance.mapElements { $0.squareRoot() })
    }
}
