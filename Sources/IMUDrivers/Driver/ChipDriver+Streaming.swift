internal import MotionCore

/// Limits beyond which reading the FIFO counts as a failure.
enum StreamLimits {
    /// A count may briefly show a partial frame. After this many in a row, the framing has been lost.
    static var partialFrameLimit: Int { 3 }

    /// Delay before a count that shows a partial frame is read again, seconds.
    static var partialFramePause: Double { 0.001 }

    /// By how much a count may be ahead of the clock, frames and seconds, whichever is longer: estimates have errors, and
    /// the FIFO may have had a frame when it was started.
    static var framesAhead: Double { 16 }
    static var secondsAhead: Double { 0.1 }

    /// By how many periods a frame may be late before it counts as consumed.
    static var lateness: Double { 0.25 }

    /// The share of the nominal rate that every chip has.
    static var certainShare: Double { 0.85 }

    /// How often frames are read that a failed transaction may have consumed.
    static var readAttempts: Int { 3 }

    /// Interruptions without a sample in between after which the chip is brought up from scratch.
    static var interruptionLimit: Int { 3 }

    /// How long before a sample's completion to read the count, as a ratio of the period.
    ///
    /// A read just after a sample bounds its completion from above; a read just before bounds it from below. The
    /// estimator needs both, and for any scheduling delay one of these offsets compensates. At low rates, where a
    /// sixteenth of the period is long, two more offsets bring the bounds as close as the host's delays permit.
    static func lookAhead(_ number: Int, period: Double) -> Double {
        switch number & 7 {
        case 1: 1.0 / 16
        case 3: 1.0 / 8
        case 5: 1.0 / 4
        case 7: 1.0 / 2
        case 2 where period > 0.016: 0.001 / period
        case 6 where period > 0.016: 0.003 / period
        default: 0
        }
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Settling and streaming: reads the FIFO.
    mutating func stream(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        if progress.parsed > 0 { return try deliverWaiting(into: &batch) }
        progress.countRead()
        let fill: Fill
        do throws(IMUFault) {
            try checkHealth()
            try readTemperatureIfDue()
            fill = try readFill()
        } catch {
            return try wait(for: error)
        }
        progress.noteAnswer(at: fill.after)
        guard fill.bytes <= fifo.size else {
            return try interrupt(fifo.reportsOverflow ? .overflow : .misaligned)
        }
        guard !mayHaveOverflowed(fill, taken: 0, by: fill.after) else { return try interrupt(.overflow) }
        guard !isAheadOfClock(fill) else { return try interrupt(.misaligned) }
        guard fill.isWholeFrames else {
            if progress.notePartialFrame() { return try interrupt(.misaligned) }
            return IMUPoll(next: fill.after.advanced(bySeconds: StreamLimits.partialFramePause))
        }
        progress.noteWholeFrames()
        observe(fill)
        guard fill.frames > 0 else {
            try checkForStall(at: fill.after)
            return IMUPoll(next: nextRead())
        }
        progress.noteFrames(at: fill.after)
        return try take(fill, into: &batch)
    }

    /// When to read next: when a batch is expected to be complete according to the estimator.
    func nextRead() -> Timestamp {
        let wanted = settings.batchInterval / estimator.period
        let samples = wanted >= 1 ? Int64(min(wanted, Double(fifo.longestBatch)).rounded()) : 1
        let now = clock.now()
        guard estimator.hasPhase else { return now.advanced(bySeconds: Double(samples) * estimator.period) }
        let look = estimator.instant(ofSample: progress.taken + samples)
            .advanced(bySeconds: -StreamLimits.lookAhead(progress.reads, period: estimator.period) * estimator.period)
        return look > now ? look : now.advanced(bySeconds: estimator.period)
    }

    /// A FIFO count, and the interval in which it was read.
    struct Fill {
        var bytes: Int
        var frameLength: Int
        var before: Timestamp
        var after: Timestamp

        var frames: Int { bytes / frameLength }
        var isWholeFrames: Bool { bytes % frameLength == 0 }
    }

    /// After a bus failure, schedules another read soon while the FIFO can still hold the data; otherwise throws.
    private func wait(for fault: IMUFault, after event: SensorEvent = .none) throws(IMUFault) -> IMUPoll {
        guard case .bus(let error) = fault, !error.isLasting, mayWaitForBus else { throw fault }
        return pollSoon(after: event)
    }

    /// Schedules another read while the FIFO can still hold the data.
    private func pollSoon(after event: SensorEvent) -> IMUPoll {
        // A small FIFO is tried more often, so that a silence of 0.1 s loses nothing if the FIFO holds a little more.
        let pause = held < 0.15 ? max(0.002, held / 32) : 0.02
        return IMUPoll(next: clock.now().advanced(bySeconds: min(settings.batchInterval, pause)), event: event)
    }

    /// The seconds of samples that the FIFO holds.
    private var held: Double { Double(fifo.mostFrames) * estimator.period }

    /// Whether the bus failure is still recent.
    private var mayWaitForBus: Bool {
        let timeout = max(DriverTiming.shortestBusTimeout, min(held, DriverTiming.busTimeout))
        return clock.now().seconds(since: progress.lastAnswer) < timeout
    }

    /// Reads the FIFO's count, twice if it shows a partial frame or more frames than there can be.
    private mutating func readFill() throws(IMUFault) -> Fill {
        do throws(BusError) {
            let fill = try readFillOnce()
            return fill.isWholeFrames && !isAheadOfClock(fill) ? fill : try readFillOnce()
        } catch {
            throw .bus(error)
        }
    }

    private mutating func readFillOnce() throws(BusError) -> Fill {
        let before = clock.now()
        try readGroup(fifo.count)
        let after = clock.now()
        return Fill(
            bytes: part.fill(UnsafeRawBufferPointer(buffer.registers)), frameLength: fifo.frameLength,
            before: before, after: after)
    }

    /// Whether a count shows more frames than the chip can have measured by then. The count was garbled, or the host's
    /// clock stood still. The samples would get times that are still to come.
    private func isAheadOfClock(_ fill: Fill) -> Bool {
        // A larger count means that the chip reports an overflow.
        guard fill.bytes <= fifo.size else { return false }
        let completed = progress.taken + Int64(fill.frames)
        let complete: Timestamp
        if estimator.isSettled {
            complete = estimator.instant(ofSample: completed)
        } else {
            let shortest = (1 - SamplePeriodEstimator.widestTolerance) * estimator.nominalPeriod
            complete = progress.begunAt.advanced(bySeconds: Double(completed) * shortest)
        }
        let allowed = max(StreamLimits.secondsAhead, StreamLimits.framesAhead * estimator.period)
        return complete.seconds(since: fill.after) > allowed
    }

    /// Whether a count shows fewer frames than the chip has measured by then.
    private func isBehindClock(_ fill: Fill) -> Bool {
        guard estimator.isSettled else { return false }
        let next = estimator.instant(ofSample: progress.taken + Int64(fill.frames) + 1)
        return fill.before.seconds(since: next) > StreamLimits.lateness * estimator.period
    }

    /// Whether the FIFO may have overflowed between the count and `instant`, given that `taken` bytes had been read.
    private func mayHaveOverflowed(_ fill: Fill, taken: Int, by instant: Timestamp) -> Bool {
        let periods = instant.seconds(since: fill.before) / estimator.period
        let written = (Int(min(periods, Double(fifo.size))) + 1) * fifo.frameLength
        return fill.bytes - taken + written > fifo.size
    }

    /// Reads the frames in transactions of whole frames, as long as the bus allows, and delivers those that pass the
    /// checks.
    private mutating func take(_ counted: Fill, into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        var fill = counted
        var event = releaseHeldFrames(thatLeaveNoRoomIn: &batch)
        let wanted = min(fill.frames, batch.capacity - batch.count - deliverableHeldFrames)
        // A late host reads in small bursts, so that each burst makes room before the next frames arrive.
        let mostAtOnce = fill.frames > fifo.longestBatch ? fifo.mostFrames / 8 : fifo.mostFrames
        let atOnce = max(
            1, min(min(bus.maximumReadLength, fifo.longestRead) / fifo.frameLength, mostAtOnce))
        var done = 0
        while done < wanted {
            let frames = min(wanted - done, atOnce)
            let bytes = frames * fifo.frameLength
            do throws(BusError) {
                guard try readFrames(bytes: bytes, of: &fill, after: done * fifo.frameLength) else {
                    return pollSoon(after: event)
                }
            } catch {
                // What has not been consumed is still there.
                if error.hasConsumedNothing || !mayWaitForBus { return try wait(for: .bus(error), after: event) }
                return try deliverAndInterrupt(.bus(error), after: event, into: &batch)
            }
            guard !mayHaveOverflowed(fill, taken: done * fifo.frameLength, by: clock.now()) else {
                return try deliverAndInterrupt(.overflow, after: event, into: &batch)
            }
            guard parseFrames(frames) else {
                return try deliverAndInterrupt(.misaligned, after: event, into: &batch)
            }
            done += frames
        }
        do throws(IMUFault) {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        notePeriod()
        matcher.forget(through: progress.taken)
        // Frames that did not fit into the batch are read immediately, unless the batch had no room at all.
        let isMoreWaiting = wanted < fill.frames && wanted > 0
        return IMUPoll(next: isMoreWaiting ? clock.now() : nextRead(), event: event)
    }

    /// Reads frames of those that `fill` counted, after `taken` bytes of them. If the transaction fails, the count is read again:
    /// it is repeated while the count shows that nothing was consumed. Returns whether it succeeded in the end; if not, all
    /// frames are still there.
    ///
    /// - Throws: the failure after which some frames may be gone, or of a transaction that did not reach the chip.
    private mutating func readFrames(bytes: Int, of fill: inout Fill, after taken: Int) throws(BusError) -> Bool {
        for _ in 0..<StreamLimits.readAttempts {
            do throws(BusError) {
                try readFrames(bytes: bytes)
                return true
            } catch {
                guard !error.hasConsumedNothing, mayWaitForBus, let again = countAgain(fill, after: taken) else {
                    throw error
                }
                progress.noteAnswer(at: again.after)
                fill = again
            }
        }
        return false
    }

    /// The count after a failed transaction, including the bytes read before; `nil` if it cannot be read, or if some frames were
    /// consumed.
    private mutating func countAgain(_ fill: Fill, after taken: Int) -> Fill? {
        do throws(BusError) {
            var again = try readFillOnce()
            guard again.bytes <= fifo.size else { return nil }
            again.bytes += taken
            // What has been measured meanwhile must not stand in for what was consumed.
            let seconds = max(0, again.before.seconds(since: fill.after))
            let measured = min(Double(fifo.size), StreamLimits.certainShare * seconds / estimator.period)
            let hasAll =
                again.bytes >= fill.bytes + Int(measured) * fifo.frameLength && again.isWholeFrames
                && !isAheadOfClock(again) && !isBehindClock(again)
            return hasAll ? again : nil
        } catch {
            return nil
        }
    }

    /// Delivers the frames in the buffer if the registers that they depend on are right: those with the ranges, or all if
    /// a chip that was reset could have sent the frames. Registers that are right now were right at the measurement.
    private mutating func deliverParsed(
        into batch: inout SampleBatch, event: inout SensorEvent
    ) throws(IMUFault) {
        let frames = progress.parsed
        guard frames > 0 else { return }
        if mayFollowReset(frames) { try checkAllGroups() } else { try checkRanges() }
        progress.forgetParsed()
        let change = try deliver(frames, into: &batch)
        if change != .none { event = change }
    }

    /// Delivers the frames in the buffer, which a failure of the bus has kept from being delivered at once.
    private mutating func deliverWaiting(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        var event = releaseHeldFrames(thatLeaveNoRoomIn: &batch)
        guard batch.capacity - batch.count - deliverableHeldFrames >= progress.parsed else {
            return IMUPoll(next: nextRead(), event: event)
        }
        do throws(IMUFault) {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        progress.noteAnswer(at: clock.now())
        return IMUPoll(next: clock.now(), event: event)
    }

    /// Delivers the frames in the buffer, and restarts the FIFO.
    private mutating func deliverAndInterrupt(
        _ fault: IMUFault, after event: SensorEvent, into batch: inout SampleBatch
    ) throws(IMUFault) -> IMUPoll {
        var event = event
        do throws(IMUFault) {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            // Frames whose registers cannot be read are discarded with the FIFO.
            guard case .bus = error else { throw error }
        }
        return try interrupt(fault, after: event)
    }
}
