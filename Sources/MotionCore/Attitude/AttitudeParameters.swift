/// The tuning of the attitude filter. The defaults suit hand-held and mounted boards of every kind.
///
/// Bias, scale, misalignment and delay are the errors of the sensors that the filter estimates; see `AttitudeFilter`.
/// A default without a source is empirical. Changing any parameter by half changes the inclination error by a few
/// per cent only, unless stated otherwise.
package struct AttitudeParameters: Equatable, Sendable, BitwiseCopyable {
    // MARK: Priors

    /// Standard deviation of the tilt at the end of the start phase, beyond what movement explains, rad. Default 0.7°.
    /// Smaller trusts the first vertical more and corrects an error in it more slowly; larger corrects faster, but
    /// early movement disturbs the tilt more.
    package var initialTilt = 0.7 * radiansPerDegree

    /// Standard deviation of the velocity at the start if the sensor is at rest, m/s. Default 0.1. Smaller trusts the
    /// mean force of the start more; larger allows for movement that the force does not show.
    package var initialVelocity = 0.1

    /// Increase of that velocity deviation per spread of the force during the start, m/s per m/s². Default 0.1. Smaller
    /// trusts a start in movement more; larger makes the tilt of such a start more uncertain and its start phase
    /// longer.
    package var initialVelocityPerForce = 0.1

    /// Standard deviation of the velocity gained at the end of the start phase by movement that has just begun, which
    /// the mean force does not show, m/s. Default 0.3. Smaller attributes such movement to tilt; larger corrects the
    /// tilt more slowly afterwards.
    package var latestVelocity = 0.3

    /// Standard deviation of the position at the start and after a gap, m. Default 0.2. Smaller attributes the first
    /// movement to tilt; larger corrects the tilt more slowly at first.
    package var initialPosition = 0.2

    /// Standard deviation of the gyroscope's bias at the start, rad/s; it also applies when the filter discards a wrong
    /// bias. Default 1 °/s. Smaller trusts the chip and is slow if its bias is large; larger lets the first movements
    /// disturb the bias.
    package var initialBias = radiansPerDegree

    /// Standard deviation of the bias about the vertical of the start before the first rest, rad/s. Default 0.5 °/s.
    /// Smaller is slow if that bias is large; larger lets the heading of a start without rest drift.
    package var initialVerticalBias = 0.5 * radiansPerDegree

    /// That deviation is increased to the bias about another axis that turns out to be larger than it by this ratio.
    /// Default 1.3. Smaller gives the narrow prior up sooner; larger keeps it on a chip with a large bias.
    package var largeBiasRatio = 1.3

    /// Standard deviation of each element of the gyroscope's scale and misalignment at the start; their random walk
    /// does not exceed it. Default 0.002. Smaller trusts the chip; half of it costs accuracy noticeably. Larger lets
    /// movement disturb them.
    package var initialScale = 0.002

    /// Standard deviation of the accelerometer's delay behind the gyroscope, s. Default 1.5 ms. Smaller assumes
    /// simultaneous samples; larger estimates a long delay faster, but less steadily.
    package var initialDelay = 1.5e-3

    /// Length of the start phase, in which only the mean force sets the vertical, s. Default 0.5. Smaller is ready
    /// sooner; larger averages out more movement.
    package var startDuration = 0.5

    /// Longest start phase, s, if it is extended because of `startTiltLimit`. Default 1.5. Smaller starts in time even
    /// when shaken, with a worse tilt; larger waits longer for a better one.
    package var longestStart = 1.5

    /// Standard deviation of the tilt above which the start phase is extended, rad: the filter is linearised for small
    /// angles. Default 20°. Smaller waits for a better tilt; larger starts sooner with a worse one.
    package var startTiltLimit = 20 * radiansPerDegree

    /// Time during which every sample sets the vertical again, s, because the first sample may have been a blow.
    /// Default 0.2. Smaller needs less computation; larger copes with longer blows.
    package var firstLevelling = 0.2

    // MARK: Process noise

    /// White noise of the gyroscope, rad/s/√Hz. Default 0.06 °/s/√Hz. Smaller trusts the gyroscope more and corrects
    /// tilt more slowly; larger corrects faster and follows acceleration more.
    package var gyroscopeNoise = 0.06 * radiansPerDegree

    /// Random walk of the bias, rad/s/√s. Default 0.005 °/s/√s. Smaller gives a steadier bias; larger follows a
    /// drifting chip faster.
    package var biasWalk = 0.005 * radiansPerDegree

    /// Random walk of scale and misalignment, 1/√s. Default 1e-5. Smaller gives a steadier estimate; larger follows
    /// changes of the chip faster.
    package var scaleWalk = 1e-5

    /// White noise of the accelerometer, integrated to velocity, m/s/√s. Default 0.02. Smaller corrects tilt faster;
    /// larger tolerates noisier chips.
    package var accelerometerNoise = 0.02

    /// Share of the roughness of force and rate that counts as noise: movement that is faster than the samples can follow, as
    /// in a blow. 1 takes their fourth differences for those of white noise. Default 0.07. Smaller trusts the samples during
    /// vibration and blows; larger distrusts them, and fast movement that is sampled slowly.
    package var aliasing = 0.07

    // MARK: Bounded motion

    /// How close the position stays to its origin: standard deviation of the mean over one second, m·√s. Default 0.12.
    /// Smaller corrects tilt faster, but takes large movements for tilt; larger allows wider movements.
    package var positionSpread = 0.12

    /// Random walk of that origin, m/√s. Default 0.12. Smaller corrects tilt faster; larger allows the body to be
    /// carried around.
    package var originWalk = 0.12

    /// Factor of the variances of position and origin per relative power of the slow innovations; see `SlowInnovations`.
    /// Default 2.5. Smaller corrects tilt faster in large movements; larger learns less from them.
    package var slowInnovationGain = 2.5

    /// Time constant of the low-pass that separates the slow innovations, s. Default 0.5. Smaller counts faster movement
    /// too; larger only slower one.
    package var slowInnovationTimeConstant = 0.5

    /// Time over which their power is averaged, s. Default 10. Smaller follows the movement sooner; larger is steadier.
    package var slowInnovationMemory = 10.0

    /// The largest such factor. Default 100. Smaller corrects tilt in the largest movements; larger hardly at all.
    package var largestSlowInnovationFactor = 100.0

    /// Innovations of velocity and position beyond this many standard deviations are reduced to it. Default 1. Smaller
    /// is more robust against unusual movement; larger corrects large errors faster.
    package var innovationLimit = 1.0

    /// Innovations beyond this many standard deviations do not change heading and calibration. Default 1.5. Smaller
    /// protects the calibration more; larger lets it be estimated from more vigorous movement.
    package var calibrationLimit = 1.5

    /// Seconds for which heading and calibration are held per second of such innovations. Default 5. Smaller resumes
    /// sooner; larger protects the calibration longer while the position swings back.
    package var holdRatio = 5.0

    /// Longest such hold, s. Default 5. Smaller resumes sooner after a long disturbance; larger protects the
    /// calibration longer.
    package var longestHold = 5.0

    /// Limit of the distance of the position from its origin, m; beyond it, the position is moved back to the limit.
    /// Default 3. Smaller recovers faster from long acceleration; larger allows wider movements.
    package var largestPosition = 3.0

    /// Limit of the horizontal speed, m/s. Default 8. Smaller recovers faster from long acceleration; larger allows
    /// faster movements. Heading and calibration are held for `longestHold` at either limit.
    package var largestVelocity = 8.0

    // MARK: Limits of the calibration

    /// Largest bias of an axis, rad/s. Default 30 °/s: an MPU-6050's zero-rate output is up to ±20 °/s (PS-MPU-6000A-00
    /// r3.4, 6.1), and drifts. Smaller rules out more wrong estimates; larger accepts worse chips.
    package var largestBias = 30 * radiansPerDegree

    /// Largest element of scale and misalignment. Default 0.05. Smaller rules out more wrong estimates; larger accepts
    /// worse chips.
    package var largestScale = 0.05

    /// Largest delay of the accelerometer, s. Default 10 ms. Smaller rules out more wrong estimates; larger accepts
    /// chips with a slower accelerometer filter.
    package var largestDelay = 0.01

    // MARK: Rest

    /// Spread of the rate below which a block is quiet, rad/s. Default 1 °/s. Smaller rejects noisy chips; larger takes
    /// slow movement for a rest.
    package var restRotationRate = radiansPerDegree

    /// Spread of the force below which a block is quiet, m/s². Default 0.3. Smaller rejects noisy chips; larger takes
    /// gentle movement for a rest.
    package var restAcceleration = 0.3

    /// How far a sample may be from the means of a rest, rad/s and m/s². A larger distance is movement, without waiting for the
    /// end of the block. Default 5 °/s and 1 m/s². Smaller takes noise for movement; larger leaves it to the block.
    package var startlingRotationRate = 5 * radiansPerDegree
    package var startlingAcceleration = 1.0

    /// Share of the force's variance within a block that counts for its spread: a board on an idling engine is at rest.
    /// Default 0.2. Smaller tolerates more vibration; larger less.
    package var restVibration = 0.2

    /// Time of quiet after which the sensor is at rest, s. Default 0.7. Smaller uses short pauses too; larger avoids
    /// pauses within a movement.
    package var restDuration = 0.7

    /// Time constant of the means that a block is compared with, s. Default 0.5. Smaller follows slow movement and
    /// takes it for a rest; larger takes longer to detect a rest.
    package var restTimeConstant = 0.5

    /// Standard deviation between the mean rate of a rest and the bias, for one second, rad/s·√s. Default 0.07 °/s·√s.
    /// The bias at rest differs slightly from the one in motion: smaller fixes it at the value at rest; larger follows
    /// rests more slowly.
    package var restBiasSpread = 0.07 * radiansPerDegree

    /// Standard deviation of the velocity at rest, for one second, m/s·√s. Default 0.02. Smaller corrects tilt faster
    /// at rest; larger tolerates slight movement.
    package var restVelocitySpread = 0.02

    /// How far the mean rate of a rest may be from the bias, in addition to three standard deviations, rad/s. Default
    /// 0.2 °/s. Smaller rejects slow turns; larger follows a bias that has changed.
    package var restBiasMargin = 0.2 * radiansPerDegree

    /// Largest mean rate that counts as the bias at once before the first rest, rad/s. Default 6.2 °/s. Smaller rejects
    /// slow turns; larger accepts worse chips without waiting.
    package var largestFirstBias = 6.2 * radiansPerDegree

    /// Largest mean rate that counts as the bias after it has been steady for long, rad/s. Default 25 °/s. Smaller
    /// rejects more turntables; larger accepts worse chips.
    package var largestSteadyBias = 25 * radiansPerDegree

    /// Time for which a larger rate than `largestFirstBias` must be steady to count as the bias before the first rest,
    /// s. Default 3. Smaller takes slow turntables for a rest sooner; larger delays the start of a chip with a large
    /// bias.
    package var firstSteadyDuration = 3.0

    /// Time for which a rate far from the bias must be steady to count as the bias after the first rest, s. Default 30.
    /// Smaller recovers sooner from a wrong bias; larger tolerates longer steady turns about a horizontal axis.
    package var steadyDuration = 30.0

    /// The same time if the rate can be a steady turn about the vertical, s: a car in a long bend turns steadily too.
    /// Default 600. Smaller takes long bends for a bias; larger recovers later from a wrong bias.
    package var turnSteadyDuration = 600.0

    /// How far the mean force may be from that of the latest rest if a turn has stopped on the spot, m/s². The rate then
    /// counts as the bias after `steadyDuration`. Default 0.25. Smaller recovers on exactly the same spot only; larger
    /// takes gentle bends for a bias.
    package var restForceTolerance = 0.25

    // MARK: Steady turns

    /// Distance of a block's mean rate from the running mean below which a turn is steady, rad/s. Default 2 °/s. Smaller
    /// misses bends of a changing radius; larger takes other movement for a bend.
    package var turnRotationRate = 2 * radiansPerDegree

    /// The same for the force, m/s². Default 0.6.
    package var turnAcceleration = 0.6

    /// Share of the variances within a block that counts for these distances. Default 0.02. Smaller tolerates more
    /// vibration; larger less.
    package var turnVibration = 0.02

    /// Time for which a turn must be steady, s. Default 1. Smaller reacts sooner; larger excludes more movement.
    package var turnDuration = 1.0

    /// Largest horizontal part of a steady turn's rate, as a share of the rate: the sine of its axis's angle to the
    /// vertical. Default 0.2. Smaller requires a better tilt; larger takes other movement for a bend.
    package var turnAxisTilt = 0.2

    /// The same share up to which a steady rate can be a turn rather than the bias. Default 0.5. It is larger, because the
    /// tilt may be wrong by then. Smaller takes bends in which it is for a bias; larger recovers later from a wrong bias.
    package var possibleTurnAxisTilt = 0.5

    /// Standard deviation of the tilt beyond which the gyroscope alone does not carry it through a turn any longer, rad.
    /// Default 6°. Smaller takes the force of a long bend for the vertical sooner; larger lets the tilt drift longer.
    package var turnTilt = 6 * radiansPerDegree

    /// Time constant with which the velocity is forgotten in a steady turn, s. Default 8. Smaller forgets
    /// the speed before a short turn; larger keeps a wrong one through a long bend.
    package var turnVelocityMemory = 8.0

    /// Standard deviation of the velocity during and after a steady turn, m/s. Default 0.3. Smaller attributes the end of
    /// the turn to tilt; larger corrects tilt more slowly.
    package var turnVelocity = 0.3

    // MARK: Clipping and gaps

    /// Standard deviation of the rate while the gyroscope clips, rad/s. Default 200 °/s. Smaller trusts the clipped
    /// rate more; larger corrects the tilt faster afterwards.
    package var clippedRotationRate = 200 * radiansPerDegree

    /// Standard deviation of the force while the accelerometer clips, m/s². Default 10. Smaller trusts the clipped
    /// force more; larger ignores more of the velocity gained.
    package var clippedAcceleration = 10.0

    /// Time without a sample that counts as a gap, s, but at least three sample periods. Shorter steps are
    /// interpolated. Default 0.1. Smaller resets velocity and position more often; larger interpolates over longer
    /// unknown movement.
    package var gap = 0.1

    /// Standard deviation of the rate during a gap, rad/s; the variances of the next two parameters are added. Default
    /// 5 °/s. Smaller trusts the attitude after a gap more; larger less.
    package var gapRotationRate = 5 * radiansPerDegree

    /// Variance of the rate during a gap as a share of (Δ/2)², with Δ the change of the rate across the gap. Default
    /// 0.3. Smaller trusts the attitude after a gap in changing rotation more; larger less.
    package var gapChangeShare = 0.3

    /// Standard deviation of the rate during a gap as a share of the rate after it. Default 0.3. Smaller trusts the
    /// attitude after a gap in fast rotation more; larger less.
    package var gapRateShare = 0.3

    /// Standard deviation of the velocity after a gap, m/s. Default 0.3. Smaller attributes movement after a gap to
    /// tilt; larger corrects tilt more slowly.
    package var gapVelocity = 0.3

    /// Standard deviation of the attitude after a gap from which on the filter restarts and finds the vertical from
    /// scratch, rad. Default 10°. Smaller restarts more often; larger relies more on the linearised filter.
    package var restartTilt = 10 * radiansPerDegree

    /// Length of a gap from which on the filter restarts, s. Default 1. Smaller restarts more often; larger carries the
    /// attitude across longer gaps.
    package var restartGap = 1.0

    // MARK: Divergence

    /// Angle between the mean force and the vertical beyond which the filter has diverged, rad, if the force is about
    /// as long as gravity. Sideways acceleration alone cannot cause this: at 30° it makes the force 15 % longer.
    /// Default 30°. Smaller restarts the filter sooner, possibly because of movement; larger tolerates a worse
    /// attitude.
    package var divergenceAngle = 30 * radiansPerDegree

    /// How much the length of that force may differ from gravity, as a share of it. Default 0.1. Smaller excludes more
    /// movement; larger detects a divergence during movement, too.
    package var divergenceForceTolerance = 0.1

    /// Time for which both must hold, s. Default 1. Smaller restarts the filter sooner; larger excludes more movement.
    package var divergenceDuration = 1.0

    // MARK: Deviation

    /// What is added to the deviation of the tilt, rad: what no movement shows, such as the accelerometer's bias. Default 0.25°,
    /// that of 0.04 m/s². Smaller promises more at rest; larger less.
    package var tiltFloor = 0.25 * radiansPerDegree

    /// The same for an acceleration that lasts, part of which the filter takes for tilt: angle per RMS of the slow horizontal
    /// acceleration in the last few seconds, rad/(m/s²). Default 0.5°, a twelfth of the angle by which it turns the force.
    /// Smaller promises more in vehicles and while walking; larger less.
    package var tiltPerAcceleration = 0.5 * radiansPerDegree

    /// The gyroscope's sensitivity to force, rad/s per m/s²: what it adds to the heading during a second is independent of
    /// the second before. Default 0.008 °/s: an MPU-6050 has 0.1 °/s/g (PS-MPU-6000A-00 r3.4, 6.1) and three axes. No movement
    /// tells it from a turn. Smaller promises more of the heading in fast movement; larger less.
    package var forceSensitivity = 0.008 * radiansPerDegree

    /// How exactly the time of the attitude is known, beyond half a sample, s. Default 2 ms: half of what the low-passes of
    /// usual chips delay. Smaller promises more in fast rotation; larger less.
    package var timeDeviation = 2e-3

    /// Averaging time of the acceleration, s. Default 3. Smaller forgets a movement sooner; larger later.
    package var accelerationMemory = 3.0

    // MARK: Cost

    /// Duration of a block, after which errors are estimated, s. Default 0.1. Smaller needs more computation; larger
    /// linearises over longer turns. It is the same at every sample rate, because what the filter learns depends on it.
    package var blockDuration = 0.1

    /// Rate at which Jacobians and spreads are summed, Hz; attitude and motion are computed for every sample. Default
    /// 100. Smaller needs less computation; larger is more accurate in fast rotation.
    package var sumRate = 100.0

    /// Creates the default parameters.
    package init() {}
}
