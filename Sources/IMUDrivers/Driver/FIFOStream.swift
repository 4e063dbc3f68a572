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

/// A chip's FIFO as a stream of samples: it judges counts, says when to read next, and turns frames into samples.
///
/// It knows neither the bus nor the part, only the part's `ChipTraits`. So it is compiled for all drivers once, and to
/// machine code: of generic code that other modules call, the compiler leaves to run time what it does not know.
///
/// What only asks it something, in each batch, is always inlined: for a call that does not change it, the compiler copies it.
struct FIFOStream: ~Copyable {
    var stream: SensorStream
    /// The chip; assumed from the settings until it has been identified.
    private(set) var traits: ChipTraits
    var estimator: SamplePeriodEstimator
    /// The matcher of the data-ready line's edges to frames, and whether there is a line.
    var matcher: EdgeMatcher
    let isWired: Bool
    /// Seconds between two reads while the board moves, and whether they may be longer at rest.
    private let movingBatch: Double
    private let mayRest: Bool

    var progress = FIFOProgress()
    var repetition = RepetitionFilter()
    var thermometer = Thermometer()

    /// Capacity of the edge queue between two FIFO reads: twice the longest batch, plus a margin for a late host.
    private static var mostEdges: Int { 1024 }

    /// Creates the stream of a part that has not been identified.
    init(_ traits: ChipTraits, settings: IMUSettings, isWired: Bool) {
        self.traits = traits
        self.isWired = isWired
        movingBatch = settings.movingBatch
        mayRest = settings.batchInterval == nil
        matcher = EdgeMatcher(capacity: isWired ? Self.mostEdges : 0)
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / traits.rate)
        stream = SensorStream(
            nominalPeriod: 1 / traits.rate, firstPause: DriverTiming.firstBackoff,
            longestPause: DriverTiming.longestBackoff)
    }

    /// The layout of the FIFO.
    var layout: ChipFIFO { traits.fifo }

    /// Takes the chip that was identified.
    mutating func use(_ found: ChipTraits) {
        if found.rate != traits.rate {
            estimator = SamplePeriodEstimator(nominalPeriod: 1 / found.rate)
            stream.begin(nominalPeriod: 1 / found.rate)
        }
        traits = found
    }

    /// The FIFO was emptied and started. The numbering of samples restarts, and their phase too unless the chip `samplesOn`.
    mutating func begin(at now: Timestamp, samplesOn: Bool) {
        estimator.restart(samplesOn: samplesOn)
        if isWired { restartMatcher() }
        repetition.held = 0
        progress.begin(at: now)
    }

    /// Discards the state that becomes invalid when the chip stops sampling.
    mutating func end() {
        estimator.restart()
        stream.note(period: nil)
        progress.end()
        repetition.reset()
        thermometer.forgetReference()
    }
}

// MARK: The time of the next read

extension FIFOStream {
    /// When to read next, from `now`, after samples were delivered into a batch of this capacity.
    mutating func endBatch(
        capacity: Int, isMoreWaiting: Bool, event: SensorEvent, at now: Timestamp
    ) -> IMUPoll {
        notePeriod()
        if isWired { matcher.forget(through: progress.taken) }
        guard !isMoreWaiting else { return IMUPoll(next: now, event: event) }
        let samples = movingSamples
        // The sample for which a read was too early is made up for, so that reads keep the pace of the batches: as soon as
        // the period is known so well that it needs no more of them.
        let hasMissed =
            estimator.isExact && progress.goal == progress.taken + 1 && samples < layout.longestBatch
        let wanted = hasMissed ? samples + 1 : samples
        progress.goal = progress.taken + wanted
        var poll = IMUPoll(next: read(after: wanted, from: now), event: event)
        poll.reprieve = reprieve(after: poll.next, samples, capacity: capacity, from: now)
        return poll
    }

    /// When to read next, from `now`: when a batch is expected to be complete according to the estimator.
    func nextRead(from now: Timestamp) -> Timestamp { read(after: movingSamples, from: now) }

    /// The samples of a batch.
    @inline(__always)
    private var movingSamples: Int64 {
        let wanted = movingBatch / estimator.period
        return wanted >= 1 ? Int64(min(wanted, Double(layout.longestBatch)).rounded()) : 1
    }

