internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Parses `count` frames that were read, and adds them to those in the buffer. Returns whether all of them are valid;
    /// frames that will be discarded anyway are not checked.
    mutating func parseFrames(_ count: Int) -> Bool {
        // A part is too large to copy for every frame.
        let part = part
        let length = fifo.frameLength
        let bytes = UnsafeRawBufferPointer(buffer.bytes)
        let first = progress.parsed
        var temperature = thermometer.reference
        for index in 0..<count {
            let frame = part.frame(bytes, at: index * length)
            buffer.frames[first + index] = frame
            if isDiscarded(progress.taken + 1 + Int64(first + index), frame, of: part) { continue }
            guard let frame else { return false }
            guard let raw = frame.temperature else { continue }
            let celsius = part.celsius(raw)
            if isPlausible(celsius, after: temperature) {
                temperature = celsius
                thermometer.isDoubtful = false
                continue
            }
            // Lost framing makes every later temperature wrong, an erratic thermometer a single one.
            guard part.hasErraticThermometer, !thermometer.isDoubtful else { return false }
            thermometer.isDoubtful = true
            guard index + 1 < count else {
                buffer.frames[first + index] = nil
                continue
            }
            guard let next = part.frame(bytes, at: (index + 1) * length)?.temperature,
                isPlausible(part.celsius(next), after: temperature)
            else { return false }
            buffer.frames[first + index]?.temperature = next
        }
        progress.noteParsed(count)
        return true
    }

    /// Whether a frame can have this temperature, °C, if the one before had `reference`.
    private func isPlausible(_ celsius: Double, after reference: Double?) -> Bool {
        DriverTiming.plausibleTemperatures.contains(celsius)
            && abs(celsius - (reference ?? celsius)) <= DriverTiming.temperatureJump
    }

    /// Whether any of the first `count` frames in the buffer could come from a chip that has just been reset.
    func mayFollowReset(_ count: Int) -> Bool {
        for index in 0..<count {
            if let frame = buffer.frames[index], part.mayFollowReset(frame) { return true }
        }
        return false
    }

    /// Appends the first `count` frames in the buffer as samples. Returns the resulting change of the stream.
    ///
    /// A frame identical to the previous one is held back until a different frame arrives, because the noise of a
    /// working sensor nearly always changes some bit. A repetition longer than chance allows is not a measurement, and
    /// is discarded.
    ///
    /// - Throws: `stalled` if the frames keep repeating.
    mutating func deliver(_ count: Int, into batch: inout SampleBatch) throws(IMUFault) -> SensorEvent {
        let part = part
        let canRepeat = part.longestRepetition == .max
        let certain = Double(part.longestRepetition) + DriverTiming.certainlyFrozen
        let limit = min(max(DriverTiming.frozenAfter * part.rate, certain), DriverTiming.mostFrozen)
        var event = SensorEvent.none
        for index in 0..<count {
            progress.takeFrame()
            guard let frame = buffer.frames[index] else { continue }
            let isRepeated = !canRepeat && repetition.isRepeated(by: frame)
            if isRepeated {
                repetition.countRepetition()
                guard Double(repetition.repetitions) <= limit else { throw .stalled }
            } else {
                let change = endRepetition(into: &batch)
                if change != .none { event = change }
                repetition.begin(with: frame)
            }
            guard !isDiscarded(progress.taken, frame, of: part) else { continue }
            if isRepeated {
                repetition.hold()
            } else {
                let change = append(frame, of: part, number: progress.taken, to: &batch)
                if change != .none { event = change }
            }
        }
        return event
    }

    /// A different frame has arrived: decides whether the repetitions before it were chance or a frozen chip.
    private mutating func endRepetition(into batch: inout SampleBatch) -> SensorEvent {
        guard repetition.held > 0 else { return .none }
        if repetition.repetitions <= part.longestRepetition {
            return releaseHeldFrames(before: progress.taken, into: &batch)
        }
        status.lastFault = .stalled
        recovery.noteGap(because: .stalled)
        return .none
    }

    /// The number of held-back frames that may still be delivered.
    var deliverableHeldFrames: Int { repetition.repetitions <= part.longestRepetition ? repetition.held : 0 }

    /// Releases held-back frames if the batch would otherwise lack room for both them and new frames.
    mutating func releaseHeldFrames(thatLeaveNoRoomIn batch: inout SampleBatch) -> SensorEvent {
        guard deliverableHeldFrames > 0, deliverableHeldFrames >= batch.capacity - batch.count else { return .none }
        return releaseHeldFrames(before: progress.taken + 1, into: &batch)
    }

    /// Appends the held-back frames, the last of which precedes frame `end`.
    private mutating func releaseHeldFrames(before end: Int64, into batch: inout SampleBatch) -> SensorEvent {
        guard let frame = repetition.frame, repetition.held > 0 else { return .none }
        let part = part
        var event = SensorEvent.none
        for number in end - Int64(repetition.held)..<end {
            let change = append(frame, of: part, number: number, to: &batch)
            if change != .none { event = change }
        }
        repetition.releaseHeld()
        return event
    }

    /// Appends frame `number` as a sample. Returns the resulting change of the stream.
    private mutating func append(
        _ frame: ChipFrame, of part: Part, number: Int64, to batch: inout SampleBatch
    ) -> SensorEvent {
        var sample = part.sample(of: frame, at: timestamp(ofFrame: number), temperature: thermometer.separate)
        if frame.temperature != nil { thermometer.noteFrame(celsius: sample.temperature) }
        if !sample.flags.isDisjoint(with: .clipped) {
            status.clippedSamples += 1
            if !sample.flags.isDisjoint(with: .accelerationClipped) { status.clippedAccelerations += 1 }
            if !sample.flags.isDisjoint(with: .rotationRateClipped) { status.clippedRotationRates += 1 }
        }
        let change = resume(at: sample.timestamp, flags: &sample.flags)
        progress.noteSample(at: sample.timestamp)
        batch.append(sample)
        status.samples += 1
        return change
    }

    /// Whether frame `number` was measured before the sensors had settled: by the clock, or by the chip's own mark.
    private func isDiscarded(_ number: Int64, _ frame: ChipFrame?, of part: Part) -> Bool {
        guard status.state == .settling else { return false }
        if number <= Int64(fifo.discardedFrames) || estimator.instant(ofSample: number) < progress.settledAt {
            return true
        }
        return if let frame { part.isUnsettled(frame) } else { false }
    }

    /// When frame `number` was measured: its completion minus the low-pass delay.
    ///
    /// This is the gyroscope's delay, because a timing error of the gyroscope becomes an angle error. The
    /// accelerometer's delay is up to 0.4 ms longer.
    private mutating func timestamp(ofFrame number: Int64) -> Timestamp {
        let completion = completion(ofFrame: number)
        return progress.following(completion.advanced(bySeconds: -part.delay))
    }

    /// Ends the start-up or an interruption, if there was one, at the sample with this timestamp.
    private mutating func resume(at timestamp: Timestamp, flags: inout MotionSample.Flags) -> SensorEvent {
        let isBroughtUp = status.state == .settling
        guard isBroughtUp || recovery.interruption != nil else { return .none }
        let fault = recovery.fault
        let wasOut = recovery.outage != nil
        var gap = 0.0
        if let lastSample = progress.lastSample {
            gap = timestamp.seconds(since: lastSample)
            flags.insert(.afterGap)
            if fault != nil {
                status.gaps += 1
                status.lostSamples += UInt64(max(0, (gap / estimator.period).rounded() - 1))
            }
        }
        recovery.end(isBroughtUp: isBroughtUp)
        status.state = .streaming
        guard isBroughtUp else { return fault.map { .gap(gap, $0) } ?? .none }
        if wasOut { status.recoveries += 1 }
        return .streaming(afterGap: fault == nil ? 0 : gap)
    }
}
