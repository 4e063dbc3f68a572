internal import JostleConfiguration
internal import JostleRuntime
internal import MotionCore

/// What a rule does outside of MQTT.
enum ActionTask: Equatable, Sendable {
    /// Runs a program with its arguments, and kills it after so many seconds.
    case run([String], seconds: Double)
    /// Posts the event to a web server.
    case post(JostleSettings.Webhook)
}

/// How a run of a program or a post ended.
enum ActionOutcome: Equatable, Sendable {
    case done
    /// Why it failed, and whether it may succeed later.
    case failed(String, mayRetry: Bool)
}

/// Decides when the programs of rules run and their events are posted: for each rule one after the other, while at most
/// four events wait. It has no clock and starts nothing itself.
///
/// A post that fails because of the network or the server is tried again, after pauses that double, for five minutes. A
/// failed run is not.
struct ActionQueue {
    /// The tasks of a rule are done one after the other; those of different rules side by side.
    struct Lane: Equatable, Sendable {
        /// What the rule is called in the log.
        let title: String
        let task: ActionTask
    }

    /// A task for an event.
    struct Job: Equatable, Sendable {
        let lane: Lane
        /// The event's JSON.
        let event: String
        let born: Timestamp
    }

    enum Step: Equatable, Sendable {
        case start(Job)
        case log(Log.Level, String)
        /// The faults have changed.
        case reportHealth
    }

    /// The counts since the start, and what does not work now.
    struct Statistics: Equatable, Sendable {
        var done: UInt64 = 0
        var failed: UInt64 = 0
        var dropped: UInt64 = 0
        var waiting = 0
        var faults: [String] = []
    }

    static let mostWaiting = 4
    /// Each has a thread, and a service may have few.
    static let mostRunning = 8
    private static let firstPause = 2.0
    private static let longestPause = 60.0
    /// The age at which an event is not posted any more, s.
    private static let lifetime = 300.0

    private struct State {
        let lane: Lane
        var waiting: [Job] = []
        var running: Job?
        /// When the first waiting job may be tried again; `nil` if at once.
        var retry: Timestamp?
        var pause = ActionQueue.firstPause
        var fault: String?
        /// Whether the last event found no room.
        var isFull = false
    }

    private var states: [State] = []
    private var counts = Statistics()
    private var lines = TokenBucket.lines

    /// The tasks of a rule.
    static func lanes(of action: JostleSettings.Action) -> [Lane] {
        let title = action.name ?? "on \(action.on.word) \(action.actingPhase.word)"
        let tasks: [ActionTask?] = [
            action.run.map { .run($0, seconds: action.timeLimit) }, action.post.map { .post($0) },
        ]
        return tasks.compactMap { $0 }.map { Lane(title: title, task: $0) }
    }

    /// What the rules have done; `nil` if none has anything to do.
    func statistics(of actions: [JostleSettings.Action]) -> Statistics? {
        guard actions.contains(where: \.reachesOut) else { return nil }
        var statistics = counts
        statistics.waiting = states.reduce(0) { $0 + $1.waiting.count }
        statistics.faults = states.compactMap { state in state.fault.map { "\(state.lane.title): \($0)" } }
        return statistics
    }

    // MARK: Events

    /// Adds the tasks of a rule for an event.
    mutating func add(_ action: JostleSettings.Action, _ event: String, at now: Timestamp) -> [Step] {
        var steps: [Step] = []
        for lane in ActionQueue.lanes(of: action) {
            let index = index(of: lane)
            guard states[index].waiting.count < ActionQueue.mostWaiting else {
                counts.dropped += 1
                let isFirst = !states[index].isFull
                states[index].isFull = true
                let reason = "\(ActionQueue.mostWaiting) events wait already, so this one is left out"
                if isFirst { log(lane, reason, at: now, &steps) }
                continue
            }
            states[index].isFull = false
            states[index].waiting.append(Job(lane: lane, event: event, born: now))
        }
        return steps + start(at: now)
    }

    /// A job has ended.
    mutating func ended(_ lane: Lane, _ outcome: ActionOutcome, at now: Timestamp) -> [Step] {
        guard let index = states.firstIndex(where: { $0.lane == lane }), let job = states[index].running else {
            return []
        }
        states[index].running = nil
        var steps: [Step] = []
        switch outcome {
        case .done:
            counts.done += 1
            states[index].pause = ActionQueue.firstPause
            if states[index].fault != nil {
                states[index].fault = nil
                steps = [.log(.info, "action \(lane.title): it works again"), .reportHealth]
            }
        case .failed(let reason, let mayRetry):
            if states[index].fault != reason {
                states[index].fault = reason
                steps.append(.reportHealth)
                log(lane, reason, at: now, &steps)
            }
            let pause = states[index].pause
            if mayRetry, now.seconds(since: job.born) + pause < ActionQueue.lifetime {
                states[index].waiting.insert(job, at: 0)
                states[index].retry = now.advanced(bySeconds: pause)
                states[index].pause = min(2 * pause, ActionQueue.longestPause)
            } else {
                counts.failed += 1
            }
        }
        return steps + start(at: now)
    }

    /// Forgets what rules have to do that are not among these any more, or are switched off. What runs goes on.
    mutating func keep(only actions: [JostleSettings.Action]) {
        let lanes = actions.filter(\.isEnabled).flatMap(ActionQueue.lanes)
        for index in states.indices where !lanes.contains(states[index].lane) {
            states[index].waiting = []
            states[index].fault = nil
        }
        states.removeAll { $0.running == nil && !lanes.contains($0.lane) }
    }

    // MARK: Deadlines

    /// When a post is tried again; `nil` if none waits for that, or if the end of another job must come first.
    var nextDeadline: Timestamp? {
        guard states.count(where: { $0.running != nil }) < ActionQueue.mostRunning else { return nil }
        return states.reduce(nil) { earliest, state in
            state.running == nil && !state.waiting.isEmpty ? earliest.earlier(state.retry) : earliest
        }
    }

    /// Starts what may start.
    mutating func start(at now: Timestamp) -> [Step] {
        var steps: [Step] = []
        var running = states.count { $0.running != nil }
        for index in states.indices where running < ActionQueue.mostRunning {
            let state = states[index]
            guard state.running == nil, let job = state.waiting.first, state.retry.map({ now >= $0 }) ?? true else {
                continue
            }
            states[index].waiting.removeFirst()
            states[index].retry = nil
            states[index].running = job
            running += 1
            steps.append(.start(job))
        }
        return steps
    }

    private mutating func index(of lane: Lane) -> Int {
        if let index = states.firstIndex(where: { $0.lane == lane }) { return index }
        states.append(State(lane: lane))
        return states.count - 1
    }

    private mutating func log(_ lane: Lane, _ text: String, at now: Timestamp, _ steps: inout [Step]) {
        guard let suppressed = lines.admit(at: now) else { return }
        let more = suppressed > 0 ? "; \(suppressed) more lines of actions left out" : ""
        steps.append(.log(.warning, "action \(lane.title): \(text)\(more)"))
    }
}
