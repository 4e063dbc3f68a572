internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// Something that a command began and that goes on after its first answer. For the loop's thread.
protocol CommandJob: AnyObject {
    /// Whether it ends when sensing is stopped.
    var needsSensor: Bool { get }

    /// When `advance` is due next; `nil` if it needs no deadline.
    var deadline: Timestamp? { get }

    /// Whether it is over.
    var isOver: Bool { get }

    /// Does what is due.
    func advance(to now: Timestamp)

    /// Ends it, and says what came of it.
    func end()
}

/// What commands are carried out on: the parts of the agent that they may touch. For the loop's thread.
final class CommandHost {
    /// Who the agent is, and where it keeps what outlives it.
    struct Identity {
        var id: String
        var version: String
        var stateDirectory: String
        /// Whether whoever started the agent starts it again where it asks for that: `$JOSTLE_SUPERVISED`.
        var isSupervised: Bool
        let start = WallClock.monotonic
    }

    let identity: Identity
    let settings: JostleSettings
    let sensor: SensorSwitch
    let log: Log
    /// Where samples go that somebody wants to have streamed.
    let outlet: StreamOutlet
    /// Where the board's lights are.
    let lights: String
    var manager: MotionManager { sensor.manager }

    /// A restart was requested.
    var isRestartWanted = false

    private var jobs: [String: any CommandJob] = [:]
    private let post: CommandReply.Post

    init(
        identity: Identity, settings: JostleSettings, sensor: SensorSwitch, outlet: StreamOutlet, log: Log,
        lights: String = StatusLight.systemDirectory, post: @escaping CommandReply.Post
    ) {
        self.post = post
        self.identity = identity
        self.settings = settings
        self.sensor = sensor
        self.outlet = outlet
        self.log = log
        self.lights = lights
    }

    /// Carries out a command, and answers it.
    func carryOut(_ request: CommandRequest) {
        let reply = CommandReply(to: request.address, post: post)
        do throws(CommandRefusal) {
            let details = try request.command.carryOut(on: self, reply)
            log.info("command \(request.name)\(request.origin)")
            if let details { reply.send(details) }
            request.command.afterAnswer(on: self)
        } catch {
            log.warning(error.line(for: request.name))
            reply.refuse(error)
        }
    }

    /// Seconds since the agent's start.
    var uptime: Double { WallClock.monotonic.seconds(since: identity.start) }

    /// Refuses where nothing is being measured.
    func requireSamples() throws(CommandRefusal) {
        guard manager.state == nil else { return }
        throw CommandRefusal(
            .sensorUnavailable,
            sensor.isStopped ? "sensing is stopped: start it first" : "the sensor has not measured anything yet")
    }

    // MARK: What goes on

    /// Refuses where what the command `name` began still goes on.
    func requireIdle(_ name: String) throws(CommandRefusal) {
        guard let job = jobs[name], !job.isOver else { return }
        throw CommandRefusal(.busy, "\(name) is under way; {\"stop\":true} ends it")
    }

    /// Looks after what a command began.
    func begin(_ job: any CommandJob, of name: String) {
        jobs[name] = job
    }

    /// Ends what a command began.
    ///
    /// - Returns: whether there was anything.
    func end(_ name: String) -> Bool {
        guard let job = jobs.removeValue(forKey: name), !job.isOver else { return false }
        job.end()
        return true
    }

    /// Ends what needs the sensor, or everything.
    func endJobs(needingSensorOnly: Bool = false) {
        for (name, job) in jobs where !needingSensorOnly || job.needsSensor { _ = job.isOver ? false : end(name) }
    }

    /// When something of it is due.
    var nextDeadline: Timestamp? { jobs.values.filter { !$0.isOver }.compactMap(\.deadline).min() }

    /// Does what is due.
    func look(at now: Timestamp) {
        for job in jobs.values where !job.isOver && job.deadline.map({ $0 <= now }) ?? false { job.advance(to: now) }
        jobs = jobs.filter { !$0.value.isOver }
    }
}

extension JSONObject {
    /// The answer to `{"stop":true}`: whether there was anything to end.
    init(stopped hadAny: Bool) {
        self.init()
        add("stopped", hadAny)
    }
}
