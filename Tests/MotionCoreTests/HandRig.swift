import Foundation
import MotionCore

/// A board that hands turn and move in a known way, its samples with chosen faults, and an attitude filter on them.
struct HandRig {
    /// Samples per second.
    var rate = 200.0
    /// How late the accelerometer is, s: a multiple of a millisecond.
    var delay = 0.0
    /// The highest rate about each axis, rad/s, and the distance from the middle, m.
    var turning = 2.5
    var reach = 0.05
    /// Full scale of the sensors, rad/s and m/s².
    var rotationRateRange = Double.infinity
    var accelerationRange = Double.infinity
    /// Whether the sample with this number is missing.
    var isMissing: (Int) -> Bool = { _ in false }
    /// Acceleration in addition to that of the hands, earth frame, m/s², by the time, s.
    var push: (Double) -> Vector3 = { _ in .zero }
    /// Rotation in addition to that of the hands, body axes, rad/s, by the time, s.
    var spin: (Double) -> Vector3 = { _ in .zero }
    /// Seconds of rest before the hands move the board, and before the filter begins.
    var rest = 2.0
    var unseen = 0.0
    /// RMS of the accelerometer's noise on each axis, m/s².
    var noise = 0.03
    /// Bias of the gyroscope, rad/s.
    var bias = Vector3(0.01, -0.006, 0.008)
    var seed: UInt64 = 1
    /// When the errors begin to count, s.
    var settled = 5.0

    /// What became of the filter.
    struct Result {
        /// RMS and largest error of the inclination from `settled` on, rad.
        var rms = 0.0
        var largest = 0.0
        /// At the end.
        var scale = 0.0
        var bias = 0.0
        var heading = 0.0
        var isSound = true
    }

    /// Two seconds of rest, then movement until the end.
    func run(seconds: Double) -> Result {
        var random = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        func next() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / Double(UInt64(1) << 53)
        }
        func deviate() -> Double { (next() - 0.5) * 12.0.squareRoot() }
        let phases = (0..<9).map { _ in 2 * Double.pi * next() }
        let frequencies = (0..<9).map { ($0 < 6 ? 0.3 : 0.9) + 0.8 * next() }
        func sine(_ index: Int, _ time: Double) -> Double { sin(2 * .pi * frequencies[index] * time + phases[index]) }

        let steps = Int((1000 / rate).rounded())
        let late = Int((delay * 1000).rounded())
        var filter = AttitudeFilter()
        var attitude = Quaternion.identity
        var forces = [Vector3](repeating: Vector3(0, 0, standardGravity), count: late)
        var forceSum = Vector3.zero
        var rateSum = Vector3.zero
        var interval = 0.0
        var count = 0.0
        var result = Result()
        var index = 0
        var hasBegun = false
        for step in 1...Int(seconds * 1000) {
            let time = 0.001 * (Double(step) - 0.5)
            let envelope = min(1, max(0, (time - rest) / 2))
            var turn = spin(time)
            var acceleration = push(time)
            for axis in 0..<3 {
                turn[axis] += envelope * turning * (0.6 * sine(axis, time) + 0.4 * sine(axis + 3, time))
                let pace = 2 * Double.pi * frequencies[axis + 6]
                acceleration[axis] -= envelope * reach * pace * pace * sine(axis + 6, time)
            }
            let half = Quaternion(rotationVector: turn * 0.0005)
            let middle = attitude * half
            attitude = (middle * half).normalized
            forces.append(middle.unrotate(acceleration + Vector3(0, 0, standardGravity)))
            forceSum += forces[step - 1]
            rateSum += turn
            guard step % steps == 0 else { continue }
            var sample = MotionSample(
                timestamp: Timestamp(seconds: 0.001 * Double(step)), acceleration: forceSum * (1 / Double(steps)),
                rotationRate: rateSum * (1 / Double(steps)) + bias)
            forceSum = .zero
            rateSum = .zero
            for axis in 0..<3 {
                sample.acceleration[axis] += noise * deviate()
                sample.rotationRate[axis] += 0.001 * deviate()
                if abs(sample.acceleration[axis]) > accelerationRange {
                    sample.acceleration[axis] = sample.acceleration[axis] > 0 ? accelerationRange : -accelerationRange
                    sample.flags.insert(.accelerationClipped(axis: axis))
                }
                if abs(sample.rotationRate[axis]) > rotationRateRange {
                    sample.rotationRate[axis] = sample.rotationRate[axis] > 0 ? rotationRateRange : -rotationRateRange
                    sample.flags.insert(.rotationRateClipped(axis: axis))
                }
            }
            index += 1
            interval += 1 / rate
            if isMissing(index) || time < unseen { continue }
            filter.update(sample, interval: hasBegun ? interval : 0)
            hasBegun = true
            interval = 0
            guard time > settled else { continue }
            let error = filter.attitude.inclination(to: attitude)
            if !error.isFinite || !filter.hasSoundVariances { result.isSound = false }
            result.rms += error * error
            result.largest = max(result.largest, error)
            count += 1
        }
        result.rms = (result.rms / count).squareRoot()
        result.bias = (filter.gyroscopeBias - bias).length
        let scale = filter.gyroscopeScale
        result.scale = scale.numbers.map(abs).max() ?? .nan
        result.heading = abs((filter.attitude * attitude.conjugate).rotationVector.z)
        return result
    }
}
