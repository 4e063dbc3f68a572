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
    var largestElement: Double {
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
