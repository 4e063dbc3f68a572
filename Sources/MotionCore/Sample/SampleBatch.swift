/// A buffer for the samples of one FIFO read, allocated once and reused.
package struct SampleBatch: ~Copyable {
    private let storage: FixedBuffer<MotionSample>

    /// The largest number of samples.
    package let capacity: Int

    /// The number of samples in the buffer.
    package private(set) var count = 0

    /// Allocates a buffer for `capacity` samples, at least one.
    package init(capacity: Int) {
        self.capacity = max(1, capacity)
        storage = FixedBuffer(count: self.capacity)
    }

    /// Whether it holds no sample.
    package var isEmpty: Bool { count == 0 }

    /// Appends a sample; returns false and drops the sample if the buffer is full.
    @discardableResult
    package mutating func append(_ sample: MotionSample) -> Bool {
        guard count < capacity else { return false }
        storage[count] = sample
        count += 1
        return true
    }

    /// Removes all samples and keeps the buffer.
    package mutating func removeAll() {
        count = 0
    }

    /// Calls `body` with the samples in place, oldest first.
    package func withSamples(_ body: (UnsafeBufferPointer<MotionSample>) -> Void) {
        body(UnsafeBufferPointer(start: UnsafePointer(storage.base), count: count))
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
