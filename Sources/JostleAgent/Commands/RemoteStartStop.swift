internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `start`: starts to read the sensor.
struct RemoteStart: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.start
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        let hasChanged: Bool
        do throws(SensorError) {
            hasChanged = try host.sensor.start()
        } catch {
            throw CommandRefusal(.sensorUnavailable, error.description(in: .agent))
        }
        var answer = JSONObject()
        answer.add("stopped", false)
        answer.add("changed", hasChanged)
        return answer
    }
}

/// `stop`: puts the chip to sleep until a `start` command or the agent's next start. Nothing is polled meanwhile.
struct RemoteStop: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.stop
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) -> JSONObject? {
        host.endJobs(needingSensorOnly: true)
        let hasChanged = host.sensor.stop()
        var answer = JSONObject()
        answer.add("stopped", true)
        answer.add("changed", hasChanged)
        return answer
    }
}
