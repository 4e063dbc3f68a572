/// The result of one sample in the navigation equations.
struct StrapdownStep: Sendable, BitwiseCopyable {
    /// The attitude after the sample, as a matrix.
    var rotation: Matrix3
    /// The rate without bias, before scale and misalignment are corrected, rad/s.
    var biasFreeRate: Vector3
    /// ω × a, body frame, m/s³: how fast the force changes in body axes because they turn.
    var coriolis: Vector3
    /// Specific force at the middle of the sample, earth frame, m/s².
    var force: Vector3
}

/// The navigation equations: integrate rate and force into attitude, velocity and position, without corrections.
struct Strapdown: Sendable, BitwiseCopyable {
    /// The attitude: body to earth.
    var attitude = Quaternion.identity
    /// The gyroscope's bias, rad/s, and its scale and misalignment beyond the identity.
    var bias = Vector3.zero
    var scale = Matrix3(.zero, .zero, .zero)
    /// Delay of the accelerometer behind the gyroscope, s.
    var delay = 0.0
    /// Horizontal velocity, m/s, and position, m, earth frame.
    var velocity = (x: 0.0, y: 0.0)
    var position = (x: 0.0, y: 0.0)

    /// The measured rate without bias, not yet corrected for scale and misalignment.
    func biasFree(_ measured: Vector3) -> Vector3 { measured - bias }

    /// Corrects a bias-free rate for scale and misalignment: (1 + K)·ω.
    func corrected(_ biasFree: Vector3) -> Vector3 { biasFree + scale * biasFree }

    /// Turns the attitude by a rotation vector in body axes, rad.
    ///
    /// One step of Newton's iteration keeps the norm, exact to rounding if the norm was 1 before.
    mutating func turn(by rotation: Vector3) {
        let turned = attitude * Quaternion(rotationVector: rotation)
        let correction = 1.5 - 0.5 * turned.normSquared
        attitude = Quaternion(
            turned.w * correction, turned.x * correction, turned.y * correction, turned.z * correction)
    }

    /// Transforms a sample's force into the earth frame. Call after the attitude was turned by the sample.
    ///
    /// The force was measured while the body turned. In the axes of the attitude at the end of the sample, it belongs
    /// to an instant half a sample earlier, and earlier still by the accelerometer's delay: a + (δ - dt/2)·ω × a.
    func step(_ force: Vector3, rate: Vector3, biasFreeRate: Vector3, interval: Double) -> StrapdownStep {
        let rotation = attitude.matrix
        let coriolis = rate.cross(force)
        let middle = force + coriolis * (delay - 0.5 * interval)
        return StrapdownStep(
            rotation: rotation, biasFreeRate: biasFreeRate, coriolis: coriolis,
            force: rotation * middle)
    }

    /// Integrates a sample's horizontal force into velocity and position.
    mutating func move(by force: Vector3, interval: Double) {
        position.x += (velocity.x + 0.5 * force.x * interval) * interval
        position.y += (velocity.y + 0.5 * force.y * interval) * interval
        velocity.x += force.x * interval
        velocity.y += force.y * interval
    }

    /// Sets velocity and position to zero.
    mutating func halt() {
        velocity = (0, 0)
        position = (0, 0)
    }
}
