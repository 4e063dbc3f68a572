internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MotionCore
internal import MotionKit

/// A command on `…/command/<name>`: parses its arguments and carries it out.
///
/// To add a command, add a case to `JostleSettings.Command`, a type like this, and a line to `RemoteCommands.read`.
protocol RemoteCommand: Sendable {
    /// Whether the command only continues what an earlier one began, so that the log has it at the level debug. Asked
    /// before the command is carried out.
    func isRepetition(on host: CommandHost) -> Bool

    /// Carries the command out without blocking for longer than a second. A job that continues afterwards reports its
    /// result through `reply`.
    ///
    /// - Returns: details to add to the success reply; `nil` if the command sends its first reply through `reply`.
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject?

    /// Does what must not happen before the reply is on its way.
    func afterAnswer(on host: CommandHost)
}

extension RemoteCommand {
    func isRepetition(on host: CommandHost) -> Bool { false }
    func afterAnswer(on host: CommandHost) {}
}

/// All commands.
enum RemoteCommands {
    /// Parses a command from its name and its arguments: a JSON object or an empty payload.
    static func read(
        _ name: String, _ payload: [UInt8], allowed: [JostleSettings.Command] = JostleSettings.Command.allCases
    ) throws -> any RemoteCommand {
        guard let command = JostleSettings.Command(rawValue: name) else {
            let words = JostleSettings.Command.allCases.map(\.rawValue)
            let suggestion = EditDistance.suggestion(for: name, among: words)
            throw CommandRefusal(
                .unknownCommand,
                "there is no command \"\(name.prefix(64))\"; the commands are \(CommandArguments.list(words))\(suggestion)"
            )
        }
        func arguments(_ names: String...) throws -> CommandArguments {
            try CommandArguments(payload, of: name, names: names)
        }
        // What only reads, or acknowledges, needs no right.
        if command == .machine, let harmless = try? RemoteMachine(arguments("now")), harmless.isHarmless {
            return harmless
        }
        guard allowed.contains(command) else {
            throw CommandRefusal(.notAllowed, "commands.allow in the device's configuration does not include \(name)")
        }
        switch command {
        case .identify: return try RemoteIdentify(arguments("seconds", "stop"))
        case .tare: return try RemoteTare(arguments("clear", "heading_only"))
        case .simulate: return try RemoteSimulate(arguments("movement", "count", "seconds", "stop"))
        case .stream:
            return try RemoteStream(arguments("duration", "rate", "fields", "interval", "near_misses", "stop"))
        case .record: return try RemoteRecord(arguments("seconds", "stop"))
        case .keep: return try RemoteKeep(arguments("before", "after", "label"))
        case .recordings: return try RemoteRecordings(arguments("list", "fetch", "offset", "delete", "label", "as"))
        case .calibrate: return try RemoteCalibrate(arguments("what", "poses", "seconds", "stop"))
        case .learn:
            return try RemoteLearn(
                arguments("name", "more", "force", "times", "background", "seconds", "forget", "stop"))
        case .machine: return try RemoteMachine(arguments("now"))
        case .start, .stop:
            _ = try arguments()
            return RemoteSensing(isWanted: command == .start)
        case .ping:
            _ = try arguments()
            return RemotePing()
        case .getState:
            _ = try arguments()
            return RemoteGetState()
        case .log:
            _ = try arguments()
            return RemoteLog()
        case .restart:
            _ = try arguments()
            return RemoteRestart()
        }
    }
}

/// Why a command was refused, or why it failed.
struct CommandRefusal: Error, Equatable {
    /// The reason for programs: the complete list.
    enum Code: String, CaseIterable {
        case unknownCommand = "unknown_command"
        /// `commands.allow` does not include it.
        case notAllowed = "not_allowed"
        case badArguments = "bad_arguments"
        /// A retained command would be carried out again at every connection.
        case retained
        /// The rate limit was exceeded.
        case tooMany = "too_many"
        /// A job of the same kind is running. Try again later.
        case busy
        /// The sensor is absent, stopped, or has not measured yet.
        case sensorUnavailable = "sensor_unavailable"
        /// The board does not support the command.
        case unavailable
        /// A system resource is missing.
        case resources
        /// The command was started and failed.
        case failed
    }

    let code: Code
    /// The reason for people.
    let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// `ping`: replies with uptime and version.
struct RemotePing: RemoteCommand, Equatable {
    func carryOut(on host: CommandHost, _ reply: CommandReply) -> JSONObject? {
        var answer = JSONObject()
        answer.add("uptime", host.uptime, decimals: 0)
        answer.add("version", host.identity.version)
        return answer
    }
}

/// `get-state`: a snapshot of the device: sensor, state, attitude, gestures and settings.
struct RemoteGetState: RemoteCommand, Equatable {
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
        let enabled = host.settings.gestureKinds.filter { host.settings[$0]?.isEnabled == true }
        summary.add("gestures", enabled.map(\.word))
        summary.add("attitude_rate", settings.publish.attitude.rate, decimals: 2)
        summary.add("motion_rate", settings.publish.motion.rate, decimals: 2)
        summary.add("commands", settings.commands.allow.map(\.rawValue))
        return summary
    }
}

/// `tare`: makes the present attitude the reference, so that it reads as zero.
struct RemoteTare: RemoteCommand, Equatable {
    /// Removes the reference: attitude is relative to the vertical again.
    let clears: Bool
    /// Zeroes the heading only.
    let isHeadingOnly: Bool

    init(clears: Bool = false, isHeadingOnly: Bool = false) {
        self.clears = clears
        self.isHeadingOnly = isHeadingOnly
    }

