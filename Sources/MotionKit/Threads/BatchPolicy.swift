internal import IMUDrivers
internal import MotionCore

/// Decides when the sensor thread polls next: soon while something happens, later at rest.
///
/// The first sign of movement ends the long pauses at once. They begin again only after a second without one, so that noise
/// does not make them alternate.
struct BatchPolicy: Sendable, BitwiseCopyable {
    /// Seconds without activity before a long pause.
    static let calm = 1.0

    /// Since when there has been no activity.
    private var calmSince: Timestamp?
    /// Whether the last pause was a long one.
    private(set) var isResting = false

    /// When to poll next, after a poll at `now` and its samples, which the pipeline has processed.
    mutating func next(
        after poll: IMUPoll, _ pipeline: inout MotionPipeline, wantsSamples: Bool, at now: Timestamp
    ) -> Timestamp {
        let isActive = !pipeline.takeStillness() || pipeline.expectsGesture() || wantsSamples
        return next(after: poll, isActive: isActive, at: now)
    }

    /// When to poll next, after a poll at `now` that did or did not show activity.
    mutating func next(after poll: IMUPoll, isActive: Bool, at now: Timestamp) -> Timestamp {
        guard !isActive else {
            calmSince = nil
            isResting = false
            return poll.next
        }
        let since = calmSince ?? now
        calmSince = since
        isResting = now.seconds(since: since) >= BatchPolicy.calm
        guard isResting else { return poll.next }
        return poll.next.advanced(bySeconds: poll.reprieve)
    }
}
