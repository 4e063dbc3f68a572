internal import MotionCore

/// When reading the FIFO counts as failing.
enum StreamLimits {
    /// The count is read between two frames for an instant only; so often in a row it means that the FIFO has slipped.
    static var unevenLimit: Int { 3 }

    /// A count that is no multiple of a frame is read again after this, seconds.
    static var unevenPause: Double { 0.001 }

    /// Polls in a row that the bus may fail before the chip is brought up anew.
    static var failedPollLimit: Int { 3 }

    /// Interruptions in a row without a sample between them before the chip is brought up anew.
    static var interruptionLimit: Int { 3 }

    /// How much earlier than a sample's instant to look, as a ratio of the period.
    ///
    /// Looks just after a sample bound its instant from above, looks just before it from below: the estimator needs both,
    /// and whatever delay the scheduler adds, one of these shifts makes up for it.
    static func lookAhead(_ number: Int) -> Double {
        switch number & 7 {
        case 1: 1.0 / 16
        case 3: 1.0 / 8
        case 5: 1.0 / 4
        case 7: 1.0 / 2
        default: 0
        }
    }
}

extension ChipDriver where Bus: ~Copyable {
    /// Settling and streaming: takes what the FIFO holds.
    mutating func stream(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        pollCount &+= 1
        try checkHealth()
        readTemperatureWhereItIsDue()
        let fill: Fill
        do throws(BusError) {
            fill = try readFill()
            failedPolls = 0
        } catch {
            failedPolls += 1
            if error.isLasting || failedPolls >= StreamLimits.failedPollLimit { throw .bus(error) }
            return IMUPoll(next: clock.now().advanced(bySeconds: min(settings.batchInterval, 0.02)))
        }
        guard fill.bytes <= part.fifo.size else {
            return try interrupt(part.fifo.tellsOverflow ? .overflow : .misaligned)
        }
        guard !mayHaveOverflowed(fill, taken: 0, by: fill.after) else { return try interrupt(.overflow) }
        guard fill.isEven else {
            unevenPolls += 1
            if unevenPolls >= StreamLimits.unevenLimit { return try interrupt(.misaligned) }
            return IMUPoll(next: fill.after.advanced(bySeconds: StreamLimits.unevenPause))
        }
        unevenPolls = 0
        estimator.observe(completed: taken + Int64(fill.frames), from: fill.before, to: fill.after)
        guard fill.frames > 0 else {
            try checkForStall(at: fill.after)
            return IMUPoll(next: nextLook())
        }
        lastFill = fill.after
        return try take(fill, into: &batch)
    }

    /// When to look next: when a batch is complete, as far as the estimator knows the chip's clock.
    func nextLook() -> Timestamp {
        let wanted = settings.batchInterval / estimator.period
        let samples = wanted >= 1 ? Int64(min(wanted, Double(part.fifo.longestBatch)).rounded()) : 1
        let now = clock.now()
        guard estimator.hasPhase else { return now.advanced(bySeconds: Double(samples) * estimator.period) }
        let look = estimator.instant(ofSample: taken + samples)
            .advanced(bySeconds: -StreamLimits.lookAhead(pollCount) * estimator.period)
        return look > now ? look : now.advanced(bySeconds: estimator.period)
    }

    /// What the FIFO's count said, and when it was asked.
    struct Fill {
        var bytes: Int
        var frameLength: Int
        var before: Timestamp
        var after: Timestamp

        var frames: Int { bytes / frameLength }
        var isEven: Bool { bytes % frameLength == 0 }
    }

    /// Reads the FIFO's count, twice where it looks as if a frame was just being written.
    private mutating func readFill() throws(BusError) -> Fill {
        let fill = try readFillOnce()
        return fill.isEven ? fill : try readFillOnce()
    }

    private mutating func readFillOnce() throws(BusError) -> Fill {
        let before = clock.now()
        let count = part.fifo.count
        try readGroup(count.first, count: count.count)
        let after = clock.now()
        return Fill(
            bytes: part.fill(UnsafeRawBufferPointer(buffer.registers)), frameLength: part.fifo.frameLength,
            before: before,
            after: after)
    }

    /// Whether the FIFO may have run over between the count and `instant`, when `taken` bytes had been read.
    private func mayHaveOverflowed(_ fill: Fill, taken: Int, by instant: Timestamp) -> Bool {
        let periods = instant.seconds(since: fill.before) / estimator.period
        let written = (Int(min(periods, Double(part.fifo.size))) + 1) * part.fifo.frameLength
        return fill.bytes - taken + written > part.fifo.size
    }

    /// Reads the frames in transactions of whole frames as long as the bus carries them, and delivers what stands up to
    /// the checks.
    private mutating func take(_ fill: Fill, into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        let wanted = min(fill.frames, batch.capacity - batch.count)
        let atOnce = max(
            1, min(min(bus.maximumReadLength, part.fifo.longestRead) / part.fifo.frameLength, part.fifo.mostFrames))
        var event = IMUPoll.Event.none
        var done = 0
        while done < wanted {
            let frames = min(wanted - done, atOnce)
            let bytes = frames * part.fifo.frameLength
            do throws(BusError) {
                try readFrames(bytes: bytes)
            } catch {
                return try interrupt(.bus(error), after: event)
            }
            guard !mayHaveOverflowed(fill, taken: done * part.fifo.frameLength, by: clock.now()) else {
                return try interrupt(.overflow, after: event)
            }
            guard areFrames(frames) else { return try interrupt(.misaligned, after: event) }
            guard !isFrozen(frames) else { throw .stalled }
            let told = deliver(frames, into: &batch)
            if told != .none { event = told }
            done += frames
        }
        if estimator.isSettled {
            status.period = estimator.period
            status.periodDeviation = estimator.deviation
        }
        // What found no room in the batch is fetched at once, unless there was no room at all.
        let isMoreWaiting = wanted < fill.frames && wanted > 0
        return IMUPoll(next: isMoreWaiting ? clock.now() : nextLook(), event: event)
    }
}
