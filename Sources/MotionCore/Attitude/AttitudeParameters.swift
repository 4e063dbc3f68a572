/// What can be tuned in the attitude filter. The defaults suit hand-held and mounted boards of every kind.
///
/// Angles are in radians, biases in rad/s, forces in m/s². "Deviation" is a standard deviation. Changing any of them by
/// half changes the inclination error by a few per cent only, except where it is said.
package struct AttitudeParameters: Equatable, Sendable, BitwiseCopyable {
    // MARK: Before anything is known

    /// Deviation of the tilt found from the mean force of the start, beyond what its movement explains, rad. Default 0.7°.
    package var initialTilt = 0.7 * radiansPerDegree
    /// Deviation of the velocity at the start, m/s, and how much the spread of the force adds to it, m/s per m/s². Defaults
    /// 0.1 and 0.1.
    package var initialVelocity = 0.1
    package var initialVelocityPerForce = 0.1
    /// Deviation of the velocity gained at the end of the start, which the mean force does not tell: motion that has just
    /// begun, m/s. Default 0.3.
    package var latestVelocity = 0.3
    /// Deviation of the position at the start, m. Default 0.2.
    package var initialPosition = 0.2
    /// Deviation of the gyroscope's bias, rad/s. Smaller trusts the chip and is slow on a bad one, larger lets the first
    /// movements pull the bias about. Default 1 °/s.
    package var initialBias = radiansPerDegree
    /// Deviation of each element of scale and misalignment. Half of it costs accuracy noticeably. Default 0.002.
    package var initialScale = 0.002
    /// Deviation of the accelerometer's delay behind the gyroscope, s. Default 1.5 ms.
    package var initialDelay = 1.5e-3
    /// Seconds at the start during which the mean force alone sets the vertical, and the longest time it is extended to while
    /// the tilt is more doubtful than `startDoubt`, rad: beyond small angles the filter is another system. Defaults 0.5,
    /// 1.5 and 20°.
    package var startDuration = 0.5
    package var longestStart = 1.5
    package var startDoubt = 20 * radiansPerDegree
    /// Seconds during which the vertical is set anew at every sample: the first one may have been a blow. Default 0.2.
    package var firstLevelling = 0.2

    // MARK: What wanders

    /// White noise of the gyroscope, rad/s/√Hz. Default 0.06 °/s/√Hz.
    package var gyroscopeNoise = 0.06 * radiansPerDegree
    /// How the bias wanders, rad/s/√s. Default 0.005 °/s/√s.
    package var biasWalk = 0.005 * radiansPerDegree
    /// How scale and misalignment wander, 1/√s. Default 1e-5.
    package var scaleWalk = 1e-5
    /// White noise of the accelerometer, as velocity, m/s/√s. Default 0.02.
    package var accelerometerNoise = 0.02
    /// Share of the sample-to-sample change of force that lies beyond the sample rate and is noise. Default 0.05.
    package var aliasing = 0.05

    // MARK: The bounded motion

    /// How near the position stays to its origin: deviation of one second's mean, m·√s. Smaller corrects tilt faster and
    /// takes large movements for tilt. Default 0.12.
    package var positionSpread = 0.12
    /// How that origin wanders, m/√s. Default 0.12.
    package var originWalk = 0.12
    /// Innovations beyond this many deviations are shortened to it. Default 1.
    package var innovationLimit = 1.0
    /// Innovations beyond this many deviations leave heading and calibration alone. Default 1.5.
    package var calibrationLimit = 1.5
    /// For each second of such innovations heading and calibration are left alone for this many more, and at most for
    /// `longestHold` seconds. Defaults 5 and 5.
    package var holdRatio = 5.0
    package var longestHold = 5.0
    /// Where position is centred again, m, and velocity is cut, m/s. Defaults 3 and 5.
    package var largestPosition = 3.0
    package var largestVelocity = 5.0

    // MARK: Limits of the calibration

    /// Largest bias, rad/s: an MPU-6050's zero-rate output is up to ±20 °/s (PS-MPU-6000A-00 r3.4, 6.1), and drifts.
    /// Default 30 °/s.
    package var largestBias = 30 * radiansPerDegree
    /// Largest element of scale and misalignment. Default 0.05.
    package var largestScale = 0.05
    /// Largest delay, s. Default 10 ms.
    package var largestDelay = 0.01

    // MARK: Rest

    /// Spreads of rate, rad/s, and force, m/s², below which a block is quiet. Defaults 1 °/s and 0.3 m/s².
    package var restRotationRate = radiansPerDegree
    package var restAcceleration = 0.3
    /// How much of the force's variance within a block counts: a board on an idling engine rests. Default 0.2.
    package var restVibration = 0.2
    /// Seconds of quiet that make a rest. Default 0.7.
    package var restDuration = 0.7
    /// Time constant of the means that are compared, s. Default 0.5.
    package var restTimeConstant = 0.5
    /// Deviation of a rest's mean rate from the bias, for one second, rad/s·√s, and of its velocity from zero, m/s·√s.
    /// The bias at rest is not quite the one in motion: smaller pins it there. Defaults 0.1 °/s·√s and 0.02 m/s·√s.
    package var restBiasSpread = 0.1 * radiansPerDegree
    package var restVelocitySpread = 0.02
    /// How far, beyond three deviations, the mean rate may be from the bias in a rest, rad/s; and before the first rest how
    /// large it may be. Defaults 0.2 °/s and 6.2 °/s.
    package var restBiasMargin = 0.2 * radiansPerDegree
    package var largestFirstBias = 6.2 * radiansPerDegree

    /// Beyond these a steady rate is believed to be the bias once it has lasted, up to `largestSteadyBias`, rad/s:
    /// `firstSteadyDuration` seconds before the first rest, `steadyDuration` after it. Smaller mistakes slow turntables for
    /// a rest sooner. Defaults 25 °/s, 3 and 30.
    package var largestSteadyBias = 25 * radiansPerDegree
    package var firstSteadyDuration = 3.0
    package var steadyDuration = 30.0

    // MARK: Clipping and gaps

    /// Deviation of the rate while the gyroscope is at the end of its range, rad/s, and of the force, m/s². Defaults 200 °/s
    /// and 10.
    package var clippedRotationRate = 200 * radiansPerDegree
    package var clippedAcceleration = 10.0
    /// Seconds without a sample that are a gap (three sample periods at least). Default 0.1.
    package var gap = 0.1
    /// Doubt of the rate during a gap: a deviation, rad/s, a share of the rate's change over the gap as a variance ratio, and
    /// a share of the rate itself. Defaults 5 °/s, 0.3 and 0.3.
    package var gapRotationRate = 5 * radiansPerDegree
    package var gapChangeShare = 0.3
    package var gapRateShare = 0.3
    /// Deviation of the velocity after a gap, m/s. Default 0.3.
    package var gapVelocity = 0.3
    /// Doubt of the attitude, rad, and seconds without a sample, from which on the vertical is found anew. Defaults 10° and 1.
    package var lostTilt = 10 * radiansPerDegree
    package var lostDuration = 1.0

    // MARK: Lost

    /// The filter is lost where the mean force of a second, as long as gravity within `levelTolerance`, stays this far from
    /// the vertical for `levelPatience` seconds, rad. Sideways acceleration alone cannot do that: at 30° it makes the
    /// force 15 % longer. Defaults 30°, 0.1 and 1 s.
    package var largestLevelError = 30 * radiansPerDegree
    package var levelTolerance = 0.1
    package var levelPatience = 1.0

    // MARK: Cost

    /// How often Jacobians and spreads are summed up, Hz; attitude and motion are, at every sample. Default 100.
    package var sumRate = 100.0

    /// Makes the defaults.
    package init() {}
}
