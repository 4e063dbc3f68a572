/// Tells whether something makes the body vibrate: a machine that runs, a motor, a fan.
///
/// Vibration is acceleration above 3 Hz that goes on for seconds while what lies below stays as it is. Hands and feet move
/// the slow part as well, so that carrying the board is no vibration.
struct VibrationMeter: Sendable, BitwiseCopyable {
    /// What separates vibration from movement, Hz.
    private static let cutoff = 3.0
    /// Time constants of the level and of the posture, s.
    private static let levelTime = 0.5
    private static let postureTime = 2.0
    /// RMS at which it begins and below which it ends, m/s²: an MPU-6050's own noise is below 0.1
    /// (PS-MPU-6000A-00 r3.4, 6.2: 400 µg/√Hz).
    private static let beginLevel = 0.3
    private static let endLevel = 0.2
    /// How far the slow part may be from its mean, m/s².
    private static let stillness = 1.0
    /// Seconds until it counts, and until it has ended.
    private static let beginDelay = 2.0
    private static let endDelay = 1.0

    private var slow = VectorLowPass(cutoff: VibrationMeter.cutoff)
    private var posture = Vector3.zero
    private var meanSquare = 0.0
    private var contrary = 0.0
    private var isPrimed = false

    /// Whether something vibrates.
    private(set) var isVibrating = false

    /// RMS of the acceleration above 3 Hz, m/s², over about half a second.
    var level: Double { meanSquare.squareRoot() }

    /// Takes a sample's acceleration, measured `interval` seconds after the one before.
    mutating func update(_ acceleration: Vector3, interval: Double) {
        let base = slow.update(acceleration, interval: interval)
        guard isPrimed else {
            posture = base
            isPrimed = true
            return
        }
        posture += (base - posture) * min(1, interval / VibrationMeter.postureTime)
        let quick = (acceleration - base).lengthSquared
        meanSquare += (quick - meanSquare) * min(1, interval / VibrationMeter.levelTime)
        let isStill = (base - posture).lengthSquared < VibrationMeter.stillness * VibrationMeter.stillness
        let limit = isVibrating ? VibrationMeter.endLevel : VibrationMeter.beginLevel
        let seems = isStill && meanSquare > limit * limit
        contrary = seems == isVibrating ? 0 : contrary + interval
        if contrary >= (isVibrating ? VibrationMeter.endDelay : VibrationMeter.beginDelay) {
            isVibrating = seems
            contrary = 0
        }
    }
}
