/// The normal equations of a small least-squares problem: the sum of weighted rows and priors.
///
/// Allocates, so it is for set-up and not for samples.
struct NormalEquations {
    /// The number of unknowns.
    let count: Int

    /// The information matrix: the sum of row · rowᵀ / σ², row by row.
    private var information: [Double]
    private var rightSide: [Double]

    /// Creates equations for `count` unknowns, without any information about them.
    init(count: Int) {
        self.count = count
        information = [Double](repeating: 0, count: count * count)
        rightSide = [Double](repeating: 0, count: count)
    }

    /// Adds an equation: `row` · step = `target`, with standard deviation `deviation`.
    mutating func add(_ row: [Double], target: Double, deviation: Double) {
        let weight = 1 / (deviation * deviation)
        for i in 0..<count where row[i] != 0 {
            rightSide[i] += weight * row[i] * target
            for j in 0..<count { information[i * count + j] += weight * row[i] * row[j] }
        }
    }

    /// Adds a prior: the step of the unknown `index` is `target`, with standard deviation `deviation`.
    mutating func addPrior(_ index: Int, target: Double, deviation: Double) {
        let weight = 1 / (deviation * deviation)
        information[index * count + index] += weight
        rightSide[index] += weight * target
    }

    /// Adds to an element of the information matrix off the diagonal, and to the one that mirrors it; or to one on the
    /// diagonal.
    mutating func add(information value: Double, _ i: Int, _ j: Int) {
        information[i * count + j] += value
        if i != j { information[j * count + i] += value }
    }

    /// Adds to an element of the right side.
    mutating func add(rightSide value: Double, _ i: Int) { rightSide[i] += value }

    /// Solves for the step; `nil` if the equations do not determine it.
    func solved() -> LeastSquaresSolution? {
        // Cholesky: information = factor · factorᵀ.
        var factor = [Double](repeating: 0, count: count * count)
        for i in 0..<count {
            for j in 0...i {
                var sum = information[i * count + j]
                for k in 0..<j { sum -= factor[i * count + k] * factor[j * count + k] }
                if i == j {
                    guard sum > 0, sum.isFinite else { return nil }
                    factor[i * count + i] = sum.squareRoot()
                } else {
                    factor[i * count + j] = sum / factor[j * count + j]
                }
            }
        }
        return LeastSquaresSolution(count: count, factor: factor, rightSide: rightSide)
    }
}

/// The solution of the normal equations: the step and its covariance.
struct LeastSquaresSolution {
    let step: [Double]
    private let count: Int
    private let factor: [Double]

    fileprivate init(count: Int, factor: [Double], rightSide: [Double]) {
        self.count = count
        self.factor = factor
        var step = LeastSquaresSolution.forward(rightSide, factor, count)
        for i in stride(from: count - 1, through: 0, by: -1) {
            var sum = step[i]
            for k in (i + 1)..<max(count, i + 1) { sum -= factor[k * count + i] * step[k] }
            step[i] = sum / factor[i * count + i]
        }
        self.step = step
    }

    /// The largest change of an unknown.
    var largestStep: Double { step.reduce(0) { max($0, abs($1)) } }

    /// Standard deviation of `row` · unknowns.
    func deviation(of row: [Double]) -> Double {
        var squares = 0.0
        for value in LeastSquaresSolution.forward(row, factor, count) { squares += value * value }
        return squares.squareRoot()
    }

    /// Standard deviation of the unknown `index`.
    func deviation(of index: Int) -> Double {
        var row = [Double](repeating: 0, count: count)
        row[index] = 1
        return deviation(of: row)
    }

    /// Solves factor · result = values.
    private static func forward(_ values: [Double], _ factor: [Double], _ count: Int) -> [Double] {
        var result = values
        for i in 0..<count {
            var sum = result[i]
            for k in 0..<i { sum -= factor[i * count + k] * result[k] }
            result[i] = sum / factor[i * count + i]
        }
        return result
    }
}
