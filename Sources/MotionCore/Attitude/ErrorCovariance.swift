/// The symmetric covariance matrix of the filter's twenty error states.
///
/// Every operation keeps it symmetric to the last bit. Otherwise the antisymmetric part of the rounding grows
/// exponentially and reaches not-a-number within an hour. Single precision is enough, because only gains are computed
/// from it.
struct ErrorCovariance: ~Copyable {
    /// The rows, twenty error vectors. `elements` is the same memory as single numbers.
    private let rows = FixedBuffer(repeating: ErrorVector(), count: ErrorState.count)
    private var elements: UnsafeMutablePointer<Float> {
        UnsafeMutableRawPointer(rows.base).assumingMemoryBound(to: Float.self)
    }

    // MARK: Elements

    /// The variance of a state.
    func variance(_ state: Int) -> Float { elements[state * (ErrorState.count + 1)] }

    /// The standard deviation of an error.
    func deviation(_ state: Int) -> Double { Double(variance(state)).squareRoot() }

    /// The standard deviations of the gyroscope's scale and misalignment, row by row.
    var scaleDeviation: Matrix3 {
        func row(_ to: Int) -> Vector3 {
            Vector3(
                deviation(ErrorState.scale(to, 0)), deviation(ErrorState.scale(to, 1)),
                deviation(ErrorState.scale(to, 2)))
        }
        return Matrix3(row(0), row(1), row(2))
    }

    /// Whether every variance is positive and finite.
    var isSound: Bool {
        (0..<ErrorState.count).allSatisfy { state in
            // The heading is exact by definition when a start begins.
            variance(state).isFinite && (variance(state) > 0 || state == ErrorState.heading && variance(state) == 0)
        }
    }

    /// Adds independent noise to a state.
    func addNoise(_ variance: Float, to state: Int) { elements[state * (ErrorState.count + 1)] += variance }

    /// Sets the covariance of two states, in both halves of the matrix.
    func setCovariance(_ value: Float, _ a: Int, _ b: Int) {
        elements[a * ErrorState.count + b] = value
        elements[b * ErrorState.count + a] = value
    }

    /// Adds to the covariance of two states, in both halves of the matrix.
    func addCovariance(_ value: Float, _ a: Int, _ b: Int) {
        elements[a * ErrorState.count + b] += value
        if a != b { elements[b * ErrorState.count + a] += value }
    }

    /// Gives a state this variance and makes it independent of all others.
    func reset(_ state: Int, variance: Float) {
        rows[state] = ErrorVector()
        for other in 0..<ErrorState.count { elements[other * ErrorState.count + state] = 0 }
        elements[state * (ErrorState.count + 1)] = variance
    }

    /// Scales a state's standard deviation and its covariances.
    func scale(_ state: Int, by factor: Float) {
        rows[state] = rows[state] * factor
        for other in 0..<ErrorState.count { elements[other * ErrorState.count + state] *= factor }
    }

    // MARK: Time

    /// Carries the covariance over one block: P ← F·P·Fᵀ with
    ///
    ///     θ' = θ + A·c                        c: calibration, A: the block's Jacobian
    ///     v' = v + g·T·S(θ + θ')/2 + d·δ      S: (θy, -θx); d: ∫C(ω × a)dt
    ///     p' = p + T·(v + v')/2
    ///
    /// Seven rows change. The rows of F·P are built in place. The columns of the unchanged states follow by symmetry.
    /// The corner where changed rows and columns meet is computed once for both of its halves.
    func propagate(_ block: borrowing BlockSums) {
        let duration = Float(block.duration)
        let pull = Float(standardGravity) * duration * 0.5
        let delayX = Float(block.delayJacobian.x)
        let delayY = Float(block.delayJacobian.y)

        // F·P, row by row.
        let oldX = rows[0]
        let oldY = rows[1]
        rows[0] = rows[0] + calibrationProduct(block, 0)
        rows[1] = rows[1] + calibrationProduct(block, 1)
        rows[2] = rows[2] + calibrationProduct(block, 2)
        let oldVX = rows[16]
        let oldVY = rows[17]
        rows[16] = rows[16] + (oldY + rows[1]) * pull + rows[ErrorState.delay] * delayX
        rows[17] = rows[17] - (oldX + rows[0]) * pull + rows[ErrorState.delay] * delayY
        rows[18] = rows[18] + (oldVX + rows[16]) * (0.5 * duration)
        rows[19] = rows[19] + (oldVY + rows[17]) * (0.5 * duration)

        // (F·P)·Fᵀ where changed rows meet changed columns.
        transformCorner(block, pull: pull, delayX: delayX, delayY: delayY, half: 0.5 * duration)

        // In the unchanged rows: the columns of the changed states.
        for state in 3..<16 {
            let row = elements + state * ErrorState.count
            row[0] = elements[state]
            row[1] = elements[ErrorState.count + state]
            row[2] = elements[2 * ErrorState.count + state]
            row[16] = elements[16 * ErrorState.count + state]
            row[17] = elements[17 * ErrorState.count + state]
            row[18] = elements[18 * ErrorState.count + state]
            row[19] = elements[19 * ErrorState.count + state]
        }
    }

