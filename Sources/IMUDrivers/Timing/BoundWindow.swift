internal import MotionCore

/// Bounds on the instants of samples, collected over the last minute or so in a fixed amount of memory.
///
/// While it is young it keeps every observation. When it is full it first merges neighbours, which keeps the whole
/// history with coarser blocks, and once a block spans a second it forgets the oldest instead.
struct BoundWindow: ~Copyable {
    /// The tightest bounds seen in one stretch of time.
    struct Block: BitwiseCopyable {
        /// Sample `upperIndex` was complete at `upperTime` or before.
        var upperIndex: Int64
        var upperTime: Timestamp
        /// Sample `lowerIndex` was not yet complete at `lowerTime`.
        var lowerIndex: Int64
        var lowerTime: Timestamp

        /// Keeps of both bounds whichever of `self` and `other` is tighter for samples `period` seconds apart.
        mutating func merge(_ other: Block, period: Double) {
            if other.upperTime.seconds(since: upperTime) < Double(other.upperIndex - upperIndex) * period {
                upperIndex = other.upperIndex
                upperTime = other.upperTime
            }
            if other.lowerTime.seconds(since: lowerTime) > Double(other.lowerIndex - lowerIndex) * period {
                lowerIndex = other.lowerIndex
                lowerTime = other.lowerTime
            }
        }
    }

    /// How many blocks it holds at most: even, and with blocks of 1…2 s a window of one to two minutes.
    static var capacity: Int { 64 }

    /// A full window of blocks shorter than this is merged instead of losing its oldest, seconds.
    static var longestMergedBlock: Double { 1 }

    private let blocks: UnsafeMutablePointer<Block>
    private(set) var count = 0
    private var observationsPerBlock = 1
    private var observationsInLast = 0

    init() {
        blocks = .allocate(capacity: Self.capacity)
    }

    deinit {
        blocks.deallocate()
    }

    /// The block at `index`, oldest first.
    subscript(index: Int) -> Block {
        precondition(index >= 0 && index < count, "block index out of range")
        return blocks[index]
    }

    /// Seconds from the oldest block to the newest.
    var span: Double {
        count == 0 ? 0 : blocks[count - 1].upperTime.seconds(since: blocks[0].upperTime)
    }

    /// Adds an observation; returns whether it completed a block.
    mutating func add(_ observation: Block, period: Double) -> Bool {
        if count > 0 && observationsInLast < observationsPerBlock {
            blocks[count - 1].merge(observation, period: period)
            observationsInLast += 1
        } else {
            if count == Self.capacity { makeRoom(period: period) }
            blocks[count] = observation
            count += 1
            observationsInLast = 1
        }
        return observationsInLast >= observationsPerBlock
    }

    /// Forgets the oldest `number` blocks.
    mutating func dropFirst(_ number: Int) {
        let dropped = min(max(0, number), count)
        for index in dropped..<count {
            blocks[index - dropped] = blocks[index]
        }
        count -= dropped
    }

    /// Forgets everything.
    mutating func removeAll() {
        count = 0
        observationsPerBlock = 1
        observationsInLast = 0
    }

    private mutating func makeRoom(period: Double) {
        guard span < Double(Self.capacity) * Self.longestMergedBlock else { return dropFirst(1) }
        for index in 0..<Self.capacity / 2 {
            blocks[index] = blocks[2 * index]
            blocks[index].merge(blocks[2 * index + 1], period: period)
        }
        count = Self.capacity / 2
        observationsPerBlock *= 2
        observationsInLast = observationsPerBlock
    }
}
