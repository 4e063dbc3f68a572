package import JostleRuntime
internal import MotionKit

/// Carries out the commands of a virtual board: those that need no sensor as the agent does; the others are refused.
package struct VirtualCommands {
    private let core: DeviceCore
    private let log: Log
    /// Created for the first command: few boards ever receive one.
    private var host: CommandHost?

    package init(_ core: DeviceCore, _ log: Log) {
        self.core = core
        self.log = log
    }

    /// Whether a `restart` command arrived.
    package var isRestartWanted: Bool { host?.isRestartWanted ?? false }

    /// Carries out a command. Either way it is answered.
    ///
    /// - Returns: for the log, why a board of a swarm refuses it; `nil` if it does not.
    package mutating func carryOut(_ request: CommandRequest) -> String? {
        let refusal: CommandRefusal
        switch request.command {
        case is RemotePing, is RemoteGetState, is RemoteLog, is RemoteRestart:
            let host = host ?? makeHost()
            self.host = host
            host.carryOut(request)
            return nil
        case is RemoteIdentify: refusal = CommandRefusal(.unavailable, "a board of a swarm has no light")
        default: refusal = CommandRefusal(.sensorUnavailable, "a board of a swarm has no sensor")
        }
        CommandReply(to: request.address) { [post = core.post] in post(.replies($0)) }.refuse(refusal)
        return refusal.line(for: request.name)
    }

    private func makeHost() -> CommandHost {
        let settings = core.settings.settings
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: core.identity.stateDirectory, writer: core.writer)
        // Nothing streams without a sensor, and no movement is almost a gesture.
        let output = StreamOutput(topic: core.topics.stream, send: { _ in false }, backlog: { 0 })
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: nil)
        return CommandHost(
            identity: core.identity, settings: settings, sensor: sensor, output: output,
            nearMisses: NearMissPublisher(manager: manager, output: output, isSimulated: true), log: log
        ) { [post = core.post] in post(.replies($0)) }
    }
}
