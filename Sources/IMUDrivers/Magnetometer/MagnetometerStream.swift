package import MotionCore

/// The state of a magnetometer's readings, whichever driver takes them: its counters, the failure that keeps them from coming,
/// and when the next work is due.
package struct MagnetometerStream: BitwiseCopyable {
    /// The state, and the counters since the stream was created.
    package var status = MagnetometerStatus()

    /// When the next work is due.
    package var due = Timestamp(nanoseconds: .min)

    private var outage: Outage<MagnetometerFault>

    /// Creates the stream of a magnetometer that has not started.
    ///
    /// - Parameters:
    ///   - firstPause: the pause after a failure, seconds; it doubles with each one.
    ///   - longestPause: the longest such pause, seconds.
    package init(firstPause: Double, longestPause: Double) {
        outage = Outage(firstPause: firstPause, longestPause: longestPause)
    }

    /// Plans the next reading `interval` seconds after the one before. A late one does not bring the next nearer than half of
    /// that.
    package mutating func scheduleReading(every interval: Double, after late: Timestamp) {
        due = max(due.advanced(bySeconds: interval), late.advanced(bySeconds: interval / 2))
    }

    /// Counts a reading, which ends a failure.
    package mutating func noteReading() {
        status.readings += 1
        if outage.fault != nil { status.recoveries += 1 }
        outage.end()
    }

    /// Abandons the present attempt. The next one is due after a pause that grows with each failure.
    package mutating func fail(with fault: MagnetometerFault, at now: Timestamp) {
        status.state = .recovering
        status.lastFault = fault
        if outage.fault == nil { status.failures += 1 }
        outage.fail(with: fault, at: now)
        due = outage.retry
    }

    /// Ends every failure, because the magnetometer was stopped.
    package mutating func stop() {
        status.state = .asleep
        outage.end()
    }
}
