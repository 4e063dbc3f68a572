package import MotionCore

/// Splits samples into bouts of movement separated by quiet, independently of any recognizer. After "shake it now", for
/// example, it detects that the user has moved the board and stopped.
package struct BoutDetector: Sendable {
    /// One bout.
    package struct Bout: Equatable, Sendable {
        /// When the movement began, and the time of its last sample.
        package var start: Timestamp
        package var end: Timestamp
        /// Peak acceleration without gravity, m/s².
        package var peak: Double
    }

    /// The acceleration, without its slow part, that starts a bout, m/s²: a soft tap has more, a hand that holds the board
    /// has less.
    package static let threshold = 2.5
    /// Below this acceleration (m/s²) for this long (s), a bout is over.
    package static let quiet = 1.2
    package static let pause = 1.0

    private var base = VectorLowPass(cutoff: 0.5)
    private var current: Bout?
    private var last: Timestamp?

    package init() {}

    /// Whether a bout is in progress.
    package var isMoving: Bool { current != nil }

    /// Takes a sample, and returns a bout if it is now over.
    package mutating func take(_ sample: MotionSample) -> Bout? {
        guard sample.acceleration.isFinite else { return nil }
        let interval = last.map { sample.timestamp.seconds(since: $0) } ?? 0
        last = sample.timestamp
        let slow = base.update(sample.acceleration, interval: interval)
        let quick = (sample.acceleration - slow).length
        guard var bout = current else {
            if quick > BoutDetector.threshold {
                current = Bout(start: sample.timestamp, end: sample.timestamp, peak: quick)
            }
            return nil
        }
        bout.peak = max(bout.peak, quick)
        if quick > BoutDetector.quiet { bout.end = sample.timestamp }
        let isOver = sample.timestamp.seconds(since: bout.end) >= BoutDetector.pause
        current = isOver ? nil : bout
        return isOver ? bout : nil
    }

    /// The bouts of a whole recording, including one that is still in progress at the end.
    package static func bouts(in samples: [MotionSample]) -> [Bout] {
        var detector = BoutDetector()
        var bouts = samples.compactMap { detector.take($0) }
        if let open = detector.current { bouts.append(open) }
        return bouts
    }
}
