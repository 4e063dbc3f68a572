package import MotionCore

/// Splits samples into bouts of movement with quiet between them, whatever recognizers make of them: "shake it now" is
/// answered where a bout has come and gone.
package struct BoutDetector: Sendable {
    /// One bout.
    package struct Bout: Equatable, Sendable {
        /// When the movement began, and when it was last seen.
        package var start: Timestamp
        package var end: Timestamp
        /// Peak acceleration without gravity, m/s².
        package var peak: Double
    }

    /// Acceleration without its slow part at which a bout begins, m/s²: a soft tap has more, a hand that holds less.
    package static let threshold = 2.5
    /// What counts as quiet, m/s², and for how long a bout needs it, s.
    package static let quiet = 1.2
    package static let pause = 1.0

    private var base = VectorLowPass(cutoff: 0.5)
    private var current: Bout?
    private var last: Timestamp?

    /// Makes a detector that has seen nothing.
    package init() {}

    /// Whether a bout is under way.
    package var isMoving: Bool { current != nil }

    /// Takes a sample; returns the bout that it shows to be over.
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

    /// The bouts of a whole recording; one that is under way at its end is one, too.
    package static func bouts(in samples: [MotionSample]) -> [Bout] {
        var detector = BoutDetector()
        var bouts = samples.compactMap { detector.take($0) }
        if let open = detector.current { bouts.append(open) }
        return bouts
    }
}
