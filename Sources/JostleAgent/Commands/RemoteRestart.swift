internal import JostleConfiguration
internal import JostleMessages

/// `restart`: the agent exits in an orderly way, and its supervisor starts it again.
struct RemoteRestart: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.restart
    static let argumentNames: [String] = []

    init(_ arguments: CommandArguments) {}

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard host.identity.isSupervised else {
            throw CommandRefusal(
                .unavailable, "the agent does not run as a service that would restart it ($JOSTLE_SUPERVISED is not 1)")
        }
        return JSONObject()
    }

    func afterAnswer(on host: CommandHost) { host.isRestartWanted = true }
}