    /// When this many more samples are expected to be complete.
    @inline(__always)
    private func read(after samples: Int64, from now: Timestamp) -> Timestamp {
        guard estimator.hasPhase else { return now.advanced(bySeconds: Double(samples) * estimator.period) }
        let look = estimator.instant(ofSample: progress.taken + samples)
            .advanced(bySeconds: -StreamLimits.lookAhead(progress.reads, period: estimator.period) * estimator.period)
        return look > now ? look : now.advanced(bySeconds: estimator.period)
    }

    /// By how many seconds the next read, after so many samples, may be put off at rest. The FIFO must have room for a host
    /// that is then late, and the next batch, of this capacity, for all frames. While the period is being measured, every
    /// count is needed.
    @inline(__always)
    private func reprieve(
        after next: Timestamp, _ movingSamples: Int64, capacity: Int, from now: Timestamp
    ) -> Double {
        guard mayRest, estimator.isExact else { return 0 }
        let pause = min(IMUSettings.restingBatch, held - DriverTiming.restingReserve)
        let samples = min(Int64(pause / estimator.period), Int64(capacity - capacity / 8))
        return samples > movingSamples ? max(0, read(after: samples, from: now).seconds(since: next)) : 0
    }

    /// When to read again after a failure, while the FIFO can still hold the data.
    func soon(after now: Timestamp) -> Timestamp {
        // A small FIFO is tried more often, so that a silence of 0.1 s loses nothing if the FIFO holds a little more.
        let pause = held < 0.15 ? max(0.002, held / 32) : 0.02
        return now.advanced(bySeconds: min(movingBatch, pause))
    }

    /// The seconds of samples that the FIFO holds.
    @inline(__always)
    private var held: Double { Double(layout.mostFrames) * estimator.period }

    /// Whether a failure of the bus is still recent.
    func mayWaitForBus(at now: Timestamp) -> Bool {
        let timeout = max(DriverTiming.shortestBusTimeout, min(held, DriverTiming.busTimeout))
        return now.seconds(since: progress.lastAnswer) < timeout
    }

    /// Whether there has been no frame for too long, at a count that found none.
    mutating func isStalled(at now: Timestamp) -> Bool {
        progress.noteSilence(at: now, within: max(movingBatch, estimator.period))
        let timeout = max(DriverTiming.shortestStall, DriverTiming.stalledPeriods * estimator.period)
        return now.seconds(since: progress.lastFill) > timeout
    }
}

// MARK: Counts

/// A FIFO count, and the interval in which it was read.
struct FIFOFill: BitwiseCopyable {
    var bytes: Int
    var frameLength: Int
    var before: Timestamp
    var after: Timestamp

    var frames: Int { bytes / frameLength }
    var isWholeFrames: Bool { bytes % frameLength == 0 }
}

/// What a count says.
enum FIFOVerdict: BitwiseCopyable {
    case usable
    /// It shows a partial frame, or more frames than there can be. It is to be read again.
    case unclear
    /// Frames have been lost, or the framing.
    case failed(IMUFault)
}

extension FIFOStream {
    /// Judges a count, and learns from one that is usable. The edges have been gathered after it.
    ///
    /// One method that changes the stream, and not several that ask it something: for these, a caller that is generic copies
    /// it.
    mutating func judge(_ fill: FIFOFill, isRepeated: Bool = false) -> FIFOVerdict {
        let isAhead = isAheadOfClock(fill)
        guard isRepeated || fill.isWholeFrames && !isAhead else { return .unclear }
        progress.lastAnswer = fill.after
        guard fill.bytes <= layout.size else { return .failed(layout.reportsOverflow ? .overflow : .misaligned) }
        guard !mayHaveOverflowed(fill, taken: 0, by: fill.after) else { return .failed(.overflow) }
        guard !isAhead else { return .failed(.misaligned) }
        guard fill.isWholeFrames else { return progress.notePartialFrame() ? .failed(.misaligned) : .unclear }
        progress.noteWholeFrames()
        observe(fill)
        return .usable
    }

