/// Room for the samples of one read of a chip's FIFO, allocated once and used again and again.
package struct SampleBatch: ~Copyable {
    private let storage: UnsafeMutablePointer<MotionSample>

    /// How many samples fit.
    package let capacity: Int

    /// How many samples it holds.
    package private(set) var count = 0

    /// Makes room for `capacity` samples, at least one.
    package init(capacity: Int) {
        self.capacity = max(1, capacity)
        storage = .allocate(capacity: self.capacity)
    }

    deinit {
        storage.deallocate()
    }

    /// Whether it holds no sample.
    package var isEmpty: Bool { count == 0 }

    /// Appends a sample; returns false, and leaves it out, where there is no room.
    @discardableResult
    package mutating func append(_ sample: MotionSample) -> Bool {
        guard count < capacity else { return false }
        storage[count] = sample
        count += 1
        return true
    }

    /// Forgets all samples and keeps the room.
    package mutating func removeAll() {
        count = 0
    }

    /// The sample at `index`, oldest first.
    package subscript(index: Int) -> MotionSample {
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
