internal import MotionCore

/// Failures that have not ended yet, and when the chip is tried again.
///
/// An interruption is got over by starting the FIFO again; an outage by bringing the chip up from the start, after pauses
/// that grow.
struct Recovery: BitwiseCopyable {
    /// When the next attempt to bring the chip up is due.
    private(set) var retry = Timestamp(nanoseconds: 0)
    /// The failure that was last told, and has not ended yet.
    private(set) var outage: IMUFault?
    /// The interruption whose end is yet to be told.
    private(set) var interruption: IMUFault?
    /// Interruptions since the last sample.
    private var interruptionsInARow = 0
    /// The wait before the next attempt, seconds.
    private var backOff = DriverTiming.firstBackOff

    /// What has failed and not ended.
    var fault: IMUFault? { outage ?? interruption }

    /// An attempt has failed: sets when the next is due. Returns whether that is news, to be told once, and again only if
    /// something else is wrong.
    mutating func fail(with fault: IMUFault, at now: Timestamp) -> Bool {
        retry = now.advanced(bySeconds: backOff)
        backOff = min(2 * backOff, DriverTiming.lastBackOff)
        let isNews = outage != fault
        outage = fault
        return isNews
    }

    /// The FIFO's content was lost; returns whether it may be started again, or this has happened too often.
    mutating func interrupt(by fault: IMUFault) -> Bool {
        interruptionsInARow += 1
        guard interruptionsInARow < StreamLimits.interruptionLimit else { return false }
        interruption = fault
        return true
    }

    /// Samples were left out of a stream that goes on.
    mutating func noteGap(because fault: IMUFault) { interruption = fault }

    /// The chip is not sampling any more: no interruption is waited out.
    mutating func forgetInterruptions() {
        interruption = nil
        interruptionsInARow = 0
    }

    /// Every failure has ended: a sample has come, or somebody has stopped the chip. With the first sample after a bring-up
    /// the pauses are short again.
    mutating func end(isBroughtUp: Bool = false) {
        forgetInterruptions()
        outage = nil
        if isBroughtUp { backOff = DriverTiming.firstBackOff }
    }
}