    /// Whether a count shows more frames than the chip can have measured by then. The count was garbled, or the host's
    /// clock stood still. The samples would get times that are still to come.
    @inline(__always)
    private func isAheadOfClock(_ fill: FIFOFill) -> Bool {
        // A larger count means that the chip reports an overflow.
        guard fill.bytes <= layout.size else { return false }
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
    private func isBehindClock(_ fill: FIFOFill) -> Bool {
        guard estimator.isSettled else { return false }
        let next = estimator.instant(ofSample: progress.taken + Int64(fill.frames) + 1)
        return fill.before.seconds(since: next) > StreamLimits.lateness * estimator.period
    }

    /// Whether the FIFO may have overflowed between the count and `instant`, given that `taken` bytes had been read.
    @inline(__always)
    private func mayHaveOverflowed(_ fill: FIFOFill, taken: Int, by instant: Timestamp) -> Bool {
        let periods = instant.seconds(since: fill.before) / estimator.period
        let written = (Int(min(periods, Double(layout.size))) + 1) * layout.frameLength
        return fill.bytes - taken + written > layout.size
    }

    /// Whether a count `again`, after a failed transaction, shows that all frames of `fill` are still there.
    func hasAll(_ again: FIFOFill, of fill: FIFOFill) -> Bool {
        // What has been measured meanwhile must not stand in for what was consumed.
        let seconds = max(0, again.before.seconds(since: fill.after))
        let measured = min(Double(layout.size), StreamLimits.certainShare * seconds / estimator.period)
        return again.bytes >= fill.bytes + Int(measured) * layout.frameLength && again.isWholeFrames
            && !isAheadOfClock(again) && !isBehindClock(again)
    }
}

// MARK: Times

/// Timing by a data-ready line. The line never wakes the driver: after each FIFO count the driver takes the queued
/// edges, checks them against the count, and uses them to timestamp the frames.
extension FIFOStream {
    /// The FIFO was emptied, so edges and frames must be matched again.
    private mutating func restartMatcher() {
        matcher.pulse = traits.dataReadyPulse
        if traits.dataReadyPulse == .never { matcher.disable() } else { matcher.restart() }
        stream.status.dataReady = matcher.status
    }

    /// Processes a FIFO count. The estimator only sees the count, so a faulty line cannot mislead it.
    private mutating func observe(_ fill: FIFOFill) {
        let completed = progress.taken + Int64(fill.frames)
        estimator.observe(completed: completed, from: fill.before, to: fill.after)
        guard isWired else { return }
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
    private mutating func completion(ofFrame number: Int64) -> Timestamp {
        guard isWired, let completion = matcher.completion(ofFrame: number) else {
            return estimator.timestamp(ofSample: number)
        }
        estimator.follow(completion.time, ofSample: number)
        if completion.isEdge { matcher.status.timedSamples += 1 }
        stream.status.dataReady = matcher.status
        return completion.time
    }

    /// Publishes the sample period once it is known: from the matched edges if possible, otherwise from the FIFO's
    /// count.
    private mutating func notePeriod() {
        let tracked = isWired ? matcher.trackedPeriod : nil
        stream.note(period: tracked ?? (estimator.isSettled ? estimator.period : nil))
    }

    /// When frame `number` was measured: its completion minus the low-pass delay.
    ///
    /// This is the gyroscope's delay, because a timing error of the gyroscope becomes an angle error. The
    /// accelerometer's delay is up to 0.4 ms longer.
    private mutating func timestamp(ofFrame number: Int64) -> Timestamp {
        let completion = completion(ofFrame: number)
        return stream.following(completion.advanced(bySeconds: -traits.figures.delay))
    }
}

// MARK: Frames

extension FIFOStream {
    /// Checks `count` frames of those that `fill` counted, which were read after `taken` bytes of them by the instant `now`,
    /// and parsed. Returns what has failed if not all of them are valid; frames that will be discarded anyway are not
    /// checked.
    mutating func accept(
        _ count: Int, in frames: UnsafeMutableBufferPointer<ParsedFrame?>, of fill: FIFOFill, after taken: Int,
        by now: Timestamp
    ) -> IMUFault? {
        guard !mayHaveOverflowed(fill, taken: taken, by: now) else { return .overflow }
        guard areValid(count, in: frames) else { return .misaligned }
        progress.parsed += count
        return nil
    }

