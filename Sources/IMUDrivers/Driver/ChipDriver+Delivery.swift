internal import MotionCore

extension ChipDriver where Bus: ~Copyable {
    /// Whether all of the first `count` frames in the buffer can be frames; those that will be left out may be anything.
    func areFrames(_ count: Int) -> Bool {
        var temperature = lastTemperature
        for index in 0..<count where !isLeftOut(taken + 1 + Int64(index)) {
            guard let frame = frame(at: index) else { return false }
            guard let raw = frame.temperature else { continue }
            let celsius = part.celsius(raw)
            guard DriverTiming.plausibleTemperatures.contains(celsius),
                abs(celsius - (temperature ?? celsius)) <= DriverTiming.temperatureJump
            else { return false }
            temperature = celsius
        }
        return true
    }

    /// Whether the frames have been the same, bit for bit, for longer than a living sensor's noise allows.
    mutating func isFrozen(_ count: Int) -> Bool {
        for index in 0..<count {
            guard let frame = frame(at: index) else { continue }
            repetitions = frame == lastFrame ? repetitions + 1 : 0
            lastFrame = frame
        }
        return Double(repetitions) > max(DriverTiming.frozenAfter * part.rate, DriverTiming.fewestFrozen)
    }

    /// Appends the first `count` frames in the buffer as samples; returns what their arrival means.
    mutating func deliver(_ count: Int, into batch: inout SampleBatch) -> IMUPoll.Event {
        var event = IMUPoll.Event.none
        for index in 0..<count {
            taken += 1
            guard !isLeftOut(taken) else { continue }
            guard let frame = frame(at: index) else { continue }
            var sample = part.sample(
                of: frame, at: timestamp(ofFrame: taken), temperature: separateTemperature)
            if frame.temperature != nil { lastTemperature = sample.temperature }
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

    /// The frame at `index` of the buffer; `nil` where the bytes cannot be one.
    private func frame(at index: Int) -> ChipFrame? {
        part.frame(UnsafeRawBufferPointer(buffer.bytes), at: index * part.fifo.frameLength)
    }

    /// Whether frame `number` was measured before the gyroscope had started up.
    private func isLeftOut(_ number: Int64) -> Bool {
        guard status.state == .settling else { return false }
        return number <= Int64(part.fifo.discardedFrames) || estimator.instant(ofSample: number) < settledAt
    }

    /// When frame `number` was measured: when it was complete, less what the low-pass held it back.
    ///
    /// The gyroscope's delay is taken, whose error turns into an angle; the accelerometer's is up to 0.4 ms longer.
    private mutating func timestamp(ofFrame number: Int64) -> Timestamp {
        let timestamp = estimator.timestamp(ofSample: number).advanced(bySeconds: -part.delay)
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
        backOff = DriverTiming.firstBackOff
        if outage != nil { status.recoveries += 1 }
        return .streaming(afterGap: fault == nil ? 0 : gap)
    }
}
