/// Sums over readings of a magnetometer, from which its errors are computed without the readings themselves.
///
/// With the attitude R (body to earth), the field F of the earth reads m = W · Rᵀ · F + h. Everything that a least-squares fit
/// of W, h and F needs of the readings is a sum of products of m and R.
struct MagneticMoments: Equatable, Sendable, BitwiseCopyable {
    /// The number of readings.
    private(set) var count = 0.0
    /// Sums of m and |m|².
    private(set) var field = Vector3.zero
    private(set) var fieldSquares = 0.0
    /// The sum of R.
    private(set) var rotation = Matrix3(.zero, .zero, .zero)
    /// Sums of m · rᵀ for each row r of R.
    private var fieldBy0 = Matrix3(.zero, .zero, .zero)
    private var fieldBy1 = Matrix3(.zero, .zero, .zero)
    private var fieldBy2 = Matrix3(.zero, .zero, .zero)
    /// Sums of r · sᵀ for each pair of rows r, s of R.
    private var rows00 = Matrix3(.zero, .zero, .zero)
    private var rows01 = Matrix3(.zero, .zero, .zero)
    private var rows02 = Matrix3(.zero, .zero, .zero)
    private var rows11 = Matrix3(.zero, .zero, .zero)
    private var rows12 = Matrix3(.zero, .zero, .zero)
    private var rows22 = Matrix3(.zero, .zero, .zero)
    /// The directions of the body that have pointed up: one bit for each quarter of each side.
    private(set) var directions: UInt32 = 0

    /// Adds a reading: the field, µT, and the attitude. Both may be means over a small turn.
    mutating func add(_ m: Vector3, _ r: Matrix3) {
        count += 1
        field += m
        fieldSquares += m.lengthSquared
        rotation = rotation + r
        fieldBy0 = fieldBy0 + Matrix3(outer: m, r.row0)
        fieldBy1 = fieldBy1 + Matrix3(outer: m, r.row1)
        fieldBy2 = fieldBy2 + Matrix3(outer: m, r.row2)
        rows00 = rows00 + Matrix3(outer: r.row0, r.row0)
        rows01 = rows01 + Matrix3(outer: r.row0, r.row1)
        rows02 = rows02 + Matrix3(outer: r.row0, r.row2)
        rows11 = rows11 + Matrix3(outer: r.row1, r.row1)
        rows12 = rows12 + Matrix3(outer: r.row1, r.row2)
        rows22 = rows22 + Matrix3(outer: r.row2, r.row2)
        directions |= MagneticMoments.bit(of: r.row2)
    }

    /// Adds the sums of other readings.
    mutating func add(_ other: MagneticMoments) {
        count += other.count
        field += other.field
        fieldSquares += other.fieldSquares
        rotation = rotation + other.rotation
        fieldBy0 = fieldBy0 + other.fieldBy0
        fieldBy1 = fieldBy1 + other.fieldBy1
        fieldBy2 = fieldBy2 + other.fieldBy2
        rows00 = rows00 + other.rows00
        rows01 = rows01 + other.rows01
        rows02 = rows02 + other.rows02
        rows11 = rows11 + other.rows11
        rows12 = rows12 + other.rows12
        rows22 = rows22 + other.rows22
        directions |= other.directions
    }

    // MARK: Sums for directions of the earth

    /// The sum of Rᵀu.
    func turned(_ u: Vector3) -> Vector3 { rotation.transposed * u }

    /// The sum of m · (Rᵀu)ᵀ.
    func fieldByTurned(_ u: Vector3) -> Matrix3 { u.x * fieldBy0 + u.y * fieldBy1 + u.z * fieldBy2 }

    /// The sum of (Rᵀu) · (Rᵀv)ᵀ.
    func turnedByTurned(_ u: Vector3, _ v: Vector3) -> Matrix3 {
        let diagonal = (u.x * v.x) * rows00 + (u.y * v.y) * rows11 + (u.z * v.z) * rows22
        let upper = (u.x * v.y) * rows01 + (u.x * v.z) * rows02 + (u.y * v.z) * rows12
        let lower = (v.x * u.y) * rows01 + (v.x * u.z) * rows02 + (v.y * u.z) * rows12
        return diagonal + upper + lower.transposed
    }

    /// The sum of R · q · m for a constant matrix q.
    func turnedBack(_ q: Matrix3) -> Vector3 {
        // Row k of the result is the sum of r · (q · m), the trace of q · (m · rᵀ).
        let transposed = q.transposed
        return Vector3(
            transposed.elementProduct(fieldBy0), transposed.elementProduct(fieldBy1),
            transposed.elementProduct(fieldBy2))
    }

    // MARK: Directions

    /// The bit of a direction: 24 parts of a sphere, four for each side of a cube.
    private static func bit(of up: Vector3) -> UInt32 {
        let side = BodySide(nearestTo: up)
        let (first, second) =
            switch side {
            case .plusX, .minusX: (up.y, up.z)
            case .plusY, .minusY: (up.z, up.x)
            case .plusZ, .minusZ: (up.x, up.y)
            }
        return 1 << (4 * UInt32(side.rawValue) + (first > 0 ? 2 : 0) + (second > 0 ? 1 : 0))
    }

    /// How many of the four parts of a side have pointed up.
    static func parts(of side: BodySide, in directions: UInt32) -> Int {
        (directions >> (4 * UInt32(side.rawValue)) & 0xF).nonzeroBitCount
    }
}
