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
        /// Peak rate of rotation, rad/s.
        package var peakRate: Double
        /// Whether the movement was made in this time, and nobody said how often.
        package var isVague: Bool

        package init(
            start: Timestamp, end: Timestamp, peak: Double = 0, peakRate: Double = 0, isVague: Bool = false
        ) {
            self.start = start
            self.end = end
            self.peak = peak
            self.peakRate = peakRate
            self.isVague = isVague
        }

        /// The same, so many seconds later.
        package func moved(by seconds: Double) -> Bout {
            var bout = self
            bout.start = start.advanced(bySeconds: seconds)
            bout.end = end.advanced(bySeconds: seconds)
            return bout
        }
    }

    /// What begins and ends a bout.
    package struct Limits: Equatable, Sendable {
        /// The acceleration, without its slow part, that starts a bout, m/s²: a soft tap has more, a hand that holds the
        /// board has less.
        package var acceleration = 2.5
        /// Below this acceleration, m/s², it may be over.
        package var quietAcceleration = 1.2
        /// The rate of rotation that starts a bout, and below which it may be over, rad/s. Default: rotation does not
        /// count.
        package var rate = Double.infinity
        package var quietRate = Double.infinity
        /// The specific force below which a bout starts, m/s², instead of the two above: free fall.
        package var weightless = 0.0
        /// Seconds of quiet after which a bout is over.
        package var pause = 1.0

        package init() {}
    }

    private let limits: Limits
    private var base = VectorLowPass(cutoff: 0.5)
    private var current: Bout?
    private var last: Timestamp?

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a bout is in progress.
    package var isMoving: Bool { current != nil }

    /// Takes a sample, and returns a bout if it is now over.
    package mutating func take(_ sample: MotionSample) -> Bout? {
        guard sample.acceleration.isFinite else { return nil }
        let interval = last.map { sample.timestamp.seconds(since: $0) } ?? 0
        last = sample.timestamp
        let slow = base.update(sample.acceleration, interval: interval)
        let quick = (sample.acceleration - slow).length
        let rate = sample.flags.contains(.rotationRate) ? sample.rotationRate.length : 0
        guard var bout = current else {
            let isMoved = quick > limits.acceleration || rate > limits.rate
            if limits.weightless > 0 ? sample.acceleration.length < limits.weightless : isMoved {
                current = Bout(start: sample.timestamp, end: sample.timestamp, peak: quick, peakRate: rate)
            }
            return nil
        }
        bout.peak = max(bout.peak, quick)
        bout.peakRate = max(bout.peakRate, rate)
        if quick > limits.quietAcceleration || rate > limits.quietRate { bout.end = sample.timestamp }
        let isOver = sample.timestamp.seconds(since: bout.end) >= limits.pause
        current = isOver ? nil : bout
        return isOver ? bout : nil
    }

    /// The bouts of a whole recording, including one that is still in progress at the end.
    package static func bouts(in samples: [MotionSample], _ limits: Limits = Limits()) -> [Bout] {
        var detector = BoutDetector(limits)
        var bouts = samples.compactMap { detector.take($0) }
        if let open = detector.current { bouts.append(open) }
        return bouts
    }
}
