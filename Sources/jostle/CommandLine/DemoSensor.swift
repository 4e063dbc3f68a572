internal import JostleAgent
internal import JostleConfiguration
internal import MotionKit

/// The sensor of a demonstration: the configured one if it can be used now, else a virtual one.
enum DemoSensor {
    /// Makes the configuration use a virtual chip if the configured one is missing or in use, for example by the service.
    /// A driver from the command line stays.
    ///
    /// - Returns: why the sensor is virtual; `nil` if it is not, or if that was requested.
    static func substitute(in configuration: inout LoadedConfiguration, isTold: Bool) -> String? {
        let settings = configuration.settings
        guard !isTold, settings.sensor.driver != .virtual else { return nil }
        let reason: String
        do throws(SensorError) {
            // A chip that another process has locked is not accessed.
            _ = try settings.sensorSelection.open(settings.imu)
            return nil
        } catch {
            reason = error.description(in: .agent)
        }
        configuration.settings.sensor.driver = .virtual
        configuration.settings.sensor.trajectory = JostleSettings.Sensor().trajectory
        configuration.settings.imu.assumedIdentity = nil
        return reason
    }
}
