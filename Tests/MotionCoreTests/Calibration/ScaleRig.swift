import Foundation
import MotionCore

/// A body that moves in a known way with a gyroscope of known errors: shows what the attitude filter learns in one run.
struct ScaleRig {
    enum Movement {
        /// Turned in all directions and moved by ±5 cm, as by hands.
        case hands
        /// The same with an accelerometer that is `seconds` late: more than the filter can estimate.
        case lateForce(seconds: Double)
        /// Carried round in a circle, with x pointing outwards and without tilt: the centripetal acceleration never ends.
        case circling(radius: Double, turnsPerSecond: Double)
        case resting
    }

    static let rate = 20.0

    /// The true K, sensor axes.
    var scale = Matrix3(.zero, .zero, .zero)
    var mount = Matrix3.identity

    /// A run from start to stop; the pipeline's estimate is passed to the learner every minute and at the end.
    ///
    /// - Returns: the pipeline's last estimate.
    @discardableResult
    func run(_ movement: Movement, seconds: Double, seed: UInt64, _ learner: inout ScaleLearner) -> ScaleEstimate {
        var settings = MotionSettings()
        settings.mount = mount
        var pipeline = MotionPipeline(settings: settings, learntScale: learner.prior)
        var random = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        func next() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / Double(UInt64(1) << 53)
        }
        func noise() -> Double { (next() - 0.5) * 12.0.squareRoot() }
        let phases = (0..<9).map { _ in 2 * Double.pi * next() }
        let frequencies = (0..<9).map { ($0 < 6 ? 0.2 : 0.7) + 0.7 * next() }
        func sine(_ index: Int, _ time: Double) -> Double {
            sin(2 * .pi * frequencies[index] * time + phases[index])
        }

        let measured = Matrix3(
            Vector3(1, 0, 0) + scale.row0, Vector3(0, 1, 0) + scale.row1, Vector3(0, 0, 1) + scale.row2
        ).inverse
        let interval = 1 / Self.rate
        var attitude = Quaternion.identity
        var late: [Vector3] = []
        for index in 0..<Int(seconds * Self.rate) {
            let time = Double(index) * interval
            let envelope = min(1, max(0, (time - 2) / 2))
            var rate = Vector3.zero
            var acceleration = Vector3.zero
            switch movement {
            case .hands, .lateForce:
                for axis in 0..<3 {
                    rate[axis] = envelope * (1.5 * sine(axis, time) + sine(axis + 3, time))
                    let pace = 2 * Double.pi * frequencies[axis + 6]
                    acceleration[axis] = -envelope * 0.05 * pace * pace * sine(axis + 6, time)
                }
            case .circling(let radius, let turns):
                let speed = 2 * .pi * turns * envelope
                rate = Vector3(0, 0, speed)
                acceleration = attitude.rotate(Vector3(-speed * speed * radius, 0, 0))
            case .resting: break
            }
            let half = Quaternion(rotationVector: rate * (0.5 * interval))
            let middle = attitude * half
            attitude = (middle * half).normalized
            var force = mount.transposed * middle.unrotate(acceleration + Vector3(0, 0, standardGravity))
            var shown = measured * (mount.transposed * rate)
            for axis in 0..<3 {
                force[axis] += 0.03 * noise()
                shown[axis] += 0.001 * noise() + 0.01
            }
            if case .lateForce(let seconds) = movement {
                late.append(force)
                force = late[max(0, late.count - 1 - Int(seconds * Self.rate))]
            }
            pipeline.process(
                MotionSample(
                    timestamp: Timestamp(seconds: 1 + time), acceleration: force, rotationRate: shown)
            ) { _ in }
            if index % Int(60 * Self.rate) == Int(60 * Self.rate) - 1 { learner.learn(pipeline.learntScale) }
        }
        learner.learn(pipeline.learntScale)
        return pipeline.learntScale
    }
}

extension Matrix3 {
    /// The elements, row by row.
    var numbers: [Double] { [row0, row1, row2].flatMap { [$0.x, $0.y, $0.z] } }

    /// The largest difference between two elements.
    func distance(to other: Matrix3) -> Double {
        zip(numbers, other.numbers).map { abs($0 - $1) }.max() ?? 0
    }
}
