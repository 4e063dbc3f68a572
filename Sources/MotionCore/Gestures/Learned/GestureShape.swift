internal import CMotionMath

/// What movements are compared by: 24 points of equal time with unit energy, their loudness and their duration.
struct ShapeTable: ~Copyable {
    /// Points of a shape, and by how many of them two movements may be out of step.
    static let points = 24
    private static let radius = 3
    /// Weights of the logarithms of the ratios of loudness and of duration.
    private static let loudnessWeight: Float = 0.30
    private static let durationWeight: Float = 0.30

    private let frames: FixedBuffer<MotionFrame>
    private let loudness: FixedBuffer<Float>
    private let duration: FixedBuffer<Float>
    /// Two rows of sums, for a comparison.
    private let rows = FixedBuffer<Float>(count: 2 * (ShapeTable.points + 2))

    /// A distance between two movements and its parts.
    struct Distance: BitwiseCopyable {
        var shape: Float = 0
        var loudness: Float = 0
        var tempo: Float = 0
        var sum: Float { shape + loudness + tempo }
    }

    init(count: Int) {
        frames = FixedBuffer(count: count * ShapeTable.points)
        loudness = FixedBuffer(count: count)
        duration = FixedBuffer(count: count)
    }

    /// The loudness of a shape: the RMS of the energy.
    func loudness(of index: Int) -> Double { exp(Double(loudness[index])) }

    /// Seconds.
    func duration(of index: Int) -> Double { exp(Double(duration[index])) }

    /// Sets a shape to that of at least two frames.
    func set(_ index: Int, count: Int, _ frame: (Int) -> MotionFrame) {
        var sum: Float = 0
        for number in 0..<count { sum += frame(number).squaredDistance(to: .zero) }
        let rms = (sum / Float(count)).squareRoot() + 1e-6
        loudness[index] = Float(log(Double(rms)))
        duration[index] = Float(log(Double(count) / MotionFrame.rate))
        for point in 0..<ShapeTable.points {
            let value = ShapeTable.value(at: point, of: ShapeTable.points, count, frame)
            frames[index * ShapeTable.points + point] = MotionFrame(values: value / rms)
        }
    }

    /// The value at `point` of `points` points of equal time in `count` frames.
    static func value(at point: Int, of points: Int, _ count: Int, _ frame: (Int) -> MotionFrame) -> SIMD8<Float> {
        let place = Float(point * (count - 1)) / Float(points - 1)
        let before = min(Int(place), max(count - 2, 0))
        let share = place - Float(before)
        return frame(before).values * (1 - share) + frame(min(before + 1, count - 1)).values * share
    }

    /// The distance of a shape to one of another table, if its sum is below `limit`. The points are compared by dynamic time
    /// warping in a band.
    func distance(_ index: Int, to other: borrowing ShapeTable, _ second: Int, below limit: Float) -> Distance? {
        var distance = Distance()
        distance.loudness = ShapeTable.loudnessWeight * abs(loudness[index] - other.loudness[second])
        distance.tempo = ShapeTable.durationWeight * abs(duration[index] - other.duration[second])
        let left = limit - distance.sum
        guard left > 0 else { return nil }
        let points = ShapeTable.points
        let most = left * left * Float(points)
        let (first, second) = (index * points, second * points)
        let width = points + 2
        var (above, present) = (0, width)
        for column in 0..<2 * width { rows[column] = .infinity }
        rows[above] = 0
        for row in 1...points {
            let (from, to) = (max(1, row - ShapeTable.radius), min(points, row + ShapeTable.radius))
            rows[present + from - 1] = .infinity
            var least = Float.infinity
            for column in from...to {
                let step = frames[first + row - 1].squaredDistance(to: other.frames[second + column - 1])
                let before = min(rows[above + column - 1], rows[above + column], rows[present + column - 1])
                let sum = before + step
                rows[present + column] = sum
                least = min(least, sum)
            }
            guard least < most else { return nil }
            swap(&above, &present)
        }
        distance.shape = (rows[above + points] / Float(points)).squareRoot()
        return distance.sum < limit ? distance : nil
    }
}