    /// Checks the next `count` frames in the buffer.
    private mutating func areValid(_ count: Int, in frames: UnsafeMutableBufferPointer<ParsedFrame?>) -> Bool {
        let first = progress.parsed
        var temperature = thermometer.reference
        for index in first..<first + count {
            let frame = frames[index]
            if isDiscarded(progress.taken + 1 + Int64(index), frame) { continue }
            guard let frame else { return false }
            guard frame.counts.temperature != nil else { continue }
            if isPlausible(frame.celsius, after: temperature) {
                temperature = frame.celsius
                thermometer.isDoubtful = false
                continue
            }
            // Lost framing makes every later temperature wrong, an erratic thermometer a single one.
            guard traits.hasErraticThermometer, !thermometer.isDoubtful else { return false }
            thermometer.isDoubtful = true
            guard index + 1 < first + count else {
                frames[index] = nil
                continue
            }
            guard let next = frames[index + 1], next.counts.temperature != nil,
                isPlausible(next.celsius, after: temperature)
            else { return false }
            frames[index]?.counts.temperature = next.counts.temperature
            frames[index]?.celsius = next.celsius
        }
        return true
    }

    /// Whether a frame can have this temperature, °C, if the one before had `reference`.
    private func isPlausible(_ celsius: Double, after reference: Double?) -> Bool {
        DriverTiming.plausibleTemperatures.contains(celsius)
            && abs(celsius - (reference ?? celsius)) <= DriverTiming.temperatureJump
    }

    /// Appends the first `count` frames in the buffer as samples. Returns the resulting change of the stream.
    ///
    /// A frame identical to the previous one is held back until a different frame arrives, because the noise of a
    /// working sensor nearly always changes some bit. A repetition longer than chance allows is not a measurement, and
    /// is discarded.
    ///
    /// - Throws: `stalled` if the frames keep repeating.
    mutating func deliver(
        _ count: Int, of frames: UnsafeMutableBufferPointer<ParsedFrame?>, into batch: inout SampleBatch
    ) throws(IMUFault) -> SensorEvent {
        let canRepeat = traits.longestRepetition == .max
        let certain = Double(traits.longestRepetition) + DriverTiming.certainlyFrozen
        let limit = min(max(DriverTiming.frozenAfter * traits.rate, certain), DriverTiming.mostFrozen)
        var event = SensorEvent.none
        for index in 0..<count {
            progress.taken += 1
            guard let frame = frames[index] else { continue }
            let isRepeated = !canRepeat && repetition.isRepeated(by: frame)
            if isRepeated {
                repetition.repetitions += 1
                guard Double(repetition.repetitions) <= limit else { throw .stalled }
            } else {
                let change = endRepetition(into: &batch)
                if change != .none { event = change }
                repetition.begin(with: frame)
            }
            guard !isDiscarded(progress.taken, frame) else { continue }
            if isRepeated {
                repetition.held += 1
            } else {
                let change = append(frame, number: progress.taken, to: &batch)
                if change != .none { event = change }
            }
        }
        return event
    }

    /// A different frame has arrived: decides whether the repetitions before it were chance or a frozen chip.
    private mutating func endRepetition(into batch: inout SampleBatch) -> SensorEvent {
        guard repetition.held > 0 else { return .none }
        if repetition.repetitions <= traits.longestRepetition {
            return releaseHeldFrames(before: progress.taken, into: &batch)
        }
        stream.interrupt(by: .stalled)
        return .none
    }

    /// The number of held-back frames that may still be delivered.
    @inline(__always)
    var deliverableHeldFrames: Int { repetition.repetitions <= traits.longestRepetition ? repetition.held : 0 }

    /// Releases held-back frames if the batch would otherwise lack room for both them and new frames.
    mutating func releaseHeldFrames(thatLeaveNoRoomIn batch: inout SampleBatch) -> SensorEvent {
        guard deliverableHeldFrames > 0, deliverableHeldFrames >= batch.capacity - batch.count else { return .none }
        return releaseHeldFrames(before: progress.taken + 1, into: &batch)
    }

    /// Appends the held-back frames, the last of which precedes frame `end`.
    private mutating func releaseHeldFrames(before end: Int64, into batch: inout SampleBatch) -> SensorEvent {
        guard let frame = repetition.frame, repetition.held > 0 else { return .none }
        var event = SensorEvent.none
        for number in end - Int64(repetition.held)..<end {
            let change = append(frame, number: number, to: &batch)
            if change != .none { event = change }
        }
        repetition.held = 0
        return event
    }

