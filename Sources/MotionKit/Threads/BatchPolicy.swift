internal import IMUDrivers
internal import MotionCore

/// Decides when the sensor thread polls next: soon while something happens, later at rest.
///
/// The first sign of movement ends the long pauses at once. They begin again only after a second without one, so that noise
/// does not make them alternate.
struct BatchPolicy: Sendable, BitwiseCopyable {
    /// What speaks against a long pause.
    struct Activity: OptionSet, Sendable, BitwiseCopyable {
        let rawValue: UInt8

        /// A sample has shown movement, or the sensor has not been at rest for long.
        static let movement = Activity(rawValue: 1 << 0)
        /// A gesture is in progress or possible.
        static let gesture = Activity(rawValue: 1 << 1)
        /// Somebody wants every sample, or states more often than the long pauses would bring them.
        static let stream = Activity(rawValue: 1 << 2)

        init(rawValue: UInt8) { self.rawValue = rawValue }

        /// What the samples since the last call have shown.
        init(takenFrom pipeline: inout MotionPipeline) {
            self = []
            if !pipeline.takeStillness() { insert(.movement) }
            if pipeline.expectsGesture() { insert(.gesture) }
        }
    }

    /// Seconds without activity before a long pause.
    static let calm = 1.0

    /// Since when there has been no activity.
    private var calmSince: Timestamp?

    /// When to poll next, after a poll at `now` and its samples.
    mutating func next(after poll: IMUPoll, _ activity: Activity, at now: Timestamp) -> Timestamp {
        guard activity.isEmpty else {
            calmSince = nil
            return poll.next
        }
        let since = calmSince ?? now
        calmSince = since
        guard now.seconds(since: since) >= BatchPolicy.calm else { return poll.next }
        return poll.next.advanced(bySeconds: poll.reprieve)
    }
}
