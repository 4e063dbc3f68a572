import Testing

@testable import MotionCore

/// The covariance of the filter's errors, compared with products of whole matrices in double precision.
@Suite struct ErrorCovarianceTests {
    private typealias Matrix = [[Double]]
    private static let count = 20

    /// Numbers between -1 and 1, the same in every run.
    private struct Numbers {
        private var state: UInt64
        init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }
        mutating func next() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state >> 11) * 0x1p-52 - 1
        }
        mutating func vector(_ size: Double) -> Vector3 { Vector3(next(), next(), next()) * size }
    }

    private static func product(_ a: Matrix, _ b: Matrix) -> Matrix {
        a.map { row in
            (0..<count).map { column in
                (0..<count).reduce(0) { (sum: Double, index: Int) -> Double in sum + row[index] * b[index][column] }
            }
        }
    }

    private static func transposed(_ a: Matrix) -> Matrix {
        (0..<count).map { row in (0..<count).map { a[$0][row] } }
    }

    private static let identity: Matrix = (0..<count).map { row in (0..<count).map { $0 == row ? 1 : 0 } }

    /// A covariance in which every state depends on every other.
    private static func start(_ seed: UInt64) -> Matrix {
        var numbers = Numbers(seed)
        let root = (0..<count).map { _ in (0..<count).map { _ in numbers.next() } }
        return product(root, transposed(root))
    }

    private static func covariance(_ values: Matrix) -> ErrorCovariance {
        let covariance = ErrorCovariance()
        for a in 0..<count {
            for b in a..<count { covariance.setCovariance(Float(values[a][b]), a, b) }
        }
        return covariance
    }

    /// A block in which the board turns about every axis.
    private static func block(_ seed: UInt64) -> BlockSums {
        var numbers = Numbers(seed &+ 100)
        var block = BlockSums()
        for _ in 0..<10 {
            let sample = MotionSample(
                timestamp: Timestamp(nanoseconds: 0), acceleration: numbers.vector(20),
                rotationRate: numbers.vector(5))
            let rotation = Quaternion(rotationVector: numbers.vector(3)).matrix
            block.add(sample, force: numbers.vector(5), interval: 0.02)
            block.take(
                StrapdownStep(
                    rotation: rotation, biasFreeRate: sample.rotationRate,
                    coriolis: sample.rotationRate.cross(sample.acceleration), force: .zero), sample)
        }
        return block
    }

    /// The transition of the errors over a block: the equations in the comment of `ErrorCovariance.propagate`.
    private static func transition(_ block: borrowing BlockSums) -> Matrix {
        var transition = identity
        for earth in 0..<3 {
            for body in 0..<3 {
                let jacobian = block.jacobian(earth, body)
                for lane in 0..<4 { transition[earth][4 + 4 * body + lane] = Double(jacobian[lane]) }
            }
        }
        let half = 0.5 * block.duration
        let pull = standardGravity * half
        for state in 0..<count {
            let theta = (0..<2).map { ($0 == state ? 1 : 0) + transition[$0][state] }
            transition[16][state] += pull * theta[1]
            transition[17][state] -= pull * theta[0]
        }
        transition[16][3] += block.delayJacobian.x
        transition[17][3] += block.delayJacobian.y
        for axis in 0..<2 {
            for state in 0..<count {
                let old: Double = state == 16 + axis ? 1 : 0
                transition[18 + axis][state] += half * (old + transition[16 + axis][state])
            }
        }
        return transition
    }

    private static func largest(_ a: Matrix) -> Double { a.joined().map(abs).max() ?? 0 }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func propagatesEveryElement(seed: UInt64) {
        let block = Self.block(seed)
        let transition = Self.transition(block)
        let start = Self.start(seed)
        let expected = Self.product(Self.product(transition, start), Self.transposed(transition))
        let tolerance = 1e-5 * Self.largest(expected)
        for state in 0..<Self.count {
            let covariance = Self.covariance(start)
            covariance.propagate(block)
            // With an innovation variance of 1, the gain is the row of the covariance.
            let row = covariance.measure(state, innovationVariance: 1, keepsCalibration: false)
            for other in 0..<Self.count {
                let error = Double(row[other]) - expected[state][other]
                #expect(abs(error) < tolerance, "\(state), \(other)")
            }
        }
    }

    /// A measurement reduces the covariance by the product of the gain and the row. If it keeps the calibration, the
    /// calibration's own covariances stay, and those between it and the other states follow.
    @Test(arguments: [false, true])
    func measuresEveryElement(keepsCalibration: Bool) {
        let start = Self.start(7)
        let measured = 17
        let variance = start[measured][measured] + 2
        let kept = 2..<16
        var expected = start
        for a in 0..<Self.count {
            for b in 0..<Self.count where !(keepsCalibration && kept.contains(a) && kept.contains(b)) {
                expected[a][b] -= start[a][measured] * start[measured][b] / variance
            }
        }
        let tolerance = 1e-5 * Self.largest(start)
        for state in 0..<Self.count {
            let covariance = Self.covariance(start)
            let gain = covariance.measure(
                measured, innovationVariance: Float(variance), keepsCalibration: keepsCalibration)
            let isKept = keepsCalibration && kept.contains(state)
            #expect(abs(Double(gain[state]) - (isKept ? 0 : start[state][measured] / variance)) < 1e-5, "\(state)")
            let row = covariance.measure(state, innovationVariance: 1, keepsCalibration: false)
            for other in 0..<Self.count {
                #expect(abs(Double(row[other]) - expected[state][other]) < tolerance, "\(state), \(other)")
            }
        }
    }
}
