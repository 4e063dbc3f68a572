internal import MotionCore

extension MPU6050 where Bus: ~Copyable {
    /// Whether all of the first `count` frames in the buffer can be frames; those that will be left out may be anything.
    func areFrames(_ count: Int) -> Bool {
        var temperature = lastTemperature
        for index in 0..<count where !isLeftOut(taken + 1 + Int64(index)) {
            let frame = buffer.frame(at: index)
            guard !frame.isOneByteRepeated && frame.isPlausible(after: temperature) else { return false }
            temperature = frame.temperature
        }
        return true
    }

    /// Whether the frames have been the same, bit for bit, for longer than a living sensor's noise allows.
    mutating func isFrozen(_ count: Int) -> Bool {
        for index in 0..<count {
            let frame = buffer.frame(at: index)
            repetitions = frame == lastFrame ? repetitions + 1 : 0
            lastFrame = frame
        }
        return Double(repetitions) > max(MPU6050Timing.frozenAfter * configuration.rate, MPU6050Timing.fewestFrozen)
    }

    /// Appends the first `count` frames in the buffer as samples; returns what their arrival means.
    mutating func deliver(_ count: Int, into batch: inout SampleBatch) -> IMUPoll.Event {
        var event = IMUPoll.Event.none
        for index in 0..<count {
            taken += 1
            guard !isLeftOut(taken) else { continue }
            let frame = buffer.frame(at: index)
            lastTemperature = frame.temperature
            var sample = frame.sample(at: timestamp(ofFrame: taken), configuration)
            if !sample.flags.isDisjoint(with: .clipped) {
                status.clippedSamples += 1
            }
            let told = resume(at: sample.timestamp, flags: &sample.flags)
            if told != .none { event = told }
            lastTimestamp = sample.timestamp
            batch.append(sample)
            status.samples += 1
        }
        return event
    }

    /// Whether frame `number` was measured before the gyroscope had started up.
    private func isLeftOut(_ number: Int64) -> Bool {
        guard status.state == .settling else { return false }
        return number <= Int64(MPU6050Timing.discardedFrames) || estimator.instant(ofSample: number) < settledAt
    }

    /// When frame `number` was measured: when it was complete, less what the low-pass held it back.
    ///
    /// The gyroscope's delay is taken, whose error turns into an angle; the accelerometer's is up to 0.4 ms longer.
    private mutating func timestamp(ofFrame number: Int64) -> Timestamp {
        let timestamp = estimator.timestamp(ofSample: number).advanced(bySeconds: -configuration.delay)
        guard let lastTimestamp, timestamp <= lastTimestamp else { return timestamp }
        return Timestamp(nanoseconds: lastTimestamp.nanoseconds + 1)
    }

    /// Ends an interruption or the start, if there was one, with the sample of `timestamp`.
    private mutating func resume(at timestamp: Timestamp, flags: inout MotionSample.Flags) -> IMUPoll.Event {
        guard status.state == .settling || interruption != nil else { return .none }
        let gap = lastTimestamp.map { timestamp.seconds(since: $0) } ?? 0
        if lastTimestamp != nil { flags.insert(.afterGap) }
        interruptionsInARow = 0
        let fault = outage ?? interruption
        if fault != nil && lastTimestamp != nil {
            status.gaps += 1
            status.lostSamples += UInt64(max(0, (gap / estimator.period).rounded() - 1))
        }
        defer {
            status.state = .streaming
            outage = nil
            interruption = nil
        }
        guard status.state == .settling else { return fault.map { .gap(gap, $0) } ?? .none }
        backOff = MPU6050Timing.firstBackOff
        if outage != nil { status.recoveries += 1 }
        return .streaming(afterGap: fault == nil ? 0 : gap)
    }
}
