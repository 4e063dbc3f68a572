internal import MotionCore
internal import VirtualIMU

/// Checks that the attitude filter stays sound for months. Accumulated rounding errors, or a covariance that loses its
/// symmetry or diverges, show within 10⁸ samples, which are half a year at 6 Hz and six days at 200 Hz.
struct EnduranceCheck {
    /// The filter's state after a round through the material.
    private struct Mark {
        let attitude: Quaternion
        let bias: Vector3
        let tiltDeviation: Double
        let biasDeviation: Double
        let hasSoundVariances: Bool

        init(_ filter: borrowing AttitudeFilter) {
            attitude = filter.attitude
            bias = filter.gyroscopeBias
            tiltDeviation = filter.tiltDeviation
            biasDeviation = filter.gyroscopeBiasDeviation
            hasSoundVariances = filter.hasSoundVariances
        }
    }

    static let samples = 100_000_000

    /// The number of processed samples.
    let count: Int
    /// The faults found, as text.
    let complaints: [String]

    /// Processes the material repeatedly. In it, the board is turned, shaken and left at rest. Then processes tumbles,
    /// each with a new filter.
    init(material: Material, samples: Int) {
        let recording = material.movement
        var filter = AttitudeFilter()
        var done = 0
        var first: Mark?
        var complaints: [String] = []
        var rounds = 0
        while done < samples, complaints.isEmpty {
            for sample in recording.samples { filter.update(sample, interval: recording.period) }
            done += recording.samples.count
            rounds += 1
            let now = Mark(filter)
            // After ten rounds the filter has converged.
            if rounds == 10 { first = now }
            if let first { complaints = EnduranceCheck.complaints(now, first, round: rounds) }
        }
        for seed in 1...EnduranceCheck.tumbles where complaints.isEmpty {
            let samples = EnduranceCheck.tumble(seed)
            var filter = AttitudeFilter()
            for sample in samples { filter.update(sample, interval: EnduranceCheck.tumblePeriod) }
            done += samples.count
            let end = Mark(filter)
            complaints = EnduranceCheck.complaints(end, end, round: seed)
        }
        count = done
        self.complaints = complaints
    }

    private static let tumbles = 20
    private static let tumblePeriod = 0.005

    /// A minute of a board that turns quickly about all axes, with an accelerometer that is 8 ms late: only then does
    /// the covariance depend on the delay. The movement depends on the seed.
    private static func tumble(_ seed: Int) -> [MotionSample] {
        // From 0 to 1: the golden ratio's multiples modulo 1 do not repeat.
        func number(_ index: Int) -> Double {
            (0.618_033_988_75 * Double(7 * seed + index)).truncatingRemainder(dividingBy: 1)
        }
        func oscillation(_ axis: Vector3, _ index: Int) -> any Trajectory {
            Oscillation(axis: axis, amplitude: 2 + 2 * number(index), frequency: 0.5 + number(index + 3), duration: 58)
        }
        let movement = MotionSequence([
            Rest(2),
            Superposed(
                oscillation(Vector3(1, 0.3, 0), 0),
                Superposed(oscillation(Vector3(0.2, 1, -0.4), 1), oscillation(Vector3(0, -0.5, 1), 2))),
        ])
        let parts = 5
        return (0..<Int(60 / tumblePeriod)).map { index in
            var force = Vector3.zero
            var rate = Vector3.zero
            for part in 0..<parts {
                let time = (Double(index) + (Double(part) + 0.5) / Double(parts)) * tumblePeriod
                force += movement.motion(at: time - 0.008).specificForce
                rate += movement.motion(at: time).rotationRate
            }
            let share = 1 / Double(parts)
            return MotionSample(
                timestamp: Timestamp(seconds: Double(index) * tumblePeriod), acceleration: force * share,
                rotationRate: rate * share + Vector3(0.01, -0.006, 0.008))
        }
    }

    /// At the same point of the material the filter must be in the same state in every round.
    private static func complaints(_ now: Mark, _ first: Mark, round: Int) -> [String] {
        var complaints: [String] = []
        if !(abs(now.attitude.normSquared - 1) < 1e-9) { complaints.append("the attitude is no longer a rotation") }
        if !(now.attitude.inclination(to: first.attitude) < radiansPerDegree) { complaints.append("the tilt drifted") }
        if !((now.bias - first.bias).length < 0.2 * radiansPerDegree) { complaints.append("the bias drifted") }
        if !now.hasSoundVariances { complaints.append("a variance is not positive") }
        if !(now.tiltDeviation > 0 && now.tiltDeviation < 5 * radiansPerDegree) {
            complaints.append("the tilt's deviation is \(now.tiltDeviation) rad")
        }
        if !(now.biasDeviation > 0 && now.biasDeviation < radiansPerDegree) {
            complaints.append("the bias's deviation is \(now.biasDeviation) rad/s")
        }
        return complaints.map { "round \(round): \($0)" }
    }
}
