internal import MotionCore

/// Failures that have not ended yet, and the schedule of the attempts to recover.
///
/// The driver recovers from an interruption by restarting the FIFO, and from an outage by bringing the chip up from
/// scratch, after pauses that grow.
struct Recovery: BitwiseCopyable {
    /// When the next bring-up attempt is due.
    private(set) var retry = Timestamp(nanoseconds: 0)
    /// The ongoing failure that was last reported.
    private(set) var outage: IMUFault?
    /// The ongoing interruption, whose end has not been reported yet.
    private(set) var interruption: IMUFault?
    /// Interruptions since the last sample.
    private var consecutiveInterruptions = 0
    /// The pause before the next attempt, seconds.
    private var backoff = DriverTiming.firstBackoff

    /// The ongoing failure.
    var fault: IMUFault? { outage ?? interruption }

    /// Records a failed attempt and schedules the next one. Returns whether the failure is new. A failure is reported
    /// once, and again only if its cause changes.
    mutating func fail(with fault: IMUFault, at now: Timestamp) -> Bool {
        retry = now.advanced(bySeconds: backoff)
        backoff = min(2 * backoff, DriverTiming.longestBackoff)
        let isNew = outage != fault
        outage = fault
        return isNew
    }

    /// Records that the FIFO's content was lost. Returns whether the FIFO may be restarted; `false` if this has
    /// happened too often.
    mutating func interrupt(by fault: IMUFault) -> Bool {
        consecutiveInterruptions += 1
        guard consecutiveInterruptions < StreamLimits.interruptionLimit else { return false }
        interruption = fault
        return true
    }

    /// Records that samples were discarded although the stream continues.
    mutating func noteGap(because fault: IMUFault) { interruption = fault }

    /// Forgets interruptions once the chip has stopped sampling.
    mutating func forgetInterruptions() {
        interruption = nil
        consecutiveInterruptions = 0
    }

    /// Ends every failure, after a sample has arrived or the driver was stopped. The first sample after a bring-up also
    /// resets the pause.
    mutating func end(isBroughtUp: Bool = false) {
        forgetInterruptions()
        outage = nil
        if isBroughtUp { backoff = DriverTiming.firstBackoff }
    }
}
