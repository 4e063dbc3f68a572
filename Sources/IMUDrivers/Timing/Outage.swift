package import MotionCore

/// A sensor's failure that has not ended, and when to try again: after pauses that double.
package struct Outage<Fault: Error & Equatable & BitwiseCopyable>: BitwiseCopyable {
    /// The ongoing failure that was last reported.
    package private(set) var fault: Fault?

    /// When the next attempt is due.
    package private(set) var retry = Timestamp(nanoseconds: 0)

    /// The first, the longest and the next pause, seconds.
    private let firstPause: Double
    private let longestPause: Double
    private var pause: Double

    /// No failure so far.
    package init(firstPause: Double, longestPause: Double) {
        self.firstPause = firstPause
        self.longestPause = longestPause
        pause = firstPause
    }

    /// Records a failed attempt and schedules the next one. Returns whether the failure is new. A failure is reported
    /// once, and again only if its cause changes.
    @discardableResult
    package mutating func fail(with fault: Fault, at now: Timestamp) -> Bool {
        retry = now.advanced(bySeconds: pause)
        pause = min(2 * pause, longestPause)
        defer { self.fault = fault }
        return self.fault != fault
    }

    /// Ends the failure, if there is one. The next pause is the first one again.
    package mutating func end() {
        fault = nil
        pause = firstPause
    }
}
