package import MotionCore

/// The state of a sensor's stream of samples, whichever driver delivers them: its counters, the failure that keeps it from
/// flowing, and when to try again.
///
///     settling -> streaming <-> interrupted
///        ^--- recovering <- any failure
///
/// The driver reports what happens to its sensor. The stream answers with the change to report. It starts over after an
/// interruption, in which samples are lost, and after an outage, in which the sensor has to be brought up from scratch.
package struct SensorStream: BitwiseCopyable {
    /// The state, and the counters since the stream was created.
    package var status = IMUStatus()

    /// The timestamp of the last sample, kept across failures; `nil` before the first.
    package private(set) var lastSample: Timestamp?

    private var outage: Outage<IMUFault>
    /// The ongoing interruption, whose end has not been reported yet.
    private var interruption: IMUFault?
    /// Interruptions since the last sample.
    private var consecutiveInterruptions = 0
    /// The sample period with a perfect oscillator, seconds.
    private var nominalPeriod: Double

    /// Interruptions without a sample in between after which the sensor is brought up from scratch.
    private static var interruptionLimit: Int { 3 }

    /// Creates the stream of a sensor that has not started.
    ///
    /// - Parameters:
    ///   - nominalPeriod: seconds between samples.
    ///   - firstPause: the pause after a failed attempt to bring the sensor up, seconds; it doubles with each one.
    ///   - longestPause: the longest such pause, seconds.
    package init(nominalPeriod: Double, firstPause: Double, longestPause: Double) {
        self.nominalPeriod = nominalPeriod
        outage = Outage(firstPause: firstPause, longestPause: longestPause)
        status.period = nominalPeriod
    }

    /// When the next attempt to bring the sensor up is due.
    package var retry: Timestamp { outage.retry }

    /// Takes another sample period, seconds: that of a sensor which was found only now.
    package mutating func begin(nominalPeriod: Double) {
        self.nominalPeriod = nominalPeriod
        status.period = nominalPeriod
        status.periodDeviation = 0
    }

    /// Publishes the period that was measured, seconds; `nil` while it is not.
    package mutating func note(period: Double?) {
        status.isPeriodMeasured = period != nil
        guard let period else { return }
        status.period = period
        status.periodDeviation = (period / nominalPeriod - 1) * 1e6
    }

    // MARK: Failures

    /// Records that samples were lost; the next one ends the gap. Returns whether the stream may go on; `false` if this has
    /// happened too often without a sample.
    @discardableResult
    package mutating func interrupt(by fault: IMUFault) -> Bool {
        status.lastFault = fault
        switch fault {
        case .overflow: status.overflows += 1
        case .misaligned: status.misalignments += 1
        default: break
        }
        interruption = fault
        consecutiveInterruptions += 1
        return consecutiveInterruptions < Self.interruptionLimit
    }

    /// Abandons the present attempt. The sensor is brought up from scratch after a pause that grows with each failure.
    package mutating func fail(with fault: IMUFault, at now: Timestamp) -> IMUPoll {
        status.state = .recovering
        status.lastFault = fault
        forgetInterruptions()
        let isNew = outage.fail(with: fault, at: now)
        return IMUPoll(next: retry, event: isNew ? .failed(fault) : .none)
    }

    /// Ends every failure, because the sensor was stopped.
    package mutating func stop() {
        status.state = .asleep
        forgetInterruptions()
        outage.end()
    }

    private mutating func forgetInterruptions() {
        interruption = nil
        consecutiveInterruptions = 0
    }

    // MARK: Samples

    /// The next sample's timestamp: `timestamp`, or the earliest time after the last sample if `timestamp` is not
    /// later.
    package func following(_ timestamp: Timestamp) -> Timestamp {
        guard let lastSample, timestamp <= lastSample else { return timestamp }
        return Timestamp(nanoseconds: lastSample.nanoseconds + 1)
    }

    /// Appends a sample. It ends the start-up or an interruption, if there was one: then as many samples were lost as fit into
    /// the gap if they are `period` seconds apart. Returns the resulting change of the stream.
    package mutating func append(
        _ sample: MotionSample, to batch: inout SampleBatch, period: Double
    ) -> SensorEvent {
        var sample = sample
        if !sample.flags.isDisjoint(with: .clipped) {
            status.clippedSamples += 1
            if !sample.flags.isDisjoint(with: .accelerationClipped) { status.clippedAccelerations += 1 }
            if !sample.flags.isDisjoint(with: .rotationRateClipped) { status.clippedRotationRates += 1 }
        }
        let change = resume(at: sample.timestamp, period: period, flags: &sample.flags)
        lastSample = sample.timestamp
        batch.append(sample)
        status.samples += 1
        return change
    }

    private mutating func resume(
        at timestamp: Timestamp, period: Double, flags: inout MotionSample.Flags
    ) -> SensorEvent {
        let isBroughtUp = status.state == .settling
        guard isBroughtUp || interruption != nil else { return .none }
        let fault = outage.fault ?? interruption
        let wasOut = outage.fault != nil
        var gap = 0.0
        if let lastSample {
            gap = timestamp.seconds(since: lastSample)
            flags.insert(.afterGap)
            if fault != nil {
                status.gaps += 1
                status.lostSamples += UInt64(max(0, (gap / period).rounded() - 1))
            }
        }
        forgetInterruptions()
        outage.end()
        status.state = .streaming
        guard isBroughtUp else { return fault.map { .gap(gap, $0) } ?? .none }
        if wasOut { status.recoveries += 1 }
        return .streaming(afterGap: fault == nil ? 0 : gap)
    }
}
