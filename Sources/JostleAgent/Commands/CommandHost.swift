internal import Documents
internal import JostleConfiguration
internal import JostleRuntime
internal import MotionCore
internal import MotionKit

/// Work that a command starts and that continues after the first reply. Used on the loop's thread only.
protocol CommandJob: AnyObject {
    /// Whether the job ends when sensing stops.
    var needsSensor: Bool { get }

    /// When `advance` is due next; `nil` if the job's own threads enforce its limits.
    var deadline: Timestamp? { get }

    /// Whether the job has ended.
    var isOver: Bool { get }

    /// Does the work that is due.
    func advance(to now: Timestamp)

    /// Ends the job and sends its final reply.
    func end()
}

extension CommandJob {
    var deadline: Timestamp? { nil }
    func advance(to now: Timestamp) {}
}

/// Carries out commands: gives them access to the agent's parts and keeps track of their jobs. Used on the loop's
/// thread only.
final class CommandHost {
    /// The agent's identity and state directory.
    struct Identity {
        var id: String
        var version: String
        var stateDirectory: String
        /// Whether a supervisor starts the agent again after a `restart` command: `$JOSTLE_SUPERVISED`.
        var isSupervised: Bool
        let start = WallClock.monotonic
    }

    let identity: Identity
    /// The settings in force.
    var settings: JostleSettings
    let sensor: SensorSwitch
    let log: Log
    /// The output of `stream` commands.
    let output: StreamOutput
    /// Publishes near misses, for the configuration and for `stream` commands.
    let nearMisses: NearMissPublisher
    /// Keeps the last seconds, and has the recordings.
    let recorder: Recorder
    /// Where learned gestures are kept.
    weak var gestures: (any GestureKeeper)?
    /// Where the machine's runs are listed.
    weak var machine: (any MachineKeeper)?
    /// The directory that contains the board's LEDs.
    let lights: String
    var manager: MotionManager { sensor.manager }

    /// A restart was requested.
    var isRestartWanted = false

    private var jobs: [JostleSettings.Command: any CommandJob] = [:]
    private let post: CommandReply.Post

    init(
        identity: Identity, settings: JostleSettings, sensor: SensorSwitch, output: StreamOutput,
        nearMisses: NearMissPublisher, log: Log,
        lights: String = StatusLight.systemDirectory, post: @escaping CommandReply.Post
    ) {
        self.post = post
        self.identity = identity
        self.settings = settings
        self.sensor = sensor
        self.output = output
        self.nearMisses = nearMisses
        self.log = log
        self.lights = lights
        recorder = Recorder(
            settings.recorder, manager: sensor.manager, stateDirectory: identity.stateDirectory, log: log)
        sensor.willStop = { [weak recorder] in recorder?.flush() }
    }

    /// Carries out a command and sends its reply.
    func carryOut(_ request: CommandRequest) {
        let reply = CommandReply(to: request.address, post: post)
        let level: Log.Level = request.command.isRepetition(on: self) ? .debug : .info
        do {
            let details = try request.command.carryOut(on: self, reply)
            log.write(level, "command \(request.name)\(request.origin)")
            if let details { reply.send(details) }
            request.command.afterAnswer(on: self)
        } catch {
            let refusal = CommandRefusal(error)
            log.warning(refusal.line(for: request.name) + request.origin)
            reply.refuse(refusal)
        }
    }

    /// Seconds since the agent started.
    var uptime: Double { WallClock.monotonic.seconds(since: identity.start) }

    /// Refuses the command if there are no samples.
    func requireSamples() throws {
        guard manager.state == nil else { return }
        throw CommandRefusal(
            .sensorUnavailable,
            sensor.isStopped ? "sensing is stopped: start it first" : "the sensor has not measured anything yet")
    }

    // MARK: Jobs

    /// The running job of a command.
    func job(_ command: JostleSettings.Command) -> (any CommandJob)? {
        guard let job = jobs[command], !job.isOver else { return nil }
        return job
    }

    /// Refuses the command if the job that an earlier one started is still running.
    func requireIdle(_ command: JostleSettings.Command) throws {
        guard job(command) != nil else { return }
        throw CommandRefusal(.busy, "\(command.rawValue) is under way; {\"stop\":true} ends it")
    }

    /// Starts to track the job of a command.
    func begin(_ job: any CommandJob, of command: JostleSettings.Command) {
        jobs[command] = job
    }

    /// Ends the job of a command, and makes the reply to `{"stop":true}`: whether there was a running job.
    func stop(_ command: JostleSettings.Command) -> JSONObject {
        let running = job(command)
        jobs[command] = nil
        running?.end()
        var answer = JSONObject()
        answer.add("stopped", running != nil)
        return answer
    }

    /// Ends all jobs, or only those that need the sensor.
    func endJobs(needingSensorOnly: Bool = false) {
        for (command, job) in jobs where !needingSensorOnly || job.needsSensor { _ = stop(command) }
    }

    /// The earliest deadline of the running jobs and of the recorder.
    var nextDeadline: Timestamp? {
        jobs.values.filter { !$0.isOver }.compactMap(\.deadline).min().earlier(recorder.nextDeadline)
    }

    /// Advances the jobs that are due and forgets those that have ended.
    func advanceJobs(to now: Timestamp) {
        recorder.advance(to: now)
        guard !jobs.isEmpty else { return }
        for job in jobs.values where !job.isOver && job.deadline.map({ $0 <= now }) ?? false { job.advance(to: now) }
        jobs = jobs.filter { !$0.value.isOver }
    }
}
