/// Readings of a magnetometer that wait for the motion samples of their time, in memory that is fixed at `init`.
struct MagneticQueue: ~Copyable {
    /// Three seconds of readings: longer than a batch of samples.
    static var capacity: Int { 64 }

    private let readings = FixedBuffer<MagneticSample>(count: MagneticQueue.capacity)
    private var start = 0
    private(set) var count = 0

    /// The oldest reading.
    var first: MagneticSample? { count > 0 ? readings[start] : nil }

    /// Adds a reading. If the queue is full, the oldest one is lost.
    mutating func append(_ reading: MagneticSample) {
        if count == Self.capacity { removeFirst() }
        readings[(start + count) % Self.capacity] = reading
        count += 1
    }

    mutating func removeFirst() {
        guard count > 0 else { return }
        start = (start + 1) % Self.capacity
        count -= 1
    }

    mutating func removeAll() { count = 0 }
}
