package import JostleConfiguration
internal import LinuxSensors
package import MotionKit

// From what the user set to what the parts take.
extension JostleSettings {
    /// Which sensor is meant.
    package var sensorSelection: SensorSelection {
        var selection: SensorSelection =
            switch sensor.driver {
            case .automatic where sensor.device != nil: .kernel(device: sensor.device)
            case .automatic: .any(bus: sensor.bus, address: sensor.address)
            case .family(let family): .chip(family: family, bus: sensor.bus, address: sensor.address)
            case .kernel: .kernel(device: sensor.device, bus: sensor.bus, address: sensor.address)
            case .virtual: .virtual(sensor.trajectory)
            }
        selection.dataReadyLine = dataReadyLine
        selection.vocabulary = .agent
        return selection
    }

    /// The GPIO line that the chip's data-ready pin is wired to.
    private var dataReadyLine: GPIOPlace? {
        guard let line = sensor.interrupt.line else { return nil }
        return GPIOPlace(chip: sensor.interrupt.chip, line: UInt32(line).map { .number($0) } ?? .name(line))
    }

    /// Seconds between two motion states: as often as the quickest of the topics wants, and ten times a second for the
    /// device's state at least.
    var updateInterval: Double {
        1 / max(10, publish.attitude.rate, publish.motion.rate)
    }

    /// What the outbox may hold.
    var outboxLimits: OutboxLimits {
        var limits = OutboxLimits()
        limits.count = mqtt.outbox.maximumCount
        limits.bytes = mqtt.outbox.maximumBytes
        limits.age = mqtt.outbox.maximumAge
        return limits
    }
}
