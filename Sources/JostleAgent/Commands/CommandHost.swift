internal import MotionKit

/// What commands are carried out on: the parts of the agent that they may touch. For the main thread.
final class CommandHost {
    let manager: MotionManager
    let sensor: SensorSwitch

    init(sensor: SensorSwitch) {
        self.sensor = sensor
        manager = sensor.manager
    }
}
