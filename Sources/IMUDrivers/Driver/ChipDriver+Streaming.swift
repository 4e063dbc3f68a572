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
    mutating func readFIFO(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        if progress.parsed > 0 { return try deliverWaiting(into: &batch) }
        progress.reads &+= 1
        let fill: Fill
        do {
            try checkHealth()
            try readTemperatureIfDue()
            fill = try readFill()
        } catch {
            return try wait(for: error)
        }
        progress.lastAnswer = fill.after
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
        read(after: movingSamples)
    }

    /// The samples of a batch.
    private var movingSamples: Int64 {
        let wanted = settings.movingBatch / estimator.period
        return wanted >= 1 ? Int64(min(wanted, Double(fifo.longestBatch)).rounded()) : 1
    }

    /// When this many more samples are expected to be complete.
    private func read(after samples: Int64) -> Timestamp {
        let now = clock.now()
        guard estimator.hasPhase else { return now.advanced(bySeconds: Double(samples) * estimator.period) }
        let look = estimator.instant(ofSample: progress.taken + samples)
            .advanced(bySeconds: -StreamLimits.lookAhead(progress.reads, period: estimator.period) * estimator.period)
        return look > now ? look : now.advanced(bySeconds: estimator.period)
    }

    /// By how many seconds the next read may be put off at rest. The FIFO must have room for a host that is then late, and
    /// the next batch, of this capacity, for all frames. While the period is being measured, every count is needed.
    private func reprieve(after next: Timestamp, capacity: Int) -> Double {
        guard settings.batchInterval == nil, estimator.isExact else { return 0 }
        let pause = min(IMUSettings.restingBatch, held - DriverTiming.restingReserve)
        let samples = min(Int64(pause / estimator.period), Int64(capacity - capacity / 8))
        return samples > movingSamples ? max(0, read(after: samples).seconds(since: next)) : 0
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
        return IMUPoll(next: clock.now().advanced(bySeconds: min(settings.movingBatch, pause)), event: event)
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
        do {
            let fill = try readFillOnce()
            return fill.isWholeFrames && !isAheadOfClock(fill) ? fill : try readFillOnce()
        } catch {
            throw .bus(error)
        }
    }

    private mutating func readFillOnce() throws(BusError) -> Fill {
        let before = clock.now()
        try access.readGroup(fifo.count, on: &bus)
        let after = clock.now()
        return Fill(
            bytes: part.fill(UnsafeRawBufferPointer(access.buffer.registers)), frameLength: fifo.frameLength,
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
            progress.hasRightRanges = false
            let frames = min(wanted - done, atOnce)
            let bytes = frames * fifo.frameLength
            do {
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
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        notePeriod()
        matcher.forget(through: progress.taken)
        // Frames that did not fit into the batch are read immediately, unless the batch had no room at all.
        let isMoreWaiting = wanted < fill.frames && wanted > 0
        var poll = IMUPoll(next: isMoreWaiting ? clock.now() : nextRead(), event: event)
        if !isMoreWaiting { poll.reprieve = reprieve(after: poll.next, capacity: batch.capacity) }
        return poll
    }

    /// Reads frames of those that `fill` counted, after `taken` bytes of them. If the transaction fails, the count is read again:
    /// it is repeated while the count shows that nothing was consumed. Returns whether it succeeded in the end; if not, all
    /// frames are still there.
    ///
    /// - Throws: the failure after which some frames may be gone, or of a transaction that did not reach the chip.
    private mutating func readFrames(bytes: Int, of fill: inout Fill, after taken: Int) throws(BusError) -> Bool {
        for attempt in 0..<StreamLimits.readAttempts {
            do {
                // If the two fail together, they are read apart.
                if attempt == 0, taken == 0, try readRangesAndFrames(bytes: bytes) { return true }
                try access.readFrames(bytes: bytes, from: fifo.data, on: &bus)
                return true
            } catch {
                guard !error.hasConsumedNothing, mayWaitForBus, let again = countAgain(fill, after: taken) else {
                    throw error
                }
                progress.lastAnswer = again.after
                fill = again
            }
        }
        return false
    }

    /// Reads the first frames in one transaction with the ranges, if the bus can and they are in one place. Returns whether it did.
    ///
    /// The ranges are those of the frames, because these have been measured before. But a chip that loses its power during the
    /// transaction sends nothing from then on: if the last byte looks like that, the ranges are read again.
    private mutating func readRangesAndFrames(bytes: Int) throws(BusError) -> Bool {
        guard plan.registers.rangeCount == 1 else { return false }
        let run = plan.registers.range(0)
        guard try access.readFrames(bytes: bytes, from: fifo.data, after: run, on: &bus) else { return false }
        let registers = UnsafeRawBufferPointer(access.buffer.registers)
        let last = access.buffer.bytes[bytes - 1]
        progress.hasRightRanges =
            last != 0 && last != 0xFF && plan.registers.changedRegister(in: run, reading: registers) == nil
        return true
    }

    /// The count after a failed transaction, including the bytes read before; `nil` if it cannot be read, or if some frames were
    /// consumed.
    private mutating func countAgain(_ fill: Fill, after taken: Int) -> Fill? {
        do {
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
        if mayFollowReset(frames) {
            try checkAllGroups()
        } else if !progress.hasRightRanges {
            try checkRanges()
        }
        progress.parsed = 0
        let change = try deliver(frames, into: &batch)
        if change != .none { event = change }
    }

    /// Delivers the frames in the buffer, which a failure of the bus has kept from being delivered at once.
    private mutating func deliverWaiting(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        var event = releaseHeldFrames(thatLeaveNoRoomIn: &batch)
        guard batch.capacity - batch.count - deliverableHeldFrames >= progress.parsed else {
            return IMUPoll(next: nextRead(), event: event)
        }
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        progress.lastAnswer = clock.now()
        return IMUPoll(next: clock.now(), event: event)
    }

    /// Delivers the frames in the buffer, and restarts the FIFO.
    private mutating func deliverAndInterrupt(
        _ fault: IMUFault, after event: SensorEvent, into batch: inout SampleBatch
    ) throws(IMUFault) -> IMUPoll {
        var event = event
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            // Frames whose registers cannot be read are discarded with the FIFO.
            guard case .bus = error else { throw error }
        }
        return try interrupt(fault, after: event)
    }
}

/// How far reading a chip's FIFO has progressed.
struct FIFOProgress: BitwiseCopyable {
    /// Frames read from the FIFO since its last start.
    var taken: Int64 = 0
    /// Frames in the buffer: read and parsed, but not yet delivered.
    var parsed = 0
    /// Whether the ranges were read with all of these frames, and were right.
    var hasRightRanges = false
    /// When the FIFO was last emptied and started.
    private(set) var begunAt = Timestamp(nanoseconds: 0)
    /// When the FIFO last had a frame, or was started.
    private(set) var lastFill = Timestamp(nanoseconds: 0)
    /// Whether the last count found no frame.
    private var isSilent = false
    /// When the bus last answered while samples were flowing.
    var lastAnswer = Timestamp(nanoseconds: 0)
    /// When the sensors have settled; earlier samples are discarded.
    var settledAt = Timestamp(nanoseconds: 0)
    /// Number of FIFO counts read in total; it wraps.
    var reads = 0
    /// Consecutive counts that showed a partial frame.
    private var partialFrameCounts = 0

    /// Starts over after the FIFO was emptied and started.
    mutating func begin(at now: Timestamp) {
        taken = 0
        parsed = 0
        partialFrameCounts = 0
        begunAt = now
        noteFrames(at: now)
        lastAnswer = now
    }

    /// Records a count that found frames.
    mutating func noteFrames(at now: Timestamp) {
        lastFill = now
        isSilent = false
    }

    /// Records a count that found none. If it is the first one after a long pause, the chip has been silent for so many
    /// `seconds` at least, not for all of the pause: one wrong count does not make a stall.
    mutating func noteSilence(at now: Timestamp, within seconds: Double) {
        if !isSilent { lastFill = max(lastFill, now.advanced(bySeconds: -seconds)) }
        isSilent = true
    }

    /// The chip has stopped sampling.
    mutating func end() {
        partialFrameCounts = 0
        parsed = 0
    }

    /// Records a count that showed a partial frame. Returns whether the framing counts as lost by now.
    mutating func notePartialFrame() -> Bool {
        partialFrameCounts += 1
        return partialFrameCounts >= StreamLimits.partialFrameLimit
    }

    /// Records a count of whole frames, or of none.
    mutating func noteWholeFrames() { partialFrameCounts = 0 }
}

/// Timing by a data-ready line. The line never wakes the driver: after each FIFO count the driver takes the queued
/// edges, checks them against the count, and uses them to timestamp the frames. Without a line, the compiler removes
/// this code.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// The FIFO was emptied, so edges and frames must be matched again.
    mutating func restartLine() {
        guard Line.isWired else { return }
        matcher.pulse = part.dataReadyPulse
        if part.dataReadyPulse == .never { matcher.disable() } else { matcher.restart() }
        stream.status.dataReady = matcher.status
    }

    /// Processes a FIFO count. The estimator only sees the count, so a faulty line cannot mislead it.
    mutating func observe(_ fill: Fill) {
        let completed = progress.taken + Int64(fill.frames)
        estimator.observe(completed: completed, from: fill.before, to: fill.after)
        guard Line.isWired else { return }
        matcher.gather(&line)
        let period = estimator.period
        let next = progress.taken + 1
        let expected = estimator.instant(ofSample: next)
        let uncertainty = estimator.isSettled ? EdgeLimits.settledUncertainty : EdgeLimits.unsettledUncertainty
        matcher.observe(
            completed: completed, taken: progress.taken, from: fill.before, to: fill.after, expecting: expected,
            uncertainty: uncertainty * period, period: period)
        matcher.checkEdges(next, through: completed, period: period, now: fill.after)
        stream.status.dataReady = matcher.status
    }

    /// When frame `number` was complete, according to the line if possible, otherwise to the estimator.
    mutating func completion(ofFrame number: Int64) -> Timestamp {
        guard Line.isWired, let completion = matcher.completion(ofFrame: number) else {
            return estimator.timestamp(ofSample: number)
        }
        estimator.follow(completion.time, ofSample: number)
        if completion.isEdge { matcher.status.timedSamples += 1 }
        stream.status.dataReady = matcher.status
        return completion.time
    }

    /// Publishes the sample period once it is known: from the matched edges if possible, otherwise from the FIFO's
    /// count.
    mutating func notePeriod() {
        let tracked = Line.isWired ? matcher.trackedPeriod : nil
        stream.note(period: tracked ?? (estimator.isSettled ? estimator.period : nil))
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Parses `count` frames that were read, and adds them to those in the buffer. Returns whether all of them are valid;
    /// frames that will be discarded anyway are not checked.
    mutating func parseFrames(_ count: Int) -> Bool {
        // A part is too large to copy for every frame.
        let part = part
        let length = fifo.frameLength
        let bytes = UnsafeRawBufferPointer(access.buffer.bytes)
        let first = progress.parsed
        var temperature = thermometer.reference
        for index in 0..<count {
            let frame = part.frame(bytes, at: index * length)
            access.buffer.frames[first + index] = frame
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
                access.buffer.frames[first + index] = nil
                continue
            }
            guard let next = part.frame(bytes, at: (index + 1) * length)?.temperature,
                isPlausible(part.celsius(next), after: temperature)
            else { return false }
            access.buffer.frames[first + index]?.temperature = next
        }
        progress.parsed += count
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
            if let frame = access.buffer.frames[index], part.mayFollowReset(frame) { return true }
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
            progress.taken += 1
            guard let frame = access.buffer.frames[index] else { continue }
            let isRepeated = !canRepeat && repetition.isRepeated(by: frame)
            if isRepeated {
                repetition.repetitions += 1
                guard Double(repetition.repetitions) <= limit else { throw .stalled }
            } else {
                let change = endRepetition(into: &batch)
                if change != .none { event = change }
                repetition.begin(with: frame)
            }
            guard !isDiscarded(progress.taken, frame, of: part) else { continue }
            if isRepeated {
                repetition.held += 1
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
        stream.interrupt(by: .stalled)
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
        repetition.held = 0
        return event
    }

    /// Appends frame `number` as a sample. Returns the resulting change of the stream.
    private mutating func append(
        _ frame: ChipFrame, of part: Part, number: Int64, to batch: inout SampleBatch
    ) -> SensorEvent {
        let sample = part.sample(of: frame, at: timestamp(ofFrame: number), temperature: thermometer.separate)
        if frame.temperature != nil { thermometer.reference = sample.temperature }
        return stream.append(sample, to: &batch, period: estimator.period)
    }

    /// Whether frame `number` was measured before the sensors had settled: by the clock, or by the chip's own mark.
    private func isDiscarded(_ number: Int64, _ frame: ChipFrame?, of part: Part) -> Bool {
        guard stream.status.state == .settling else { return false }
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
        return stream.following(completion.advanced(bySeconds: -part.delay))
    }
}

/// Detects frames that repeat the previous one bit for bit, by chance or because the chip is frozen.
///
/// Repetitions are held back until a different frame arrives: the noise of a working sensor nearly always changes some
/// bit.
struct RepetitionFilter: BitwiseCopyable {
    /// The last frame that differed from its predecessor.
    private(set) var frame: ChipFrame?
    /// How often it has been repeated since, and how many of the repetitions are held back.
    var repetitions = 0
    var held = 0

    /// Whether `frame` repeats the last one.
    func isRepeated(by frame: ChipFrame) -> Bool { frame == self.frame }

    /// Starts over with a different frame.
    mutating func begin(with frame: ChipFrame) {
        self.frame = frame
        repetitions = 0
        held = 0
    }

    /// Forgets everything, including the last frame.
    mutating func reset() { self = RepetitionFilter() }
}