    /// A·P_c: covariances between the attitude about an earth axis and all states, as the calibration errors changed
    /// them.
    private func calibrationProduct(_ block: borrowing BlockSums, _ axis: Int) -> ErrorVector {
        let a0 = block.jacobian(axis, 0)
        let a1 = block.jacobian(axis, 1)
        let a2 = block.jacobian(axis, 2)
        var sum = rows[4] * a0.x + rows[5] * a0.y
        sum = sum + rows[6] * a0.z + rows[7] * a0.w
        sum = sum + rows[8] * a1.x + rows[9] * a1.y
        sum = sum + rows[10] * a1.z + rows[11] * a1.w
        sum = sum + rows[12] * a2.x + rows[13] * a2.y
        return sum + rows[14] * a2.z + rows[15] * a2.w
    }

    private func transformCorner(
        _ block: borrowing BlockSums, pull: Float, delayX: Float, delayY: Float, half: Float
    ) {
        for axis in 0..<3 {
            let row = rows[axis]
            let old = row.attitudeAndDelay
            var new = old
            for column in 0..<3 {
                let products =
                    row.calibration0 * block.jacobian(column, 0) + row.calibration1 * block.jacobian(column, 1)
                    + row.calibration2 * block.jacobian(column, 2)
                new[column] += products.sum()
            }
            let vx = row.motion.x + (old.y + new.y) * pull + old.w * delayX
            let vy = row.motion.y - (old.x + new.x) * pull + old.w * delayY
            let px = row.motion.z + (row.motion.x + vx) * half
            let py = row.motion.w + (row.motion.y + vy) * half
            rows[axis].attitudeAndDelay = new
            rows[axis].motion = SIMD4(vx, vy, px, py)
        }
        // The attitude's own block is symmetric but for rounding.
        setCovariance(elements[1], 0, 1)
        setCovariance(elements[2], 0, 2)
        setCovariance(elements[ErrorState.count + 2], 1, 2)
        let x = rows[0].motion
        let y = rows[1].motion
        let z = rows[2].motion
        for state in 16..<20 {
            let row = rows[state]
            let old = row.attitudeAndDelay
            let lane = state - 16
            let new = SIMD4(x[lane], y[lane], z[lane], old.w)
            let vx = row.motion.x + (old.y + new.y) * pull + old.w * delayX
            let vy = row.motion.y - (old.x + new.x) * pull + old.w * delayY
            let px = row.motion.z + (row.motion.x + vx) * half
            let py = row.motion.w + (row.motion.y + vy) * half
            rows[state].attitudeAndDelay = new
            rows[state].motion = SIMD4(vx, vy, px, py)
        }
        for a in 16..<19 {
            for b in (a + 1)..<20 { setCovariance(elements[a * ErrorState.count + b], a, b) }
        }
    }

    // MARK: Measurements

    /// Applies a measurement of one state and returns the gain for all states.
    ///
    /// `variance` is the variance of the innovation, that is of the state plus that of the measurement. With
    /// `keepsCalibration`, heading and calibration are left unchanged, but their covariances with the other states are
    /// still updated (Schmidt's consider update).
    func measure(_ state: Int, innovationVariance variance: Float, keepsCalibration: Bool) -> ErrorVector {
        let covariances = rows[state]
        // With the root of the variance in both factors the product is symmetric to the last bit.
        let scaled = covariances * (1 / variance.squareRoot())
        let free = keepsCalibration ? scaled.withoutCalibration : scaled
        subtract(scaled.attitudeAndDelay, rows: 0, scaled, free, keepsCalibration ? 2 : 4)
        subtract(scaled.calibration0, rows: 4, scaled, free, keepsCalibration ? 0 : 4)
        subtract(scaled.calibration1, rows: 8, scaled, free, keepsCalibration ? 0 : 4)
        subtract(scaled.calibration2, rows: 12, scaled, free, keepsCalibration ? 0 : 4)
        subtract(scaled.motion, rows: 16, scaled, free, 4)
        return free * (1 / variance.squareRoot())
    }

