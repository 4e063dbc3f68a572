internal import MotionCore

/// The status and output registers of Asahi Kasei's magnetometers: ST1, six bytes and ST2 (MS1356-E-02 p. 15, 29; DS-000189
/// r1.3, p. 78, 79).
struct VirtualAKMOutput: Sendable {
    private var counts: [Int16] = [0, 0, 0]
    private var isReady = false
    private var isOverrun = false
    private var isOverflow = false
    /// Whether a measurement is being read: until ST2 is read, newer ones are not stored.
    private var isProtected = false

    /// ST1: DRDY, DOR.
    var status1: UInt8 { (isReady ? 0x01 : 0) | (isOverrun ? 0x02 : 0) }

    /// A byte of the data, 0 to 5. Reading it clears DRDY and DOR, and begins the reading of the measurement.
    mutating func readByte(_ index: Int) -> UInt8 {
        isReady = false
        isOverrun = false
        isProtected = true
        return UInt8(truncatingIfNeeded: counts[index / 2] >> (index % 2 == 0 ? 0 : 8))
    }

    /// ST2: HOFL. Reading it ends the reading of the measurement.
    mutating func readStatus2() -> UInt8 {
        isReady = false
        isOverrun = false
        isProtected = false
        return isOverflow ? 0x08 : 0
    }

    /// Stores a field along the magnetometer's own axes, µT, with these sizes of a count. Returns whether it did.
    mutating func take(_ field: Vector3, counts number: UInt64, scales: Vector3, limit: Double, isFrozen: Bool) -> Bool
    {
        guard !isProtected else { return false }
        isOverrun = isReady || number > 1
        isReady = true
        guard !isFrozen else { return true }
        isOverflow = abs(field.x) + abs(field.y) + abs(field.z) >= 4912
        for axis in 0..<3 {
            counts[axis] = VirtualIMU.counts(field[axis], scale: scales[axis], within: -limit...limit)
        }
        return true
    }
}
