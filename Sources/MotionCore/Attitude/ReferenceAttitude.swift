/// The attitude that is published as zero, and when it is taken.
package struct ReferenceAttitude: Sendable, BitwiseCopyable {
    /// Seconds after the first sample at which the policy `.start` takes the reference: the filter has found the
    /// vertical by then.
    static let settlingTime = 1.0

    private var remaining: Double?

    /// The reference; `nil` while the attitude is relative to the vertical and the initial heading.
    package private(set) var attitude: Quaternion? {
        didSet { up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1) }
    }

    /// The unit vector in the body that points up in the reference attitude, or when the body lies flat if there is
    /// none.
    package private(set) var up = Vector3(0, 0, 1)

    /// Whether the policy took the reference, and not a user.
    package private(set) var isAutomatic = false

    /// - Parameters:
    ///   - policy: where the reference comes from.
    ///   - stored: the reference of an earlier run, for the policy `.stored`.
    package init(policy: ReferencePolicy, stored: Quaternion? = nil) {
        attitude = policy == .stored ? stored : nil
        // `didSet` is not called for assignments in an initialiser.
        up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1)
        remaining = policy == .start ? ReferenceAttitude.settlingTime : nil
    }

    /// Makes `attitude` the reference, or its heading only: roll and pitch then stay relative to the vertical.
    ///
    /// The heading is the published yaw. At a pitch of ±90° yaw includes roll, because only their combination is
    /// defined.
    package mutating func take(_ attitude: Quaternion, headingOnly: Bool = false) {
        let attitude = attitude.normalized
        self.attitude =
            headingOnly ? Quaternion(angle: attitude.eulerAngles.yaw, axis: Vector3(0, 0, 1)) : attitude
        isAutomatic = false
        remaining = nil
    }

    /// Removes the reference.
    package mutating func clear() {
        attitude = nil
        remaining = nil
    }

    /// Takes the reference once the settling time is over, if the policy is `.start`.
    mutating func update(_ attitude: Quaternion, interval: Double) {
        guard let left = remaining else { return }
        if left > interval {
            remaining = left - interval
        } else {
            take(attitude)
            isAutomatic = true
        }
    }

    /// The attitude relative to the reference: `q_ref⁻¹ · q`.
    package func relative(_ attitude: Quaternion) -> Quaternion {
        guard let reference = self.attitude else { return attitude }
        return reference.conjugate * attitude
    }
}
