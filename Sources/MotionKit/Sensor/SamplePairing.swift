internal import LinuxSensors
internal import MotionCore

/// Combines readings of an accelerometer and a gyroscope that are separate devices with different sampling times: the
/// rotation rate is interpolated at the accelerometer's times.
///
/// All memory is allocated by `init`.
struct SamplePairing: ~Copyable {
    // Each has room for two reads.
    private let accelerations = Ring<IIOReading>(capacity: 2 * IIOCapture.capacity)
    private let rotationRates = Ring<IIOReading>(capacity: 2 * IIOCapture.capacity)

    /// How many more readings fit. Those beyond are left out.
    var accelerationRoom: Int { accelerations.room }
    var rotationRateRoom: Int { rotationRates.room }

    mutating func addAcceleration(_ reading: IIOReading) {
        let fits = accelerations.push(reading)
        precondition(fits, "no room")
    }

    mutating func addRotationRate(_ reading: IIOReading) {
        let fits = rotationRates.push(reading)
        precondition(fits, "no room")
    }

    mutating func removeAll() {
        while accelerations.pop() != nil {}
        while rotationRates.pop() != nil {}
    }

    /// The next combined reading; `nil` until the gyroscope's reading has arrived.
    ///
    /// An acceleration from before `deadline` does not wait: it gets the last rotation rate. Accelerations from before the
    /// gyroscope's first reading are discarded.
    mutating func next(heldAfter deadline: Timestamp) -> IIOReading? {
        while let acceleration = accelerations.peek(), let time = acceleration.time {
            while let second = rotationRates.peek(1)?.time, second <= time { _ = rotationRates.pop() }
            guard let rate = rotationRates.peek(), let rateTime = rate.time else { return nil }
            if rateTime > time {
                _ = accelerations.pop()
                continue
            }
            var result = acceleration
            if rateTime == time {
                result.rotationRate = rate.rotationRate
                result.flags.formUnion(rate.flags)
            } else if let next = rotationRates.peek(1), let nextTime = next.time {
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
            _ = accelerations.pop()
            return result
        }
        return nil
    }
}

/// Measures the period of samples with known times over about half a minute, because it drifts with temperature.
struct PeriodMeter {
    /// Seconds of samples before the first estimate.
    private static let minimumSpan = 2.0
    /// Seconds after which the older half is discarded.
    private static let maximumSpan = 32.0

    private var first: (time: Timestamp, count: Int)?
    private var middle: (time: Timestamp, count: Int)?
    private var last: (time: Timestamp, count: Int)?

    /// Takes the time of the next sample. No sample may be missing since the previous one.
    mutating func take(_ time: Timestamp) {
        let count = (last?.count ?? -1) + 1
        last = (time, count)
        guard let first, let middle else {
            self.first = (time, count)
            self.middle = (time, count)
            return
        }
        if time.seconds(since: middle.time) > PeriodMeter.maximumSpan / 2 {
            if middle.count > first.count { self.first = middle }
            self.middle = (time, count)
        }
    }

    /// Seconds; `nil` until there are enough samples.
    var period: Double? {
        guard let first, let last, last.count > first.count else { return nil }
        let span = last.time.seconds(since: first.time)
        return span >= PeriodMeter.minimumSpan ? span / Double(last.count - first.count) : nil
    }
}
