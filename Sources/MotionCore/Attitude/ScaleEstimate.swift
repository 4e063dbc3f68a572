/// What is known of a gyroscope's scale and misalignment beyond its calibration, element by element, with its uncertainty.
///
/// The true rate is (1 + K) times the calibrated, bias-free one. An element is a ratio: 0.01 in the diagonal is 1 % of
/// scale, 0.01 beside it 0.57° of misalignment. `AttitudeFilter` learns it in the body's axes; it is kept in the sensor's,
/// where it belongs to the chip and to no mounting.
public struct ScaleEstimate: Equatable, Sendable, BitwiseCopyable {
    /// K: how much of rate `column` appears in rate `row`, beyond the identity.
    public var scale: Matrix3

    /// The standard deviation of each element of K.
    public var deviation: Matrix3

    /// Makes an estimate of its parts.
    @inlinable
    public init(scale: Matrix3, deviation: Matrix3) {
        self.scale = scale
        self.deviation = deviation
    }

    /// Whether every number is one, and every deviation above zero.
    public var isUsable: Bool {
        scale.row0.isFinite && scale.row1.isFinite && scale.row2.isFinite && deviation.row0.isFinite
            && deviation.row1.isFinite && deviation.row2.isFinite && deviation.smallestElement > 0
    }

    /// The same along axes into which `rotation` turns the present ones: R·K·Rᵀ.
    ///
    /// Each element's variance is spread as if the elements were independent, which is exact where axes are exchanged and
    /// reversed, as most mountings do; otherwise it evens the deviations out and keeps the sum of the variances.
    public func turned(by rotation: Matrix3) -> ScaleEstimate {
        let shares = rotation.mapElements { $0 * $0 }
        let variance = shares * deviation.mapElements { $0 * $0 } * shares.transposed
        return ScaleEstimate(
            scale: rotation * scale * rotation.transposed, deviation: variance.mapElements { $0.squareRoot() })
    }
}
