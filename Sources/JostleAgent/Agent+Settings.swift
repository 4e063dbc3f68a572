package import JostleConfiguration
internal import LinuxSensors
package import MotionKit

// Maps user settings to the parameters of the agent's parts.
extension JostleSettings {
    /// The sensor to open.
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

    /// The GPIO line wired to the chip's data-ready pin.
    private var dataReadyLine: GPIOPlace? {
        guard let line = sensor.interrupt.line else { return nil }
        return GPIOPlace(chip: sensor.interrupt.chip, line: UInt32(line).map { .number($0) } ?? .name(line))
    }

    /// Seconds between motion states: the period of the fastest enabled topic, and at most 0.1 s because the device
    /// state is evaluated ten times a second.
    var updateInterval: Double {
        1 / max(10, publish.attitude.rate, publish.motion.rate)
    }

    /// The limits of the outbox.
    var outboxLimits: OutboxLimits {
        var limits = OutboxLimits()
        limits.count = mqtt.outbox.maximumCount
        limits.bytes = mqtt.outbox.maximumBytes
        limits.age = mqtt.outbox.maximumAge
        return limits
    }
}
