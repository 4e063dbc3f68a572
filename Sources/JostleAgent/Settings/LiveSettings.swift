internal import JostleConfiguration
internal import MotionKit

/// Brings changed settings to the parts that run.
struct LiveSettings: Sendable {
    let manager: MotionManager
    let publisher: Publisher
    let health: HealthReporter

    /// Puts settings in force: with the next batch of samples, the next message, the next report.
    ///
    /// Quiet hours are the main thread's, which asks for them itself.
    @Sendable func apply(_ settings: JostleSettings) {
        manager.changeSettings { motion in
            let silenced = motion.gestures.silenced
            motion = settings.motion
            motion.gestures.silenced = silenced
        }
        manager.updateInterval = settings.updateInterval
        publisher.change(settings.publish)
        health.changeInterval(settings.publish.health.interval)
    }
}
