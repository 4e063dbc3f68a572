/// The attitude that is published as zero, and when it is taken.
package struct ReferenceAttitude: Sendable, BitwiseCopyable {
    /// Seconds after the first sample at which a reference is taken by itself: the filter has found the vertical then.
    static let settlingTime = 1.0

    private var remaining: Double?

    /// The reference; `nil` while attitude is told relative to the vertical and the start's heading.
    package private(set) var attitude: Quaternion? {
        didSet { up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1) }
    }

    /// The unit vector in the body that points up when the body has this attitude, or lies flat where there is none.
    package private(set) var up = Vector3(0, 0, 1)

    /// Whether the reference was taken by itself, and not because somebody wanted this very attitude.
    package private(set) var isAutomatic = false

    /// Makes the reference of a source that starts now.
    ///
    /// - Parameters:
    ///   - policy: where the reference comes from.
    ///   - stored: the one kept from an earlier run, which `.stored` begins with.
    package init(policy: ReferencePolicy, stored: Quaternion? = nil) {
        attitude = policy == .stored ? stored : nil
        // An initialiser's own assignments go past `didSet`.
        up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1)
        remaining = policy == .start ? ReferenceAttitude.settlingTime : nil
    }

    /// Makes `attitude` zero, or its heading alone: roll and pitch then keep being told from the vertical.
    ///
    /// The heading is the yaw that is published. At a pitch of ±90°, where only yaw with roll is defined, it is both.
    package mutating func take(_ attitude: Quaternion, headingOnly: Bool = false) {
        let attitude = attitude.normalized
        self.attitude =
            headingOnly ? Quaternion(angle: attitude.eulerAngles.yaw, axis: Vector3(0, 0, 1)) : attitude
        isAutomatic = false
        remaining = nil
    }

    /// Forgets the reference.
    package mutating func clear() {
        attitude = nil
        remaining = nil
    }

    /// Takes the reference by itself once its time has come.
    mutating func update(_ attitude: Quaternion, interval: Double) {
        guard let left = remaining else { return }
        if left > interval {
            remaining = left - interval
        } else {
            take(attitude)
            isAutomatic = true
        }
    }

    /// The attitude seen from the reference: `q_ref⁻¹ · q`.
    package func relative(_ attitude: Quaternion) -> Quaternion {
        guard let reference = self.attitude else { return attitude }
        return reference.conjugate * attitude
    }
}
