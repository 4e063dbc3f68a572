internal import CMotionMath

/// A unit quaternion `w + xi + yj + zk` that rotates body vectors into earth vectors.
///
/// Body and earth frames are right-handed; earth z points up. See "Topics" in docs/mqtt.md.
public struct Quaternion: Equatable, Sendable, BitwiseCopyable {
    public var w: Double
    public var x: Double
    public var y: Double
    public var z: Double

    /// The scalar part comes first. The components are not normalised.
    @inlinable
    public init(_ w: Double, _ x: Double, _ y: Double, _ z: Double) {
        self.w = w
        self.x = x
        self.y = y
        self.z = z
    }

    /// No rotation.
    @inlinable
    public static var identity: Quaternion { Quaternion(1, 0, 0, 0) }

    /// The rotation by `angle` (rad, right-handed) about `axis`, which need not have length 1.
    public init(angle: Double, axis: Vector3) {
        let length = axis.length
        guard length > 0 else {
            self = .identity
            return
        }
        let s = sin(0.5 * angle) / length
        self.init(cos(0.5 * angle), axis.x * s, axis.y * s, axis.z * s)
    }

    /// The rotation by the vector `rotation` (rad): its length is the angle, its direction the axis.
    ///
    /// For vectors shorter than 0.1 rad a series is used, which is exact to rounding.
    public init(rotationVector rotation: Vector3) {
        let squared = 0.25 * rotation.lengthSquared
        if squared < 0.0025 {
            let cosine = 1 - squared * (1.0 / 2 - squared * (1.0 / 24 - squared * (1.0 / 720)))
            let half = 0.5 * (1 - squared * (1.0 / 6 - squared * (1.0 / 120 - squared * (1.0 / 5040))))
            self.init(cosine, half * rotation.x, half * rotation.y, half * rotation.z)
        } else {
            let halfAngle = squared.squareRoot()
            let half = 0.5 * sin(halfAngle) / halfAngle
            self.init(cos(halfAngle), half * rotation.x, half * rotation.y, half * rotation.z)
        }
    }

    /// The shortest rotation from the direction of `from` to the direction of `to`.
    public init(from: Vector3, to: Vector3) {
        guard let a = from.normalized, let b = to.normalized else {
            self = .identity
            return
        }
        let cosine = a.dot(b)
        if cosine < -0.999_999_999 {
            // Opposite directions: half a turn about any perpendicular axis.
            let helper = abs(a.x) < 0.9 ? Vector3(1, 0, 0) : Vector3(0, 1, 0)
            self.init(angle: .pi, axis: a.cross(helper))
            return
        }
        let axis = a.cross(b)
        self = Quaternion(1 + cosine, axis.x, axis.y, axis.z).normalized
    }

    /// The attitude with heading zero in which `force` points up: roll and pitch of a body at rest.
    public init(inclinationOf force: Vector3) {
        let roll = atan2(force.y, force.z)
        let pitch = atan2(-force.x, (force.y * force.y + force.z * force.z).squareRoot())
        self.init(roll: roll, pitch: pitch, yaw: 0)
    }

    /// The rotation from roll, pitch and yaw (rad): intrinsic Z-Y'-X'', yaw first.
    public init(roll: Double, pitch: Double, yaw: Double) {
        self =
            Quaternion(angle: yaw, axis: Vector3(0, 0, 1)) * Quaternion(angle: pitch, axis: Vector3(0, 1, 0))
            * Quaternion(angle: roll, axis: Vector3(1, 0, 0))
    }

    /// The inverse rotation (of a unit quaternion).
    @inlinable
    public var conjugate: Quaternion { Quaternion(w, -x, -y, -z) }

    /// The squared norm: 1, except for rounding.
    @inlinable
    public var normSquared: Double { w * w + x * x + y * y + z * z }

    /// The quaternion scaled to norm 1; the identity if the norm is zero or not finite.
    @inlinable
    public var normalized: Quaternion {
        let squared = normSquared
        guard squared > 0, squared.isFinite else { return .identity }
        let k = 1 / squared.squareRoot()
        return Quaternion(w * k, x * k, y * k, z * k)
    }

