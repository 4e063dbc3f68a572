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

    /// The reference; `nil` while the attitude is relative to the vertical and the initial heading.
    package private(set) var attitude: Quaternion? {
        didSet { up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1) }
    }

    /// The unit vector in the body that points up in the reference attitude, or when the body lies flat if there is
    /// none.
    package private(set) var up = Vector3(0, 0, 1)

    /// How the reference came about.
    package private(set) var origin = ReferenceOrigin.none

    /// Whether the reference is still to be taken, at the first rest.
    package var isAwaitingRest: Bool { wait != nil }

    /// - Parameters:
    ///   - policy: where the reference comes from.
    ///   - stored: the reference of an earlier run, for the policy `.stored`.
    package init(policy: ReferencePolicy, stored: Quaternion? = nil) {
        attitude = policy == .stored ? stored : nil
        // `didSet` is not called for assignments in an initialiser.
        up = attitude?.unrotate(Vector3(0, 0, 1)) ?? Vector3(0, 0, 1)
        origin = attitude == nil ? .none : .request
        wait = policy == .start ? Wait() : nil
    }

    /// Makes `attitude` the reference, or its heading only: roll and pitch then stay relative to the vertical.
    ///
    /// The heading is the published yaw. At a pitch of ±90° yaw includes roll, because only their combination is
    /// defined.
    package mutating func take(_ attitude: Quaternion, headingOnly: Bool = false) {
        let attitude = attitude.normalized
        self.attitude =
            headingOnly ? Quaternion(angle: attitude.eulerAngles.yaw, axis: Vector3(0, 0, 1)) : attitude
        origin = .request
        wait = nil
    }

    /// Removes the reference.
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

    /// The attitude relative to the reference: `q_ref⁻¹ · q`.
    package func relative(_ attitude: Quaternion) -> Quaternion {
        guard let reference = self.attitude else { return attitude }
        return reference.conjugate * attitude
    }
}

/// Where the reference attitude, which is published as zero, comes from.
public enum ReferencePolicy: UInt8, CaseIterable, Sendable {
    /// No reference until a user takes one.
    case none
    /// The attitude at the first rest after each start: the gyroscope's bias is known then, and the board reads zero. If it
    /// does not rest within 30 s, the attitude at that time. Until then there is none.
    case start
    /// The reference last taken, kept across restarts.
    case stored
}

/// How a reference attitude came about.
public enum ReferenceOrigin: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// There is none.
    case none
    /// A user took it, in this run or an earlier one.
    case request
    /// The policy `.start` took it at the first rest.
    case rest
    /// The policy `.start` took it because the body had not rested for 30 s. It may be off by some degrees.
    case deadline
}
