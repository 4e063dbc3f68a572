internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `ping`: whether the agent answers.
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

/// `get-state`: what the device is doing, all at once.
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

/// `restart`: the agent ends in an orderly way, and whoever started it starts it again.
struct RemoteRestart: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.restart
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard host.identity.isSupervised else {
            throw CommandRefusal(
                .unavailable, "nobody would start the agent again: it is no service ($JOSTLE_SUPERVISED is not 1)")
        }
        return JSONObject()
    }

    func afterAnswer(on host: CommandHost) { host.isRestartWanted = true }
}
