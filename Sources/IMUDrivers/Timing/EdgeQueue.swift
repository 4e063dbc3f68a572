internal import MotionCore

/// The edges of a data-ready line whose frames have not been delivered yet, oldest first. Memory is fixed at `init`.
struct EdgeQueue: ~Copyable {
    /// An edge whose number does not wrap.
    struct Edge: BitwiseCopyable {
        var number: Int64
        var time: Timestamp
        var isOutlier = false
    }

    let capacity: Int
    private let edges: UnsafeMutablePointer<Edge>
    private var first = 0
    private(set) var count = 0
    /// The newest dropped edge, and the newest edge received.
    private(set) var dropped: Edge?
    private var newest: Edge?

    /// Allocates memory for this many edges.
    init(capacity: Int) {
        self.capacity = capacity
        edges = .allocate(capacity: capacity)
    }

    deinit {
        edges.deallocate()
    }

    /// The edge at `index`, oldest first.
    subscript(index: Int) -> Edge { edges[(first + index) % capacity] }

    /// Appends an edge. Returns how many edges were lost since the previous one.
    mutating func append(_ edge: DataReadyEdge) -> UInt64 {
        var number = Int64(edge.number)
        var lost: UInt64 = 0
        if let newest {
            let step = Int64(Int32(bitPattern: edge.number &- UInt32(truncatingIfNeeded: newest.number)))
            number = newest.number + step
            if step > 1 { lost = UInt64(step - 1) }
        }
        if count == capacity { drop(1) }
        let added = Edge(number: number, time: edge.time)
        edges[(first + count) % capacity] = added
        newest = added
        count += 1
        return lost
    }

    /// Records whether the edge at `index` arrived when it was not due.
    mutating func mark(_ index: Int, isOutlier: Bool) { edges[(first + index) % capacity].isOutlier = isOutlier }

    /// Drops the oldest `number` edges.
    mutating func drop(_ number: Int) {
        guard number > 0 else { return }
        dropped = self[number - 1]
        first = (first + number) % capacity
        count -= number
    }

    mutating func dropAll() { drop(count) }

    /// Drops the edges up to and including this number.
    mutating func drop(through number: Int64) {
        var old = 0
        while old < count && self[old].number <= number { old += 1 }
        drop(old)
    }

    /// The time of the edge with this number; `nil` if it is missing or an outlier.
    func instant(of number: Int64) -> Timestamp? {
        guard count > 0 else { return nil }
        // If edges were lost, the edge lies before the index that its number suggests.
        var index = Int(min(max(0, number - self[0].number), Int64(count - 1)))
        while index > 0 && self[index].number > number { index -= 1 }
        let found = self[index]
        return found.number == number && !found.isOutlier ? found.time : nil
    }

    /// Whether the edges are one sample apart. A line that carries some other signal must not be matched by chance.
    func isRegular(period: Double) -> Bool {
        guard count > 0 else { return false }
        var before = dropped ?? self[0]
        for index in 0..<count {
            let edge = self[index]
            let expected = Double(edge.number - before.number) * period
            let spacing = edge.time.seconds(since: before.time)
            if abs(spacing - expected) > EdgeLimits.unevenness(over: expected) { return false }
            before = edge
        }
        return true
    }

    /// The offsets between edge and frame numbers that are consistent with a count of `completed` frames read between
    /// `a` and `b`; `nil` if there has been no edge.
    func offsets(completed: Int64, from a: Timestamp, to b: Timestamp, period: Double) -> EdgeOffsets? {
        var oldest: Int64
        if let dropped {
            oldest = dropped.number
        } else if count > 0 {
            oldest = self[0].number - 1
        } else {
            return nil
        }
        let slack = min(EdgeLimits.slack, period / 8)
        let surely = a.advanced(bySeconds: -slack)
        let possibly = b.advanced(bySeconds: slack)
        var possible = oldest
        for index in 0..<count {
            let edge = self[index]
            if edge.time <= surely { oldest = edge.number }
            if edge.time <= possibly { possible = edge.number }
        }
        return EdgeOffsets(lowest: oldest - completed, highest: possible - completed)
    }
}

/// A range of offsets between edge and frame numbers.
struct EdgeOffsets: BitwiseCopyable {
    var lowest = Int64.min
    var highest = Int64.max

    /// The only offset in the range; `nil` if there are several.
    var only: Int64? { lowest == highest ? lowest : nil }

    func contains(_ offset: Int64) -> Bool { offset >= lowest && offset <= highest }
}
