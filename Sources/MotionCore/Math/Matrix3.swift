/// A 3×3 matrix, stored by rows.
public struct Matrix3: Equatable, Sendable, BitwiseCopyable {
    public var row0: Vector3
    public var row1: Vector3
    public var row2: Vector3

    @inlinable
    public init(_ row0: Vector3, _ row1: Vector3, _ row2: Vector3) {
        self.row0 = row0
        self.row1 = row1
        self.row2 = row2
    }

    /// The identity matrix.
    @inlinable
    public static var identity: Matrix3 {
        Matrix3(Vector3(1, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, 1))
    }

    /// The transpose; the inverse of a rotation.
    @inlinable
    public var transposed: Matrix3 {
        Matrix3(
            Vector3(row0.x, row1.x, row2.x), Vector3(row0.y, row1.y, row2.y), Vector3(row0.z, row1.z, row2.z))
    }

    /// The determinant: +1 for a rotation, -1 for a reflection.
    @inlinable
    public var determinant: Double { row0.dot(row1.cross(row2)) }

    /// How far the rows are from being orthogonal and of length 1: the largest element of |M·Mᵀ - 1|.
    @inlinable
    public var orthonormalityError: Double {
        max(
            abs(row0.lengthSquared - 1), abs(row1.lengthSquared - 1), abs(row2.lengthSquared - 1),
            abs(row0.dot(row1)), abs(row1.dot(row2)), abs(row2.dot(row0)))
    }

    /// The inverse; the identity if the matrix is singular.
    public var inverse: Matrix3 {
        let determinant = self.determinant
        guard determinant != 0, determinant.isFinite else { return .identity }
        let k = 1 / determinant
        return Matrix3(row1.cross(row2) * k, row2.cross(row0) * k, row0.cross(row1) * k).transposed
    }

    @inlinable
    public static func * (m: Matrix3, v: Vector3) -> Vector3 {
        Vector3(m.row0.dot(v), m.row1.dot(v), m.row2.dot(v))
    }

    @inlinable
    public static func * (a: Matrix3, b: Matrix3) -> Matrix3 {
        let columns = b.transposed
        return Matrix3(columns * a.row0, columns * a.row1, columns * a.row2)
    }
}

// Operations on single elements of a matrix. Uncertainties need them, because they do not transform like the matrix
// itself.
extension Matrix3 {
    /// The row 0, 1 or 2.
    subscript(row: Int) -> Vector3 {
        get { row == 0 ? row0 : row == 1 ? row1 : row2 }
        set {
            switch row {
            case 0: row0 = newValue
            case 1: row1 = newValue
            default: row2 = newValue
            }
        }
    }

    /// The matrix with `transform` applied to each element.
    @inline(__always)
    func mapElements(_ transform: (Double) -> Double) -> Matrix3 {
        func row(_ row: Vector3) -> Vector3 { Vector3(transform(row.x), transform(row.y), transform(row.z)) }
        return Matrix3(row(row0), row(row1), row(row2))
    }

    /// The largest absolute value among the elements.
    package var largestElement: Double {
        var largest = 0.0
        for row in 0..<3 {
            for column in 0..<3 { largest = max(largest, abs(self[row][column])) }
        }
        return largest
    }

    /// The smallest element.
    var smallestElement: Double {
        min(row0.x, row0.y, row0.z, min(row1.x, row1.y, row1.z), min(row2.x, row2.y, row2.z))
    }

    /// The matrix a · bᵀ.
    init(outer a: Vector3, _ b: Vector3) {
        self.init(a.x * b, a.y * b, a.z * b)
    }

    static func + (a: Matrix3, b: Matrix3) -> Matrix3 {
        Matrix3(a.row0 + b.row0, a.row1 + b.row1, a.row2 + b.row2)
    }

    static func - (a: Matrix3, b: Matrix3) -> Matrix3 {
        Matrix3(a.row0 - b.row0, a.row1 - b.row1, a.row2 - b.row2)
    }

    static func * (k: Double, m: Matrix3) -> Matrix3 { Matrix3(k * m.row0, k * m.row1, k * m.row2) }

    /// The sum of the products of the elements at the same place.
    func elementProduct(_ other: Matrix3) -> Double {
        row0.dot(other.row0) + row1.dot(other.row1) + row2.dot(other.row2)
    }
}
