internal import Documents
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// `learn`: a gesture of the board's own samples. A person at the board shows it as the replies instruct; it is kept in the
/// configuration's local layer.
struct RemoteLearn: RemoteCommand, Equatable {
    /// Seconds within which it must be shown, and for which other movement may be taken first.
    static let durations = 60.0...1800.0
    static let backgrounds = 0.0...7200.0

    enum Action: Equatable {
        case learn(GestureName)
        /// Remove what is kept of it.
        case forget(GestureName)
        case stop
    }

    let action: Action
    /// Whether a gesture that is known is replaced, and whether it gets more examples.
    private(set) var replaces = false
    private(set) var adds = false
    /// The examples to show; `nil` for the usual number.
    private(set) var times: Int?
    private(set) var background = 0.0
    private(set) var seconds = 900.0

    init(_ arguments: CommandArguments) throws {
        if try arguments.stops() {
            action = .stop
            return
        }
        guard let word = try arguments.string("name") else {
            throw CommandRefusal(.badArguments, "name is missing: the name of the gesture")
        }
        guard let name = GestureName(learned: word) else {
            let refusal = GestureName.refusal
            throw CommandRefusal(
                .badArguments, "name: \"\(word.prefix(64))\" \(refusal.reason); allowed: \(refusal.allowed)")
        }
        if try arguments.bool("forget") ?? false {
            try arguments.requireOnly("name", "forget")
            action = .forget(name)
            return
        }
        action = .learn(name)
        replaces = try arguments.bool("force") ?? false
        adds = try arguments.bool("more") ?? false
        if replaces, adds {
            throw CommandRefusal(.badArguments, "force replaces the gesture, more adds examples to it")
        }
        times = try arguments.integer("times")
        if let times, !LearnedGesture.counts.contains(times) {
            let counts = LearnedGesture.counts
            throw CommandRefusal(
                .badArguments, "times must be \(counts.lowerBound) to \(counts.upperBound), not \(times)")
        }
        background = try arguments.duration("background", within: RemoteLearn.backgrounds, default: 0) ?? 0
        seconds = try arguments.duration(within: RemoteLearn.durations, default: seconds) ?? seconds
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        switch action {
        case .stop: return host.stop(.learn)
        case .forget(let name):
            var answer = JSONObject()
            answer.add("name", "\(name)")
            answer.add("forgotten", host.gestures?.forget(name) ?? false)
            return answer
        case .learn(let name):
            try host.requireIdle(.learn)
            try host.requireSamples()
            let plan = try plan(name, host)
            host.begin(try Learning(plan, limit: seconds + background, host, reply), of: .learn)
            return nil
        }
    }

    /// - Throws: `CommandRefusal` if the gesture could not be kept: nobody shall show one in vain.
    private func plan(_ name: GestureName, _ host: CommandHost) throws -> LearningSession.Plan {
        let known = host.settings.learned[name]?.template
        if known != nil, !replaces, !adds {
            throw CommandRefusal(
                .badArguments,
                "\(name) is learned already: {\"more\":true} adds examples to it, {\"force\":true} replaces it")
        }
        if known == nil, adds { throw CommandRefusal(.badArguments, "there is no gesture \(name) to add examples to") }
        try host.gestures?.checkRoom(for: name)
        var plan = LearningSession.Plan(name: name, addingTo: adds ? known : nil, times: times)
        plan.settings = host.settings.motion.withoutReference
        plan.calibration = host.manager.calibration?.effective ?? ChipCalibration()
        plan.background = background
        plan.others = host.settings.learned.values.compactMap(\.template).filter { $0.name != name }
        return plan
    }
}

/// Keeps learned gestures in the board's configuration.
protocol GestureKeeper: AnyObject {
    /// Throws why a gesture of this name could not be kept.
    func checkRoom(for name: GestureName) throws

    func keep(_ template: GestureTemplate) throws

    /// Removes what is kept of a gesture; returns whether there was anything.
    func forget(_ name: GestureName) -> Bool
}

/// Learning in progress. A thread of its own follows what is shown, because comparing takes seconds.
private final class Learning: CommandJob {
    /// What the thread leaves for the loop.
    private final class Shared: Sendable {
        let learned = Mutex<(template: GestureTemplate, step: LearningSession.Step)?>(nil)
        let flag = EndFlag()
    }

    let needsSensor = true
    private let shared: Shared
    private let queue: SampleQueue
    private let thread: WorkerThread
    private let host: CommandHost
    private let reply: CommandReply

    init(_ plan: LearningSession.Plan, limit: Double, _ host: CommandHost, _ reply: CommandReply) throws {
        guard let queue = SampleQueue(host.manager) else {
            throw CommandRefusal(.resources, "no file descriptor is left")
        }
        let (shared, log) = (Shared(), host.log)
        let thread = WorkerThread(name: "jostle-learn") {
            do {
                let learned = try Learning.follow(plan, queue, limit: limit, reply, log)
                shared.learned.withLock { $0 = learned }
                reply.wake()
            } catch {
                reply.refuse(CommandRefusal(.failed, "\(error); nothing was changed"))
                shared.flag.raise()
            }
        }
        guard let thread else { throw CommandRefusal(.resources, "the system cannot create another thread") }
        self.thread = thread
        self.shared = shared
        self.queue = queue
        self.host = host
        self.reply = reply
    }