    init(_ arguments: CommandArguments) throws {
        let clears = try arguments.bool("clear") ?? false
        let isHeadingOnly = try arguments.bool("heading_only") ?? false
        if clears, isHeadingOnly {
            throw CommandRefusal(
                .badArguments, "clear cannot be combined with heading_only: it removes the whole reference")
        }
        self.init(clears: clears, isHeadingOnly: isHeadingOnly)
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        try host.requireSamples()
        if clears {
            try host.manager.clearReference()
        } else {
            try host.manager.takeReference(headingOnly: isHeadingOnly)
        }
        return JSONObject()
    }
}

/// `start`: starts to read the sensor. `stop`: puts the chip to sleep until a `start` command or the agent's next start.
/// Nothing is polled meanwhile.
struct RemoteSensing: RemoteCommand, Equatable {
    let isWanted: Bool

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        if !isWanted { host.endJobs(needingSensorOnly: true) }
        let hasChanged = try isWanted ? host.sensor.start() : host.sensor.stop()
        var answer = JSONObject()
        answer.add("stopped", !isWanted)
        answer.add("changed", hasChanged)
        return answer
    }
}

/// `log`: the last lines of the agent's log, the newest last, as many of them as fit.
struct RemoteLog: RemoteCommand, Equatable {
    /// The most bytes of the lines: a reply has less than 64 KiB.
    private static let maximumBytes = 60_000

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard let lines = host.log.lastLines else {
            throw CommandRefusal(.unavailable, "this program does not keep the lines of its log")
        }
        var objects: [JSONObject] = []
        var bytes = 0
        for line in lines.reversed() {
            var object = JSONObject()
            object.add("t", line.time)
            object.add("level", "\(line.level)")
            object.add("text", line.text)
            bytes += object.bytes.count + 1
            guard bytes <= RemoteLog.maximumBytes else { break }
            objects.append(object)
        }
        var answer = JSONObject()
        answer.add("lines", objects.reversed())
        return answer
    }
}

/// `restart`: the agent exits in an orderly way, and its supervisor starts it again.
struct RemoteRestart: RemoteCommand, Equatable {
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard host.identity.isSupervised else {
            throw CommandRefusal(
                .unavailable, "the agent does not run as a service that would restart it ($JOSTLE_SUPERVISED is not 1)")
        }
        return JSONObject()
    }

    func afterAnswer(on host: CommandHost) { host.isRestartWanted = true }
}

/// `simulate`: generates the events of a movement that does not happen, to test what they trigger.
struct RemoteSimulate: RemoteCommand, Equatable {
    /// What to simulate.
    enum Order: Equatable {
        case movement(SimulatedMovement)
        /// The first example of a learned gesture.
        case learned(GestureName, count: Int)
        /// Stop a simulation.
        case stop
    }

    let order: Order

    init(_ arguments: CommandArguments) throws {
        if try arguments.stops() {
            order = .stop
            return
        }
        guard let name = try arguments.string("movement") else {
            let names = SimulatedMovement.known.map(\.name).joined(separator: ", ")
            throw CommandRefusal(.badArguments, "movement is missing; the movements are \(names)")
        }
        let count = try arguments.integer("count") ?? 1
        let seconds = try arguments.number("seconds")
        do throws(SimulationError) {
            order = .movement(try SimulatedMovement(name, count: count, seconds: seconds))
        } catch {
            guard case .unknownMovement = error, let name = GestureName(learned: name) else { throw error }
            if seconds != nil { throw SimulationError.endsByItself("\(name)") }
            order = .learned(name, count: count)
        }
    }

    /// Does not need a working sensor: automations can be tested without one.
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        let movement: SimulatedMovement
        switch order {
        case .stop:
            host.manager.stopSimulation()
            return JSONObject()
        case .movement(let known): movement = known
        case .learned(let name, let count):
            let learned = host.settings.learnedGestures()
            guard let gesture = learned.first(where: { $0.name == name }) else {
                let names = SimulatedMovement.known.map(\.name) + learned.map { "\($0.name)" }
                throw SimulationError.unknownMovement("\(name)", known: names)
            }
            movement = try SimulatedMovement(gesture, count: count)
        }
        try host.manager.simulate(movement)
        var answer = JSONObject()
        answer.add("movement", movement.name)
        answer.add("count", Int64(movement.count))
        answer.add("seconds", movement.duration, decimals: 1)
        // The events of a virtual sensor are marked as those of this movement are.
        let sensor = host.settings.sensor
        if sensor.driver == .virtual, sensor.trajectory != "rest" {
            let isNamed = SensorSelection.trajectories.contains { $0.name == sensor.trajectory }
            answer.add("beside", isNamed ? sensor.trajectory : "recording")
        }
        return answer
    }
}

extension CommandRefusal {
    /// The refusal that an error stands for.
    init(_ error: any Error) {
        let text = "\(error)"
        switch error {
        case let refusal as CommandRefusal: self = refusal
        case let error as SensorError: self.init(.sensorUnavailable, error.description(in: .agent))
        case SimulationError.unknownMovement(let name, let known):
            self.init(.badArguments, text + EditDistance.suggestion(for: name, among: known))
        case is DocumentProblem: self.init(.unavailable, text)
        case SimulationError.busy: self.init(.busy, text)
        case SimulationError.notRunning, is ReferenceError: self.init(.sensorUnavailable, text)
        case SimulationError.resources: self.init(.resources, text)
        case is SimulationError: self.init(.badArguments, text)
        default: self.init(.resources, text)
        }
    }
}
