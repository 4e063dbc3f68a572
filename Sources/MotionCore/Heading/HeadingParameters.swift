/// The tuning of `HeadingFilter`: what is known about gyroscopes, magnetometers and fields before anything is measured.
///
/// Deviations are standard deviations. Half or twice a value changes the mean error of the heading by a tenth at most.
package struct HeadingParameters: Sendable, BitwiseCopyable {
    /// Seconds of readings that are averaged into one measurement.
    package var blockDuration = 0.1

    // MARK: The magnetometer and the field

    /// White noise of a reading, µT. An AK8963 or AK09916 has 0.2 to 0.7.
    package var fieldNoise = 0.7
    /// What the field differs from its estimate by at one place and attitude, as a ratio of its strength: iron nearby, and
    /// what calibration has left. It changes within `fieldErrorTime` seconds as the board moves.
    package var fieldError = 0.015
    package var fieldErrorTime = 3.0
    /// By how much the time of a reading varies against that of the attitude, s, and the constant part before it is known.
    package var timeJitter = 0.005
    package var initialDelay = 0.015
    /// The hard iron that calibration has left, µT, and its changes, µT/√s.
    package var initialHardIron = 0.5
    package var hardIronWalk = 0.005
    /// Changes of the field, µT/√s.
    package var fieldWalk = 0.02

    // MARK: The heading of the gyroscope

    /// Drift of the heading before anything is known, in the long run (rad/s), and the time over which it changes, s.
    package var initialDrift = 0.1 * radiansPerDegree
    package var drift = 0.02 * radiansPerDegree
    package var driftTime = 60.0
    /// Noise of the heading, rad/√s, and error of turns by the gyroscope's scale, per √rad of turning.
    package var headingWalk = 0.01 * radiansPerDegree
    package var turnError = 0.005

    /// From which angle the gyroscope may have lost that the heading is taken from the field again, as at a start, rad.
    package var lostHeading = 30 * radiansPerDegree
    /// The deviation of the heading that a field shows then, with a vertical that is just known, rad.
    package var alignedDeviation = 15 * radiansPerDegree
    /// From which deviation the heading counts as not known, rad.
    package var trackedDeviation = 10 * radiansPerDegree

    // MARK: Disturbances

    /// From which deviation in strength or dip the field counts as disturbed, as a ratio of its strength, after a low-pass
    /// of `residualTime` seconds.
    package var disturbedField = 0.07
    package var residualTime = 0.5
    /// Seconds of disturbance after which another field is searched for, and of agreement until it is used.
    package var disturbedTime = 5.0
    package var candidateTime = 20.0
    /// Seconds of agreement with the usual field until it is used again.
    package var matchTime = 2.0
    /// Seconds without a reading after which the heading counts as kept by the gyroscope.
    package var longestPause = 2.0
    /// How uncertain field and hard iron are when they are searched for, as a ratio of the field's strength.
    package var unknownField = 0.5
    /// How long a disturbance may grow before it is noticed, s. What was learnt in that time is undone.
    package var growthTime = 10.0
    /// Seconds of a field that has the right strength and dip but another direction, after which the heading of the gyroscope
    /// is doubted: while the usual field is used, and while it is searched for.
    package var jumpTime = 20.0
    package var returnTime = 10.0
    /// Seconds in which the heading follows another field that has replaced the usual one for good.
    package var adoptionTime = 120.0
    /// Seconds of use after which the usual field is never replaced. Before that, the first field may have been disturbed.
    package var provenTime = 120.0

    package init() {}
}
