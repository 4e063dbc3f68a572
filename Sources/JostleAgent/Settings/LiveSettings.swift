internal import JostleConfiguration
internal import MotionKit

/// Brings changed settings to the parts that run.
struct LiveSettings: Sendable {
    let manager: MotionManager
    let publisher: Publisher
    let health: HealthReporter

    /// Puts settings in force: with the next batch of samples, the next message, the next report.
    @Sendable func apply(_ settings: JostleSettings) {
        manager.settings = settings.motion
        manager.updateInterval = settings.updateInterval
        publisher.change(settings.publish)
        health.changeInterval(settings.publish.health.interval)
    }
}
