/// Room for the samples of one read of a chip's FIFO, allocated once and used again and again.
public struct SampleBatch: ~Copyable {
    private let storage: UnsafeMutablePointer<MotionSample>

    /// How many samples fit.
    public let capacity: Int

    /// How many samples it holds.
    public private(set) var count = 0

    /// Makes room for `capacity` samples, at least one.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
        storage = .allocate(capacity: self.capacity)
    }

    deinit {
        storage.deallocate()
    }

    /// Whether it holds no sample.
    public var isEmpty: Bool { count == 0 }

    /// Appends a sample; returns false, and leaves it out, where there is no room.
    @discardableResult
    public mutating func append(_ sample: MotionSample) -> Bool {
        guard count < capacity else { return false }
        storage[count] = sample
        count += 1
        return true
    }

    /// Forgets all samples and keeps the room.
    public mutating func removeAll() {
        count = 0
    }

    /// The sample at `index`, oldest first.
    public subscript(index: Int) -> MotionSample {
        get {
            precondition(index >= 0 && index < count, "sample index out of range")
            return storage[index]
        }
        set {
            precondition(index >= 0 && index < count, "sample index out of range")
            storage[index] = newValue
        }
    }
}
