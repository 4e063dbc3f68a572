internal import CMotionMath

/// A rotation in one direction about one body axis.
///
/// The angle is the twist about the axis of the change of attitude since the beginning. So it is right even if the body
/// does not keep to the axis, and it continues beyond a full turn.
struct AxisRotation: Sendable, BitwiseCopyable {
    /// Rate below which there is no rotation, rad/s, and the seconds below it after which a rotation is over.
    static let restRate = 3 * radiansPerDegree
    static let restTime = 0.1

    /// Swinging to and fro: rotations of at least this many rad, each ending within this many seconds of the previous
    /// one.
    static let swingAngle = 15 * radiansPerDegree
    static let swingTime = 0.8

    let axis: BodyAxis
    /// +1 right-handed, −1 left-handed.
    private(set) var sign = 1.0
    /// When it began, s on the grid's clock.
    private(set) var start = 0.0
    /// The attitude at its beginning.
    private var from = Quaternion.identity
    /// The integral of the rate about the axis, rad.
    private(set) var integral = 0.0
    /// The highest rate, rad/s.
    private(set) var peak = 0.0
    private var slow = 0.0
    private var swing = 0.0
    private var swings = 0
    private var swingEnd = -Double.infinity

    /// Seconds from its beginning to its last movement.
    private(set) var duration = 0.0
    private var elapsed = 0.0

    init(axis: BodyAxis) {
        self.axis = axis
    }

    /// Restarts from the attitude `from`.
    mutating func restart(from attitude: Quaternion, at time: Double, sign: Double) {
        from = attitude
        start = time
        self.sign = sign
        integral = 0
        peak = 0
        duration = 0
        elapsed = 0
        slow = 0
    }

    /// Restarts from the attitude `from`, with the current attitude `to` and the current rate about the axis `rate`,
    /// rad/s.
    mutating func restart(
        from attitude: Quaternion, at time: Double, sign: Double, to: Quaternion, rate: Double, now: Double
    ) {
        restart(from: attitude, at: time, sign: sign)
        integral = angle(to: to, near: 0)
        peak = abs(rate)
        duration = now - time
        elapsed = duration
    }

    /// Whether there has been no rotation for `restTime`.
    var isResting: Bool { slow >= AxisRotation.restTime - 1e-9 }

    /// How often the body has just swung to and fro about the axis.
    func swings(at time: Double) -> Int { time - swingEnd > AxisRotation.swingTime ? 0 : swings }

    /// Counts swings. Unlike a rotation, a swing ends only when the body reverses.
    mutating func countSwings(rate: Double, at time: Double) {
        if rate * swing < 0, abs(rate) > AxisRotation.restRate {
            if abs(swing) >= AxisRotation.swingAngle {
                swings = swings(at: time) + 1
                swingEnd = time
            }
            swing = 0
        }
        swing += rate * CellGrid.cell
    }

    /// Resets the rotation and the swings.
    mutating func reset() {
        restart(from: .identity, at: 0, sign: 1)
        swing = 0
        swings = 0
        swingEnd = -.infinity
    }

    /// Processes the rate about the axis, rad/s, in the cell that ends at `time`; `before` is the attitude before the
    /// cell. Restarts when the rotation reverses or stops.
    mutating func update(rate: Double, before: Quaternion, at time: Double) {
        let speed = abs(rate)
        if speed < AxisRotation.restRate {
            slow += CellGrid.cell
            if isResting {
                let slow = slow
                restart(from: before, at: time - CellGrid.cell, sign: rate < 0 ? -1 : 1)
                self.slow = slow
            }
        } else {
            slow = 0
            if rate * sign < 0 { restart(from: before, at: time - CellGrid.cell, sign: -sign) }
        }
        integral += rate * CellGrid.cell
        elapsed += CellGrid.cell
        if speed >= AxisRotation.restRate { duration = elapsed }
        peak = max(peak, speed)
    }

    /// The angle turned up to the attitude `to`, rad; among the angles that differ by full turns, the one closest to
    /// `estimate`.
    func angle(to attitude: Quaternion, near estimate: Double) -> Double {
        let change = from.conjugate * attitude
        let component = axis == .x ? change.x : axis == .y ? change.y : change.z
        // If the axis has been turned upside down, the twist about it is undefined: use the integrated rate.
        guard component * component + change.w * change.w > 0.05 else { return estimate }
        let twist = 2 * atan2(component, change.w)
        return twist + 2 * .pi * ((estimate - twist) / (2 * .pi)).rounded()
    }
}

extension Quaternion {
    /// The attitude after a rotation about the body's axes by less than a radian; its norm is 1 if the present norm is
    /// close to 1.
    func turned(by rotation: Vector3) -> Quaternion {
        // A cell turns by 0.7 rad at most: a series is exact enough, and one Newton step keeps the norm.
        let square = 0.25 * rotation.lengthSquared
        let sine = 0.5 * (1 - square * (1.0 / 6 - square * (1.0 / 120)))
        let cosine = 1 - square * (0.5 - square * (1.0 / 24 - square * (1.0 / 720)))
        let next = self * Quaternion(cosine, sine * rotation.x, sine * rotation.y, sine * rotation.z)
        let k = 1.5 - 0.5 * next.normSquared
        return Quaternion(next.w * k, next.x * k, next.y * k, next.z * k)
    }
}