    /// Takes back certainty about the bias along a direction of the body: applies the measurement that it is zero with the
    /// variance -`variance`, and returns the correction. Does nothing if that is more certainty than there is.
    func widenBias(along direction: Vector3, bias: Vector3, variance: Double) -> ErrorVector {
        var covariances = ErrorVector()
        for axis in 0..<3 { covariances = covariances + rows[ErrorState.bias(axis)] * Float(direction[axis]) }
        var known = 0.0
        for axis in 0..<3 { known += Double(covariances[ErrorState.bias(axis)]) * direction[axis] }
        let left = variance - known
        guard left > 0.02 * variance else { return ErrorVector() }
        let scaled = covariances * Float(1 / left.squareRoot())
        for state in 0..<ErrorState.count { rows[state] = rows[state] + scaled * scaled[state] }
        return scaled * Float(bias.dot(direction) / left.squareRoot())
    }

    /// Subtracts from each of four rows its factor times a vector: `all` for the first `whole` rows, `free` for the
    /// others.
    @inline(__always)
    private func subtract(
        _ factors: SIMD4<Float>, rows first: Int, _ all: ErrorVector, _ free: ErrorVector, _ whole: Int
    ) {
        for lane in 0..<4 {
            rows[first + lane] = rows[first + lane] - (lane < whole ? all : free) * factors[lane]
        }
    }
}

/// The errors that the filter estimates, and their indices in the covariance and in a correction.
///
/// Twenty numbers in five groups of four. A group is one SIMD vector:
///
///     0…3    θx θy θz δ       attitude (earth frame, rad); the accelerometer's delay behind the gyroscope (s)
///     4…7    K00 K01 K02 bx   gyroscope scale and misalignment, row 0 (ratio); bias x (rad/s)
///     8…11   K10 K11 K12 by   the same of row 1 and y
///     12…15  K20 K21 K22 bz   the same of row 2 and z
///     16…19  vx vy px py      horizontal velocity (m/s) and position (m), earth frame
///
/// With this order, a group of calibration states lines up with the four sums that the block's Jacobian holds for it.
enum ErrorState {
    static var count: Int { 20 }

    static var heading: Int { 2 }
    static var delay: Int { 3 }
    static var velocity: Int { 16 }
    static var position: Int { 18 }

    /// The attitude error about an earth axis.
    static func attitude(_ axis: Int) -> Int { axis }
    /// The gyroscope's bias along a body axis.
    static func bias(_ axis: Int) -> Int { 7 + 4 * axis }
    /// The part of rate `from` that appears in rate `to`, beyond the identity.
    static func scale(_ to: Int, _ from: Int) -> Int { 4 + 4 * to + from }
}

/// One number for each error state.
struct ErrorVector: Sendable, BitwiseCopyable {
    var attitudeAndDelay = SIMD4<Float>.zero
    var calibration0 = SIMD4<Float>.zero
    var calibration1 = SIMD4<Float>.zero
    var calibration2 = SIMD4<Float>.zero
    var motion = SIMD4<Float>.zero

    @inline(__always)
    static func * (a: ErrorVector, k: Float) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay * k, calibration0: a.calibration0 * k,
            calibration1: a.calibration1 * k, calibration2: a.calibration2 * k, motion: a.motion * k)
    }

    @inline(__always)
    static func + (a: ErrorVector, b: ErrorVector) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay + b.attitudeAndDelay, calibration0: a.calibration0 + b.calibration0,
            calibration1: a.calibration1 + b.calibration1, calibration2: a.calibration2 + b.calibration2,
            motion: a.motion + b.motion)
    }

    @inline(__always)
    static func - (a: ErrorVector, b: ErrorVector) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay - b.attitudeAndDelay, calibration0: a.calibration0 - b.calibration0,
            calibration1: a.calibration1 - b.calibration1, calibration2: a.calibration2 - b.calibration2,
            motion: a.motion - b.motion)
    }

    /// The vector with heading and calibration set to zero.
    @inline(__always)
    var withoutCalibration: ErrorVector {
        var rest = ErrorVector()
        rest.attitudeAndDelay = SIMD4(attitudeAndDelay.x, attitudeAndDelay.y, 0, 0)
        rest.motion = motion
        return rest
    }

    /// The element of a state. Too slow for the inner loops.
    subscript(state: Int) -> Float {
        switch state >> 2 {
        case 0: attitudeAndDelay[state & 3]
        case 1: calibration0[state & 3]
        case 2: calibration1[state & 3]
        case 3: calibration2[state & 3]
        default: motion[state & 3]
        }
    }
}
