/// The names by which an error advises its reader: those of the library for a programmer, those of the configuration and
/// the commands for a user of the agent.
package struct SensorVocabulary: Equatable, Sendable {
    /// The settings.
    package let rate: String
    package let batch: String
    package let dataReadyLine: String
    package let magnetometer: String
    package let withoutGyroscope: String

    /// How to read a kernel driver's device: completes "read the chip through it (…)".
    package let kernelDriver: String

    /// Lists the sensors there are: begins "… lists what there is".
    package let scan: String

    /// How to stop the agent, if it may be the one that uses a chip.
    package let stopAgent: String?

    private let isLibrary: Bool

    /// For programs that import MotionKit.
    package static let library = SensorVocabulary(
        rate: "IMUSettings.rate", batch: "IMUSettings.batchInterval", dataReadyLine: "SensorSelection.dataReadyLine",
        magnetometer: "IMUSettings.connectsMagnetometer", withoutGyroscope: "IMUSettings.readsGyroscope = false",
        kernelDriver: "SensorSelection.kernel()", scan: "ls /sys/bus/iio/devices", stopAgent: nil, isLibrary: true)

    /// For users of the agent and its commands.
    package static let agent = SensorVocabulary(
        rate: "sensor.rate", batch: "sensor.batch", dataReadyLine: "sensor.interrupt",
        magnetometer: "sensor.magnetometer", withoutGyroscope: "sensor.gyroscope: false",
        kernelDriver: "sensor.driver: iio", scan: "jostle scan", stopAgent: "sudo systemctl stop jostle",
        isLibrary: false)

    /// How to choose the driver of a family.
    package func driver(_ family: String) -> String {
        isLibrary ? "SensorSelection.chip(family: .\(family))" : "sensor.driver: \(family)"
    }

    /// How to drive a chip with an unknown identity as the one with `identity`.
    package func identity(_ identity: String) -> String {
        isLibrary ? "IMUSettings.assumedIdentity = \(identity)" : "sensor.identity: \(identity)"
    }

    /// How to look at all addresses.
    package var everyAddress: String {
        isLibrary ? "SensorSelection.automatic looks at all addresses" : "jostle scan looks at all addresses"
    }
}
