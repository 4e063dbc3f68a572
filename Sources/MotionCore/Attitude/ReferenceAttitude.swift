/// The attitude that is published as zero, and when it is taken.
package struct ReferenceAttitude: Sendable, BitwiseCopyable {
    /// Seconds of rest after which the first reference is taken. A rest is detected after 1.5 s; by then the filter knows
    /// the gyroscope's bias, and 1.5 s later its tilt is within 0.05° (bias 5 °/s, 200 Hz, cold start).
    static let restTime = 1.5

    /// Seconds after the start at which the reference is taken even if the body has not rested.
    package static let deadline = 30.0

    /// The angle, rad, between the vertical that the filter knows and the one that the accelerometer measured during the
    /// rest, above which the filter has not settled yet.
    static let tolerance = 0.25 * radiansPerDegree

    /// The wait for the first rest: seconds until the deadline, seconds of rest so far, mean specific force during it.
    private struct Wait: Sendable, BitwiseCopyable {
        var remaining = ReferenceAttitude.deadline
        var rested = 0.0
        var sum = Vector3.zero
    }

    private var wait: Wait?

    /// The reference; `nil` while attitude is told relative to the vertical and the start's heading.
    package private(set) var attitude: Quaternion? {
        didSet { up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1) }
    }

    /// The unit vector in the body that points up when the body has this attitude, or lies flat where there is none.
    package private(set) var up = Vector3(0, 0, 1)

    /// How the reference came about.
    package private(set) var origin = ReferenceOrigin.none

    /// Whether the reference is still to be taken, at the first rest.
    package var isAwaitingRest: Bool { wait != nil }

    /// Makes the reference of a source that starts now.
    ///
    /// - Parameters:
    ///   - policy: where the reference comes from.
    ///   - stored: the one kept from an earlier run, which `.stored` begins with.
    package init(policy: ReferencePolicy, stored: Quaternion? = nil) {
        attitude = policy == .stored ? stored : nil
        // An initialiser's own assignments go past `didSet`.
        up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1)
        origin = attitude == nil ? .none : .request
        wait = policy == .start ? Wait() : nil
    }

    /// Makes `attitude` zero, or its heading alone: roll and pitch then keep being told from the vertical.
    ///
    /// The heading is the yaw that is published. At a pitch of ±90°, where only yaw with roll is defined, it is both.
    package mutating func take(_ attitude: Quaternion, headingOnly: Bool = false) {
        let attitude = attitude.normalized
        self.attitude =
            headingOnly ? Quaternion(angle: attitude.eulerAngles.yaw, axis: Vector3(0, 0, 1)) : attitude
        origin = .request
        wait = nil
    }

    /// Forgets the reference.
    package mutating func clear() {
        attitude = nil
        origin = .none
        wait = nil
    }

    /// Takes the reference of the policy `.start` once the body has rested and the filter has settled.
    ///
    /// - Parameters:
    ///   - attitude: the filter's.
    ///   - acceleration: specific force, m/s², body frame; not-a-number if the sample has none.
    ///   - isAtRest: whether the filter is estimating the gyroscope's bias from a rest.
    ///   - interval: seconds since the sample before.
    mutating func update(_ attitude: Quaternion, acceleration: Vector3, isAtRest: Bool, interval: Double) {
        guard var present = wait else { return }
        present.remaining -= interval
        if isAtRest, acceleration.isFinite {
            present.rested += interval
            present.sum += acceleration * interval
        } else if !isAtRest {
            present.rested = 0
            present.sum = .zero
        }
        wait = present
        if present.rested >= ReferenceAttitude.restTime {
            let vertical = attitude.unrotate(Vector3(0, 0, 1))
            if present.sum.angle(to: vertical) <= ReferenceAttitude.tolerance {
                take(attitude)
                origin = .rest
                return
            }
            // Not settled: look at the next stretch of the rest.
            wait?.rested = 0
            wait?.sum = .zero
        }
        if present.remaining <= 0 {
            take(attitude)
            origin = .deadline
        }
    }

    /// The attitude seen from the reference: `q_ref⁻¹ · q`.
    package func relative(_ attitude: Quaternion) -> Quaternion {
        guard let reference = self.attitude else { return attitude }
        return reference.conjugate * attitude
    }
}
