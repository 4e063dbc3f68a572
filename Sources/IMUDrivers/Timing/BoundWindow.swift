internal import MotionCore

/// Bounds on the completion times of samples, collected over about the last minute in a fixed amount of memory.
///
/// At first it keeps every observation. When it is full, it merges adjacent blocks, which preserves the whole history
/// at a coarser resolution. Once blocks span a second, it drops the oldest one instead.
struct BoundWindow: ~Copyable {
    /// The tightest bounds seen in one stretch of time.
    struct Block: BitwiseCopyable {
        /// Sample `upperIndex` was complete at `upperTime` or before.
        var upperIndex: Int64
        var upperTime: Timestamp
        /// Sample `lowerIndex` was not yet complete at `lowerTime`.
        var lowerIndex: Int64
        var lowerTime: Timestamp

        /// Merges `other` into `self`, keeping the tighter of each bound for samples `period` seconds apart.
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

    /// The most blocks it holds. The number is even; with blocks of 1 s to 2 s the window covers one to two minutes.
    static var capacity: Int { 64 }

    /// While blocks are shorter than this, a full window is merged instead of dropping its oldest block, seconds.
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

    /// Adds an observation. Returns whether it completed a block.
    mutating func add(_ observation: Block, period: Double) -> Bool {
        if count > 0 && observationsInLast < observationsPerBlock {
            blocks[count - 1].merge(observation, period: period)
            observationsInLast += 1
        } else {
            if count == Self.capacity { compact(period: period) }
            blocks[count] = observation
            count += 1
            observationsInLast = 1
        }
        return observationsInLast >= observationsPerBlock
    }

    /// Drops the oldest `number` blocks.
    mutating func dropFirst(_ number: Int) {
        let dropped = min(max(0, number), count)
        for index in dropped..<count {
            blocks[index - dropped] = blocks[index]
        }
        count -= dropped
    }

    /// Drops everything.
    mutating func removeAll() {
        count = 0
        observationsPerBlock = 1
        observationsInLast = 0
    }

    private mutating func compact(period: Double) {
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
