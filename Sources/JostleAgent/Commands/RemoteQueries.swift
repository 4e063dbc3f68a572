internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `ping`: replies with uptime and version.
struct RemotePing: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.ping
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) -> JSONObject? {
        var answer = JSONObject()
        answer.add("uptime", host.uptime, decimals: 0)
        answer.add("version", host.identity.version)
        return answer
    }
}

/// `get-state`: a snapshot of the device: sensor, state, attitude, gestures and settings.
struct RemoteGetState: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.getState
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) -> JSONObject? {
        let manager = host.manager
        let now = WallClock.milliseconds(at: WallClock.monotonic)
        var answer = JSONObject()
        answer.add("id", host.identity.id)
        answer.add("version", host.identity.version)
        answer.add("uptime", host.uptime, decimals: 0)
        answer.add("sensor", host.sensor.title)
        answer.add("stopped", host.sensor.isStopped)
        answer.add("sensor_state", (manager.sensorStatus?.state ?? .asleep).word)
        if let state = manager.state {
            let isSimulated = manager.isSimulated ?? false
            answer.add("state", Payloads.state(DeviceState(state, isSimulated: isSimulated), at: now))
            answer.add("attitude", Payloads.attitude(state, at: WallClock.milliseconds(at: state.timestamp)))
        }
        answer.add("gestures_open", manager.openGestures.words)
        answer.add("simulating", manager.simulatedMovement?.name)
        answer.add("settings", summary(of: host))
        return answer
    }

    private func summary(of host: CommandHost) -> JSONObject {
        let settings = host.settings
        var summary = JSONObject()
        summary.add("name", settings.device.name)
        summary.add("rate", host.manager.sensorInfo?.nominalRate ?? settings.imu.rate, decimals: 2)
        summary.add("gestures", host.manager.settings.gestures.enabled.words)
        summary.add("attitude_rate", settings.publish.attitude.rate, decimals: 2)
        summary.add("motion_rate", settings.publish.motion.rate, decimals: 2)
        summary.add("commands", settings.commands.allow.map(\.rawValue))
        return summary
    }
}
