internal import MotionCore

/// Checks that the attitude filter stays sound for months. Accumulated rounding errors, or a covariance that loses its
/// symmetry or diverges, show within 10⁸ samples, which are half a year at 6 Hz and six days at 200 Hz.
struct EnduranceCheck {
    /// The filter's state after a round through the material.
    private struct Mark {
        let attitude: Quaternion
        let bias: Vector3
        let tiltDeviation: Double
        let biasDeviation: Double

        init(_ filter: borrowing AttitudeFilter) {
            attitude = filter.attitude
            bias = filter.gyroscopeBias
            tiltDeviation = filter.tiltDeviation
            biasDeviation = filter.gyroscopeBiasDeviation
        }
    }

    static let samples = 100_000_000

    /// The number of processed samples.
    let count: Int
    /// The faults found, as text.
    let complaints: [String]

    /// Processes the material repeatedly. In it, the board is turned, shaken and left at rest.
    init(material: Material, samples: Int = EnduranceCheck.samples) {
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
        count = done
        self.complaints = complaints
    }

    /// At the same point of the material the filter must be in the same state in every round.
    private static func complaints(_ now: Mark, _ first: Mark, round: Int) -> [String] {
        var complaints: [String] = []
        if !(abs(now.attitude.normSquared - 1) < 1e-9) { complaints.append("the attitude is no longer a rotation") }
        if !(now.attitude.inclination(to: first.attitude) < radiansPerDegree) { complaints.append("the tilt drifted") }
        if !((now.bias - first.bias).length < 0.2 * radiansPerDegree) { complaints.append("the bias drifted") }
        if !(now.tiltDeviation > 0 && now.tiltDeviation < 5 * radiansPerDegree) {
            complaints.append("the tilt's deviation is \(now.tiltDeviation) rad")
        }
        if !(now.biasDeviation > 0 && now.biasDeviation < radiansPerDegree) {
            complaints.append("the bias's deviation is \(now.biasDeviation) rad/s")
        }
        return complaints.map { "round \(round): \($0)" }
    }
}
