/// What one sample does to attitude and motion.
struct StrapdownStep: Sendable, BitwiseCopyable {
    /// The attitude after the sample, as a matrix.
    var rotation: Matrix3
    /// The rate without bias, before scale and misalignment are corrected, rad/s.
    var biasFreeRate: Vector3
    /// ω × a, body frame: how fast the turning body's axes sweep over the force, m/s³.
    var coriolis: Vector3
    /// Specific force at the middle of the sample, earth frame, m/s².
    var force: Vector3
}

/// What turns rate and force into attitude, velocity and position: the navigation equations, without any correction.
struct Strapdown: Sendable, BitwiseCopyable {
    /// The attitude: body to earth.
    var attitude = Quaternion.identity
    /// The gyroscope's bias, rad/s, and its scale and misalignment beyond the identity.
    var bias = Vector3.zero
    var scale = Matrix3(.zero, .zero, .zero)
    /// Seconds by which the accelerometer's samples are older than the gyroscope's.
    var delay = 0.0
    /// Horizontal velocity, m/s, and position, m, earth frame.
    var velocity = (x: 0.0, y: 0.0)
    var position = (x: 0.0, y: 0.0)

    /// The rate as the body turned: without bias, corrected for scale and misalignment.
    func biasFree(_ measured: Vector3) -> Vector3 { measured - bias }

    /// Corrects a bias-free rate for scale and misalignment: (1 + K)·g.
    func corrected(_ biasFree: Vector3) -> Vector3 { biasFree + scale * biasFree }

    /// Turns the attitude by a rotation vector of the body, rad.
    ///
    /// The norm is kept by one step of Newton's iteration, which is exact to rounding for a norm that was 1 before.
    mutating func turn(by rotation: Vector3) {
        let turned = attitude * Quaternion(rotationVector: rotation)
        let correction = 1.5 - 0.5 * turned.normSquared
        attitude = Quaternion(
            turned.w * correction, turned.x * correction, turned.y * correction, turned.z * correction)
    }

    /// What a sample's force is in the earth frame, after the attitude was turned by the sample.
    ///
    /// The force was measured while the body turned: seen from the attitude at the end of the sample it is the one half a
    /// sample earlier, and earlier still by the accelerometer's delay: a + (δ - dt/2)·ω × a.
    func step(_ force: Vector3, rate: Vector3, biasFreeRate: Vector3, interval: Double) -> StrapdownStep {
        let rotation = attitude.matrix
        let coriolis = rate.cross(force)
        let middle = force + coriolis * (delay - 0.5 * interval)
        return StrapdownStep(
            rotation: rotation, biasFreeRate: biasFreeRate, coriolis: coriolis,
            force: rotation * middle)
    }

    /// Moves velocity and position by a sample's horizontal force.
    mutating func move(by force: Vector3, interval: Double) {
        position.x += (velocity.x + 0.5 * force.x * interval) * interval
        position.y += (velocity.y + 0.5 * force.y * interval) * interval
        velocity.x += force.x * interval
        velocity.y += force.y * interval
    }

    /// Forgets where it is and how fast.
    mutating func halt() {
        velocity = (0, 0)
        position = (0, 0)
    }
}