    /// Appends frame `number` as a sample. Returns the resulting change of the stream.
    private mutating func append(
        _ frame: ParsedFrame, number: Int64, to batch: inout SampleBatch
    ) -> SensorEvent {
        let hasTemperature = frame.counts.temperature != nil
        let timestamp = timestamp(ofFrame: number)
        let sample = traits.sample(
            of: frame.counts, at: timestamp,
            temperature: hasTemperature ? frame.celsius : thermometer.separate)
        if hasTemperature { thermometer.reference = frame.celsius }
        return stream.append(sample, to: &batch, period: estimator.period)
    }

    /// Whether frame `number` was measured before the sensors had settled: by the clock, or by the chip's own mark.
    private func isDiscarded(_ number: Int64, _ frame: ParsedFrame?) -> Bool {
        guard stream.status.state == .settling else { return false }
        if number <= Int64(layout.discardedFrames) || estimator.instant(ofSample: number) < progress.settledAt {
            return true
        }
        return frame?.isUnsettled ?? false
    }
}

/// How far reading a chip's FIFO has progressed.
struct FIFOProgress: BitwiseCopyable {
    /// Frames read from the FIFO since its last start.
    var taken: Int64 = 0
    /// The frame that the next read is to find complete, unless it is put off.
    var goal: Int64 = 0
    /// Frames in the buffer: read and parsed, but not yet delivered.
    var parsed = 0
    /// Whether the ranges were read with all of these frames, and were right.
    var hasRightRanges = false
    /// Whether any of these frames could come from a chip that has just been reset.
    var mayFollowReset = false
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
        goal = 0
        forgetParsed()
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
        forgetParsed()
    }

    /// The frames in the buffer have been delivered, or are not to be.
    mutating func forgetParsed() {
        parsed = 0
        mayFollowReset = false
    }

    /// Records a count that showed a partial frame. Returns whether the framing counts as lost by now.
    mutating func notePartialFrame() -> Bool {
        partialFrameCounts += 1
        return partialFrameCounts >= StreamLimits.partialFrameLimit
    }

    /// Records a count of whole frames, or of none.
    mutating func noteWholeFrames() { partialFrameCounts = 0 }
}

/// Detects frames that repeat the previous one bit for bit, by chance or because the chip is frozen.
///
/// Repetitions are held back until a different frame arrives: the noise of a working sensor nearly always changes some
/// bit.
struct RepetitionFilter: BitwiseCopyable {
    /// The last frame that differed from its predecessor.
    private(set) var frame: ParsedFrame?
    /// How often it has been repeated since, and how many of the repetitions are held back.
    var repetitions = 0
    var held = 0

    /// Whether `frame` repeats the last one.
    func isRepeated(by frame: ParsedFrame) -> Bool { frame.counts == self.frame?.counts }

    /// Starts over with a different frame.
    mutating func begin(with frame: ParsedFrame) {
        self.frame = frame
        repetitions = 0
        held = 0
    }

    /// Forgets everything, including the last frame.
    mutating func reset() { self = RepetitionFilter() }
}

/// The chip's temperature, °C.
struct Thermometer: BitwiseCopyable {
    /// The temperature that the next frame's must be close to; `nil` if the next frame sets the reference.
    var reference: Double?
    /// Whether the last frame's temperature was wrong, so that the next one must be right.
    var isDoubtful = false
    /// The temperature of a chip whose FIFO does not carry it; NaN until it has been read.
    var separate = Double.nan
    /// When it is read next.
    private var due = Timestamp(nanoseconds: 0)

    /// Starts the schedule: a temperature that is not in the frames is read with the first batch.
    mutating func begin(at now: Timestamp) { due = now }

    /// Discards the reference.
    mutating func forgetReference() {
        reference = nil
        isDoubtful = false
    }

    /// Takes the temperature measured just before the FIFO was started as the reference. A raw zero is not used: after
    /// waking, the register may still hold its reset value.
    mutating func noteStart(raw: Int16, celsius: Double) {
        reference = raw != 0 && DriverTiming.plausibleTemperatures.contains(celsius) ? celsius : nil
    }

    /// Whether a temperature read is due.
    func isDue(at now: Timestamp) -> Bool { now >= due }

    /// Schedules the next one.
    mutating func schedule(after now: Timestamp) { due = now.advanced(bySeconds: DriverTiming.temperatureInterval) }
}
