internal import CMotionMath

/// A vector of three components. The place of use states its frame and unit.
public struct Vector3: Equatable, Sendable, BitwiseCopyable {
    public var x: Double
    public var y: Double
    public var z: Double

    @inlinable
    public init(_ x: Double, _ y: Double, _ z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    /// The zero vector.
    @inlinable
    public static var zero: Vector3 { Vector3(0, 0, 0) }

    /// A vector whose components are all not-a-number: a quantity that the sensor does not measure.
    @inlinable
    public static var unknown: Vector3 { Vector3(.nan, .nan, .nan) }

    /// The component along axis 0 (x), 1 (y) or 2 (z).
    @inlinable
    public subscript(axis: Int) -> Double {
        get { axis == 0 ? x : axis == 1 ? y : z }
        set {
            switch axis {
            case 0: x = newValue
            case 1: y = newValue
            default: z = newValue
            }
        }
    }

    /// The squared length.
    @inlinable
    public var lengthSquared: Double { x * x + y * y + z * z }

    /// The length.
    @inlinable
    public var length: Double { lengthSquared.squareRoot() }

    /// Whether every component is a finite number.
    @inlinable
    public var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }

    /// The vector of the same direction and length 1, or `nil` for the zero vector.
    @inlinable
    public var normalized: Vector3? {
        let length = self.length
        return length > 0 ? self * (1 / length) : nil
    }

    /// The scalar product.
    @inlinable
    public func dot(_ other: Vector3) -> Double { x * other.x + y * other.y + z * other.z }

    /// The vector product, right-handed.
    @inlinable
    public func cross(_ other: Vector3) -> Vector3 {
        Vector3(y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x)
    }

    /// The angle (rad, 0 … π) between two vectors' directions.
    public func angle(to other: Vector3) -> Double { atan2(cross(other).length, dot(other)) }

    @inlinable
    public static func + (a: Vector3, b: Vector3) -> Vector3 { Vector3(a.x + b.x, a.y + b.y, a.z + b.z) }
    @inlinable
    public static func - (a: Vector3, b: Vector3) -> Vector3 { Vector3(a.x - b.x, a.y - b.y, a.z - b.z) }
    @inlinable
    public static prefix func - (a: Vector3) -> Vector3 { Vector3(-a.x, -a.y, -a.z) }
    @inlinable
    public static func * (a: Vector3, k: Double) -> Vector3 { Vector3(a.x * k, a.y * k, a.z * k) }
    @inlinable
    public static func * (k: Double, a: Vector3) -> Vector3 { a * k }
    @inlinable
    public static func += (a: inout Vector3, b: Vector3) { a = a + b }
    @inlinable
    public static func -= (a: inout Vector3, b: Vector3) { a = a - b }
}
