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
}
