internal import LinuxSensors
internal import MotionCore

/// Brings an accelerometer's and a gyroscope's readings together that come from two devices, each with times of its own:
/// the rotation rate is interpolated at the accelerometer's instants.
///
/// Its memory is allocated once.
struct SamplePairing: ~Copyable {
    private let accelerations = ReadingQueue()
    private let rotationRates = ReadingQueue()

    /// How many readings there is room for.
    var accelerationRoom: Int { accelerations.room }
    var rotationRateRoom: Int { rotationRates.room }

    mutating func addAcceleration(_ reading: IIOReading) { accelerations.append(reading) }
    mutating func addRotationRate(_ reading: IIOReading) { rotationRates.append(reading) }

    mutating func removeAll() {
        accelerations.removeAll()
        rotationRates.removeAll()
    }

    /// The next reading of both; `nil` where the gyroscope's is still to come.
    ///
    /// An accelerometer's reading from before `deadline` waits no longer: it is given the last rotation rate. What it
    /// measured before the gyroscope began is dropped.
    mutating func next(heldAfter deadline: Timestamp) -> IIOReading? {
        while let acceleration = accelerations.first, let time = acceleration.time {
            while rotationRates.count > 1, let second = rotationRates.second.time, second <= time {
                rotationRates.removeFirst()
            }
            guard let rate = rotationRates.first, let rateTime = rate.time else { return nil }
            if rateTime > time {
                accelerations.removeFirst()
                continue
            }
            var result = acceleration
            if rateTime == time {
                result.rotationRate = rate.rotationRate
                result.flags.formUnion(rate.flags)
            } else if rotationRates.count > 1, let nextTime = rotationRates.second.time {
                let next = rotationRates.second
                let part = time.seconds(since: rateTime) / nextTime.seconds(since: rateTime)
                result.rotationRate = rate.rotationRate + part * (next.rotationRate - rate.rotationRate)
                result.flags.formUnion(rate.flags)
                result.flags.formUnion(next.flags)
            } else if time < deadline {
                result.rotationRate = rate.rotationRate
                result.flags.formUnion(rate.flags)
            } else {
                return nil
            }
            if result.temperature.isNaN { result.temperature = rate.temperature }
            accelerations.removeFirst()
            return result
        }
        return nil
    }
}

/// Readings in order, in memory that is allocated once.
private final class ReadingQueue {
    /// As many as two reads bring.
    static let capacity = 2 * IIOCapture.capacity

    private let storage = UnsafeMutablePointer<IIOReading>.allocate(capacity: capacity)
    private var head = 0
    private(set) var count = 0

    deinit { storage.deallocate() }

    var room: Int { ReadingQueue.capacity - count }

    var first: IIOReading? { count > 0 ? storage[head] : nil }

    /// The one after the first; there must be one.
    var second: IIOReading { storage[(head + 1) % ReadingQueue.capacity] }

    /// Appends a reading; there must be room.
    func append(_ reading: IIOReading) {
        precondition(count < ReadingQueue.capacity, "no room")
        storage[(head + count) % ReadingQueue.capacity] = reading
        count += 1
    }

    func removeFirst() {
        head = (head + 1) % ReadingQueue.capacity
        count -= 1
    }

    func removeAll() {
        head = 0
        count = 0
    }
}