    deinit {
        queue.close()
        thread.join(within: 0)
    }

    var isOver: Bool { shared.flag.isRaised }

    var deadline: Timestamp? { shared.learned.withLock { $0 != nil } ? Timestamp(nanoseconds: 0) : nil }

    /// Keeps what was learned.
    func advance(to now: Timestamp) {
        guard let (template, step) = shared.learned.withLock({ $0.take() }) else { return }
        do {
            try host.gestures?.keep(template)
            reply.send(step.answer(template.name, isDone: true))
            host.log.info("\(template.name) was learned over MQTT, from \(template.gesture.examples.count) examples")
        } catch {
            reply.refuse(CommandRefusal(.failed, "\(error); nothing was changed"))
        }
        shared.flag.raise()
    }

    func end() {
        queue.close()
        thread.join(within: 1)
    }

    // MARK: On its thread

    /// Guides somebody through showing the gesture.
    ///
    /// - Throws: why nothing was learned.
    private static func follow(
        _ plan: LearningSession.Plan, _ queue: SampleQueue, limit: Double, _ reply: CommandReply, _ log: Log
    ) throws -> (GestureTemplate, LearningSession.Step) {
        var plan = plan
        plan.avoided = try EverydayMovement.installed({ log.warning($0) }) ?? EverydayMovement()
        reply.send(plan.answer(limit: limit))
        let session = LearningSession(plan)
        var prompt: LearningSession.Prompt?
        let deadline = WallClock.monotonic.advanced(bySeconds: limit)
        while true {
            let left = deadline.remaining(at: WallClock.monotonic)
            guard left > 0 else { throw Failure(.temporary, "the time is up") }
            let batch = queue.next(within: left)
            guard !batch.isClosed else { throw Failure(.temporary, "stopped") }
            for sample in batch.samples {
                if let step = session.take(sample) {
                    switch step {
                    case .failed(let failure): throw Failure(.badData, failure.words)
                    case .done:
                        guard let template = session.template else { break }
                        return (template, step)
                    default: reply.send(step.answer(plan.name))
                    }
                }
                guard session.prompt.kind != prompt else { continue }
                prompt = session.prompt.kind
                reply.send(session.prompt.answer(plan))
            }
            // What was done meanwhile belongs to no trial.
            if prompt == .wait { _ = queue.next(within: 0) }
        }
    }
}

extension LearningSession.Plan {
    /// The first reply.
    fileprivate func answer(limit: Double) -> JSONObject {
        var answer = JSONObject.progress(name, "begin", LearningSession.explanation)
        answer.add("seconds", limit, decimals: 0)
        return answer
    }
}

extension LearningSession.Prompt {
    /// Without what changes from sample to sample.
    fileprivate var kind: LearningSession.Prompt {
        switch self {
        case .wear: .wear(left: 0)
        case .rest: .rest(0)
        default: self
        }
    }

    fileprivate func answer(_ plan: LearningSession.Plan) -> JSONObject {
        var answer = JSONObject.progress(plan.name, word, words(of: plan))
        switch self {
        case .wear(let left): answer.add("left", left, decimals: 0)
        case .show(let number, let count), .test(let number, let count):
            answer.add("number", Int64(number))
            answer.add("of", Int64(count))
        case .rest, .rehearse, .moving, .wait, .over: break
        }
        return answer
    }

    private var word: String {
        switch self {
        case .wear: "wear"
        case .rest: "rest"
        case .rehearse: "rehearse"
        case .show: "show"
        case .test: "test"
        case .moving: "moving"
        case .wait, .over: "wait"
        }
    }
}

extension LearningSession.Step {
    fileprivate func answer(_ name: GestureName, isDone: Bool = false) -> JSONObject {
        var answer = JSONObject.progress(name, word, lines().joined(separator: " "), isDone: isDone)
        switch self {
        case .accepted(let number, let seconds, let distance, let energies, _):
            answer.add("number", Int64(number))
            answer.add("duration", seconds, decimals: 2)
            if distance.isFinite { answer.add("distance", distance, decimals: 2) }
            answer.add("energies", energies, decimals: 2)
        case .learned(let count, _): answer.add("examples", Int64(count))
        case .tested(let number, let trial):
            answer.add("number", Int64(number))
            if case .recognised(let confidence) = trial { answer.add("confidence", confidence, decimals: 2) }
        case .done(let recognised, _): answer.add("recognised", Int64(recognised))
        case .worn, .rehearsed, .refused, .startedAgain, .restless, .failed: break
        }
        return answer
    }

    private var word: String {
        switch self {
        case .worn: "worn"
        case .rehearsed: "rehearsed"
        case .accepted: "accepted"
        case .refused: "refused"
        case .startedAgain: "started_again"
        case .restless: "restless"
        case .learned: "learned"
        case .tested: "tested"
        case .done: "done"
        case .failed: "failed"
        }
    }
}

extension JSONObject {
    /// A reply about a gesture that is being learned: what has happened or what to do, for programs and for people.
    fileprivate static func progress(
        _ name: GestureName, _ step: String, _ message: String, isDone: Bool = false
    ) -> JSONObject {
        var answer = JSONObject()
        answer.add("name", "\(name)")
        answer.add("step", step)
        answer.add("message", message.split(separator: "\n").joined(separator: " "))
        answer.add("done", isDone)
        return answer
    }
}
