internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

// The commands that need no sensor are carried out as by the agent; the others are refused.
extension SwarmBoard {
    /// Whether a `restart` command arrived, or a key changed that is only read at the start.
    var isRestartWanted: Bool { hasNewStartKeys || host?.isRestartWanted ?? false }

    func carryOut(_ request: CommandRequest) {
        guard !isLeaving else { return }
        surroundings.tally.counts.commands += 1
        switch request.command {
        case is RemotePing, is RemoteGetState, is RemoteRestart:
            commandHost().carryOut(request)
        case is RemoteIdentify:
            refuse(request, CommandRefusal(.unavailable, "a board of a swarm has no light"))
        default:
            refuse(request, CommandRefusal(.sensorUnavailable, "a board of a swarm has no sensor"))
        }
    }

    private func refuse(_ request: CommandRequest, _ refusal: CommandRefusal) {
        write(.warning, refusal.line(for: request.name))
        let post = self.post
        CommandReply(to: request.address) { post(.replies($0)) }.refuse(refusal)
    }

    private func commandHost() -> CommandHost {
        if let host { return host }
        let settings = settings.settings
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: place.directory, writer: writer)
        let post = self.post
        // Nothing streams without a sensor, and no movement is almost a gesture.
        func output(_ topic: String) -> StreamOutput {
            StreamOutput(topic: topic, send: { _ in false }, backlog: { 0 })
        }
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: nil)
        let made = CommandHost(
            identity: identity, settings: settings, sensor: sensor, output: output(topics.stream),
            nearMisses: NearMissPublisher(manager: manager, output: output(topics.nearMiss), isSimulated: true),
            log: surroundings.log
        ) { post(.replies($0)) }
        host = made
        return made
    }
}
