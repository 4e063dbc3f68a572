/// The first half second. Nothing is known yet, and the best estimate of the vertical is the mean force in the earth
/// frame that the gyroscope carries.
///
/// The mean force over a time t is g + (v1 - v0)/t: the change of velocity tilts it.
struct StartPhase: Sendable, BitwiseCopyable {
    /// Seconds since the phase began, and the time at which it ends.
    private(set) var elapsed = 0.0
    private var end = 0.0
    private var forceSum = Vector3.zero
    private var squares = 0.0
    private var count = 0.0
    /// Seconds since the vertical was set.
    private var sinceLevelled = 0.0

    /// Whether the phase has not ended.
    var isActive: Bool { elapsed < end }

    /// The sum of the forces, earth frame: its direction is up.
    var up: Vector3 { forceSum }

    /// The length of the mean force, m/s².
    var meanForce: Double { forceSum.length / max(1, count) }

    /// The variance of the force about its mean, summed over the axes, m²/s⁴.
    var spread: Double { max(0, squares / max(1, count) - meanForce * meanForce) }

    /// Begins a phase of `duration` seconds.
    mutating func begin(duration: Double) {
        self = StartPhase()
        end = duration
    }

    /// Extends the phase by `duration` seconds from now.
    mutating func extend(by duration: Double) {
        end = elapsed + duration
    }

    /// Adds a sample's force in the earth frame. Returns whether to set the vertical now: after every sample at first,
    /// then once a block, and at the end.
    mutating func add(_ force: Vector3, interval: Double, firstLevelling: Double, block: Double) -> Bool {
        elapsed += interval
        sinceLevelled += interval
        forceSum += force
        squares += force.lengthSquared
        count += 1
        return elapsed < firstLevelling || sinceLevelled >= block - 0.5 * interval || !isActive
    }

    /// Call after the earth frame was turned so that the mean force points up.
    mutating func didSetVertical() {
        forceSum = Vector3(0, 0, forceSum.length)
        sinceLevelled = 0
    }
}
