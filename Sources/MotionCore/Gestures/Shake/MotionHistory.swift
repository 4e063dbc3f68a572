/// The squared linear acceleration of the last 12.8 s, a value a cell.
struct MotionHistory: ~Copyable {
    /// Cells that are kept: a power of two so that an index wraps by a mask.
    private static let capacity = 1024
    private static let mask = capacity - 1
    /// Cells searched for quiet: 12 s.
    private static let searched = 600
    /// Cells of a quiet stretch: 0.4 s.
    private static let stretch = 20

    private let squares: UnsafeMutablePointer<Double>
    private var count = 0

    init() {
        squares = .allocate(capacity: MotionHistory.capacity)
        squares.initialize(repeating: 0, count: MotionHistory.capacity)
    }

    deinit {
        squares.deallocate()
    }

    /// Forgets everything.
    mutating func reset() {
        count = 0
    }

    /// Takes the squared linear acceleration of one more cell.
    mutating func append(_ square: Double) {
        squares[count & MotionHistory.mask] = square
        count += 1
    }

    /// RMS over the cells from `from` to `to` cells before the latest; 0 where there is no past.
    func rms(from: Int, to: Int) -> Double {
        let latest = count - 1
        let first = max(0, latest - from)
        let end = latest - to
        guard end > first else { return 0 }
        var sum = 0.0
        for cell in first..<end { sum += squares[cell & MotionHistory.mask] }
        return (sum / Double(end - first)).squareRoot()
    }

    /// RMS of the quietest 0.4 s in the 12 s before the latest cell; 0 where there is no past.
    func quietest() -> Double {
        let end = count - 1
        let first = max(0, end - MotionHistory.searched - MotionHistory.stretch)
        guard end - first >= MotionHistory.stretch else { return 0 }
        var sum = 0.0
        for cell in first..<(first + MotionHistory.stretch) { sum += squares[cell & MotionHistory.mask] }
        var least = sum
        for cell in (first + MotionHistory.stretch)..<end {
            sum += squares[cell & MotionHistory.mask] - squares[(cell - MotionHistory.stretch) & MotionHistory.mask]
            least = min(least, sum)
        }
        return (max(0, least) / Double(MotionHistory.stretch)).squareRoot()
    }
}