    /// First `b`, then `a`: the product rotates a vector by `b` and the result by `a`.
    @inlinable
    @inline(__always)
    public static func * (a: Quaternion, b: Quaternion) -> Quaternion {
        Quaternion(
            a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w)
    }

    /// Rotates a body vector into the earth frame.
    @inlinable
    public func rotate(_ v: Vector3) -> Vector3 {
        let u = Vector3(x, y, z)
        let t = 2 * u.cross(v)
        return v + w * t + u.cross(t)
    }

    /// Rotates an earth vector into the body frame.
    @inlinable
    public func unrotate(_ v: Vector3) -> Vector3 { conjugate.rotate(v) }

    /// The rotation as a matrix that turns body vectors into earth vectors.
    @inlinable
    @inline(__always)
    public var matrix: Matrix3 {
        let x2 = x + x
        let y2 = y + y
        let z2 = z + z
        let (xx, yy, zz) = (x * x2, y * y2, z * z2)
        let (xy, xz, yz) = (x * y2, x * z2, y * z2)
        let (wx, wy, wz) = (w * x2, w * y2, w * z2)
        return Matrix3(
            Vector3(1 - yy - zz, xy - wz, xz + wy), Vector3(xy + wz, 1 - xx - zz, yz - wx),
            Vector3(xz - wy, yz + wx, 1 - xx - yy))
    }

    /// The rotation vector (rad) of the shorter way round; its length is at most π.
    ///
    /// For rotations below 0.1 rad a series is used, which is exact to rounding.
    public var rotationVector: Vector3 {
        let cosine = abs(w)
        let u = w < 0 ? -Vector3(x, y, z) : Vector3(x, y, z)
        let squared = u.lengthSquared
        let t = squared / (cosine * cosine)
        guard t < 0.0025 else {
            let length = squared.squareRoot()
            return length > 0 ? u * (2 * atan2(length, cosine) / length) : u
        }
        let series = 1 - t * (1.0 / 3 - t * (1.0 / 5 - t * (1.0 / 7 - t * (1.0 / 9 - t * (1.0 / 11)))))
        return u * (2 * series / cosine)
    }

    /// The angle (rad, 0 … π) of the rotation between two attitudes.
    public func angle(to other: Quaternion) -> Double { (conjugate * other).rotationVector.length }

    /// The angle (rad, 0 … π) between this attitude's vertical and the other's, whatever their headings.
    public func inclination(to other: Quaternion) -> Double {
        let error = self * other.conjugate
        return 2
            * atan2(
                (error.x * error.x + error.y * error.y).squareRoot(),
                (error.w * error.w + error.z * error.z).squareRoot())
    }
}

/// Roll, pitch and yaw in radians: intrinsic Z-Y'-X'', yaw about z, pitch about y in ±π/2, roll about x.
public struct EulerAngles: Equatable, Sendable, BitwiseCopyable {
    public var roll: Double
    public var pitch: Double
    public var yaw: Double

    @inlinable
    public init(roll: Double, pitch: Double, yaw: Double) {
        self.roll = roll
        self.pitch = pitch
        self.yaw = yaw
    }
}

extension Quaternion {
    /// Roll, pitch and yaw of this attitude.
    /// At a pitch of ±90° only the sum or the difference of roll and yaw is defined. Roll is then zero and yaw has the
    /// whole turn.
    public var eulerAngles: EulerAngles {
        let sine = max(-1, min(1, 2 * (w * y - x * z)))
        guard abs(sine) < 0.999_999_999 else {
            let yaw = sine > 0 ? -2 * atan2(x, w) : 2 * atan2(x, w)
            return EulerAngles(roll: 0, pitch: sine > 0 ? .pi / 2 : -.pi / 2, yaw: Quaternion.wrapped(yaw))
        }
        return EulerAngles(
            roll: atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), pitch: asin(sine),
            yaw: atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    }

    /// The equivalent angle (rad) between -π and π.
    static func wrapped(_ angle: Double) -> Double {
        angle > .pi ? angle - 2 * .pi : angle < -.pi ? angle + 2 * .pi : angle
    }
}
