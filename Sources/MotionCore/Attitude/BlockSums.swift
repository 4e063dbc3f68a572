/// Sums over the samples of a block.
struct BlockSums: ~Copyable {
    /// How calibration errors change the attitude. For earth axis i and body axis j this is the integral of C_ij·(ωx,
    /// ωy, ωz, -1)dt: the columns of K_j0, K_j1, K_j2 and b_j.
    private let jacobians = FixedBuffer(repeating: SIMD4<Float>.zero, count: 9)

    /// The integral of C·(ω × a)dt, horizontal, m/s²: the change of velocity per second of delay.
    private(set) var delayJacobian: (x: Double, y: Double) = (0, 0)

    /// Seconds and samples so far.
    private(set) var duration = 0.0
    private(set) var count = 0.0
    /// Seconds since the Jacobians were last summed, and how often they were summed.
    private(set) var sinceTaken = 0.0
    private(set) var taken = 0.0

    /// The integral of specific force, earth frame, m/s.
    private(set) var earthForce = Vector3.zero
    /// The sum of all rates, for their mean.
    private(set) var rateSum = Vector3.zero
    /// Sums over the samples at which the Jacobians were summed, for means and spreads.
    private(set) var takenRate = Vector3.zero
    private(set) var takenForce = Vector3.zero
    private(set) var rateSquares = 0.0
    private(set) var forceSquares = 0.0

    /// Seconds during which each gyroscope axis, and any accelerometer axis, was clipped.
    private(set) var clippedRate = Vector3.zero
    private(set) var clippedForce = 0.0

    /// The four Jacobian columns of earth axis `earth` and body axis `body`.
    func jacobian(_ earth: Int, _ body: Int) -> SIMD4<Float> { jacobians[3 * earth + body] }

    /// Starts a new block.
    mutating func clear() {
        for index in 0..<9 { jacobians[index] = .zero }
        delayJacobian = (0, 0)
        duration = 0
        count = 0
        sinceTaken = 0
        taken = 0
        rateSum = .zero
        earthForce = .zero
        takenRate = .zero
        takenForce = .zero
        rateSquares = 0
        forceSquares = 0
        clippedRate = .zero
        clippedForce = 0
    }

    /// Adds the sums that need every sample.
    @inline(__always)
    mutating func add(_ sample: MotionSample, force: Vector3, interval: Double) {
        duration += interval
        sinceTaken += interval
        count += 1
        rateSum += sample.rotationRate
        earthForce += force * interval
        if !sample.flags.isDisjoint(with: .clipped) { addClipped(sample.flags, interval) }
    }

    /// Adds Jacobians and spreads, which stand for the time since they were last added.
    mutating func take(_ step: StrapdownStep, _ sample: MotionSample) {
        let rotation = step.rotation
        let rate = SIMD4<Float>(Float(step.biasFreeRate.x), Float(step.biasFreeRate.y), Float(step.biasFreeRate.z), -1)
        add(rate, rotation.row0 * sinceTaken, at: 0)
        add(rate, rotation.row1 * sinceTaken, at: 3)
        add(rate, rotation.row2 * sinceTaken, at: 6)
        delayJacobian.x += rotation.row0.dot(step.coriolis) * sinceTaken
        delayJacobian.y += rotation.row1.dot(step.coriolis) * sinceTaken
        takenRate += sample.rotationRate
        takenForce += sample.acceleration
        rateSquares += sample.rotationRate.lengthSquared
        forceSquares += sample.acceleration.lengthSquared
        sinceTaken = 0
        taken += 1
    }

    @inline(__always)
    private func add(_ rate: SIMD4<Float>, _ row: Vector3, at index: Int) {
        jacobians[index] += rate * Float(row.x)
        jacobians[index + 1] += rate * Float(row.y)
        jacobians[index + 2] += rate * Float(row.z)
    }

    private mutating func addClipped(_ flags: MotionSample.Flags, _ interval: Double) {
        for axis in 0..<3 {
            if flags.contains(.rotationRateClipped(axis: axis)) { clippedRate[axis] += interval }
            if flags.contains(.accelerationClipped(axis: axis)) { clippedForce += interval }
        }
    }
}

/// The fourth differences of a vector from sample to sample: large where it changes faster than the samples can follow, as in a
/// blow, and small where a smooth movement is sampled slowly.
struct Roughness: Sendable, BitwiseCopyable {
    private var last = SIMD4<Float>.zero
    private var first = SIMD4<Float>.zero
    private var second = SIMD4<Float>.zero
    private var third = SIMD4<Float>.zero
    private var squares = SIMD4<Float>.zero

    /// Makes this vector the one before the next.
    mutating func restart(at vector: Vector3) { last = Roughness.numbers(vector) }

    /// Adds a sample's vector. `weight` is the square of the sample period.
    @inline(__always)
    mutating func add(_ vector: Vector3, weight: Float) {
        let new = Roughness.numbers(vector)
        let change = new - last
        let bend = change - first
        let turn = bend - second
        let fourth = turn - third
        last = new
        first = change
        second = bend
        third = turn
        squares += fourth * fourth * weight
    }

    /// The variance of the vector's integral since the last call, if the vector is white noise: the mean square of its fourth
    /// differences is then 1² + 4² + 6² + 4² + 1² = 70 times its variance.
    mutating func takeNoise() -> Float {
        let noise = squares.sum() * (1.0 / 70)
        squares = .zero
        return noise
    }

    @inline(__always)
    private static func numbers(_ vector: Vector3) -> SIMD4<Float> {
        SIMD4(Float(vector.x), Float(vector.y), Float(vector.z), 0)
    }
}
