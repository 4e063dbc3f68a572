/// The errors that `HeadingFilter` estimates, as a vector. Elements from `HeadingError.count` on are zero.
typealias HeadingVector = SIMD16<Double>

/// The indices of the errors in a `HeadingVector`.
enum HeadingError {
    /// The heading of the six-axis frame: the angle that turns it into the magnetic frame, rad.
    static var offset: Int { 0 }
    /// Its rate of change, rad/s.
    static var drift: Int { 1 }
    /// By how much readings of the field are later than the attitude, s.
    static var delay: Int { 2 }
    /// What calibration has left of the hard iron, body axes, µT.
    static var hardIron: Int { 3 }
    /// The field, µT: north, west, up. West is zero in the field that defines north.
    static var north: Int { 6 }
    static var west: Int { 7 }
    static var up: Int { 8 }
    static var count: Int { 9 }

    /// Ones for the errors that a measurement may change.
    static var all: HeadingVector { HeadingVector(repeating: 1) }
    static var withoutHeading: HeadingVector {
        var mask = all
        mask[offset] = 0
        mask[drift] = 0
        return mask
    }
}

extension HeadingVector {
    /// A vector with elements from `first` on.
    init(_ vector: Vector3, at first: Int) {
        self = .zero
        set(vector, at: first)
    }

    mutating func set(_ vector: Vector3, at first: Int) {
        self[first] = vector.x
        self[first + 1] = vector.y
        self[first + 2] = vector.z
    }

    func vector(at first: Int) -> Vector3 { Vector3(self[first], self[first + 1], self[first + 2]) }

    func dot(_ other: HeadingVector) -> Double { (self * other).sum() }
}

/// The covariance of the errors of the heading. It changes ten times a second, so simplicity comes before speed.
struct HeadingCovariance: ~Copyable {
    private let rows = FixedBuffer(repeating: HeadingVector.zero, count: HeadingError.count)

    subscript(a: Int, b: Int) -> Double {
        get { rows[a][b] }
        nonmutating set {
            rows[a][b] = newValue
            rows[b][a] = newValue
        }
    }

    func copy(from other: borrowing HeadingCovariance) {
        for index in 0..<HeadingError.count { rows[index] = other.rows[index] }
    }

    func clear() {
        for index in 0..<HeadingError.count { rows[index] = .zero }
    }

    /// Gives an error this variance and makes it independent of all others.
    func reset(_ index: Int, variance: Double) {
        rows[index] = .zero
        for other in 0..<HeadingError.count { rows[other][index] = 0 }
        rows[index][index] = variance
    }

    /// Carries the covariance over `seconds`, in which the drift keeps `remainder` of its value.
    func propagate(_ seconds: Double, driftRemainder remainder: Double) {
        let (offset, drift) = (HeadingError.offset, HeadingError.drift)
        rows[offset] += rows[drift] * seconds
        rows[drift] *= remainder
        for index in 0..<HeadingError.count {
            rows[index][offset] += rows[index][drift] * seconds
            rows[index][drift] *= remainder
        }
    }

    /// The variance of the sum of the errors with these weights.
    func variance(of weights: HeadingVector) -> Double { product(weights).dot(weights) }

    private func product(_ weights: HeadingVector) -> HeadingVector {
        var product = HeadingVector.zero
        for index in 0..<HeadingError.count { product[index] = rows[index].dot(weights) }
        return product
    }

    /// Applies a measurement of the sum of the errors with these weights, whose noise has the variance `noise`. Errors with
    /// a zero in `mask` are considered but not changed (Schmidt).
    ///
    /// - Returns: the gain.
    func measure(_ weights: HeadingVector, noise: Double, mask: HeadingVector) -> HeadingVector {
        let product = product(weights)
        let total = product.dot(weights) + noise
        let gain = mask * product / total
        for index in 0..<HeadingError.count {
            let added = gain * (gain[index] * total)
            let removed = product * gain[index] + gain * product[index]
            rows[index] += added - removed
        }
        for a in 0..<HeadingError.count {
            for b in 0..<a { self[a, b] = 0.5 * (rows[a][b] + rows[b][a]) }
        }
        return gain
    }

    /// Turns the field about the vertical.
    func turnField(by turn: Matrix3) {
        let (north, west) = (HeadingError.north, HeadingError.west)
        let (cosine, sine) = (turn.row0.x, turn.row1.x)
        let (a, b) = (rows[north], rows[west])
        rows[north] = a * cosine - b * sine
        rows[west] = a * sine + b * cosine
        for index in 0..<HeadingError.count {
            let (a, b) = (rows[index][north], rows[index][west])
            rows[index][north] = a * cosine - b * sine
            rows[index][west] = a * sine + b * cosine
        }
    }

    /// Defines the field's west component as zero, where it is `north` µT strong towards north. Its error becomes one of
    /// the heading.
    func defineNorth(_ north: Double) {
        let (offset, west) = (HeadingError.offset, HeadingError.west)
        rows[offset] -= rows[west] / north
        for index in 0..<HeadingError.count { rows[index][offset] -= rows[index][west] / north }
        reset(west, variance: 0)
    }

    /// The variances of offset and drift if the other errors were known. Overwrites `scratch`.
    func headingVariancesGivenTheRest(scratch: borrowing HeadingCovariance) -> (offset: Double, drift: Double) {
        scratch.copy(from: self)
        for known in HeadingError.delay..<HeadingError.count {
            let variance = scratch[known, known]
            guard variance > 1e-12 else { continue }
            let column = scratch.rows[known]
            for index in 0..<HeadingError.count { scratch.rows[index] -= column * (column[index] / variance) }
        }
        let (offset, drift) = (HeadingError.offset, HeadingError.drift)
        return (max(0, scratch[offset, offset]), max(0, scratch[drift, drift]))
    }
}
