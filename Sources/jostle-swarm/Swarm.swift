internal import Glibc
internal import JostleAgent
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore

/// Many virtual boards in one process, on few threads: to test a fleet, its broker and its operator.
///
/// Used on one thread, which calls `advance` whenever `nextDeadline` has passed.
final class Swarm {
    /// Descriptors that a board may need: socket, the pair by which libmosquitto wakes itself, a duplicate while it
    /// disconnects; and three for the outbox.
    private static let descriptorsPerBoard = 4
    private static let descriptorsPerOutbox = 3
    /// Descriptors for everything else.
    private static let otherDescriptors = 100
    /// Seconds that the boards have to leave, and the writers to write what is left.
    private static let leavingTime = 5.0
    private static let writingTime = 5.0

    private let options: SwarmOptions
    private let log: Log
    private let storage = SwarmStorage()
    private let workers: [SwarmWorker]
    private var threads: [WorkerThread] = []
    private var members: [SwarmMember]
    private var model: SwarmModel
    private var deaths: SwarmSchedule
    private var shakes: SwarmSchedule
    private let start = WallClock.monotonic
    private var onlineAfter: Double?
    private let configuration: LoadedConfiguration
    private let version: String

    /// Prepares a swarm whose state is below `stateDirectory`. `start` runs it.
    ///
    /// - Throws: if the configuration has no broker for it, or the system does not permit as many descriptors.
    init(
        _ options: SwarmOptions, configuration: LoadedConfiguration, version: String, stateDirectory: String
    ) throws {
        if configuration.settings.mqtt.broker == .embedded {
            throw Failure(
                .configuration, "a swarm needs a broker of its own, not an embedded one: pass --broker mqtt://HOST:PORT"
            )
        }
        try Swarm.requireDescriptors(options)
        var workers: [SwarmWorker] = []
        for _ in 0..<options.workers {
            guard let worker = SwarmWorker() else { throw Swarm.noResources }
            workers.append(worker)
        }
        self.options = options
        self.configuration = configuration
        self.version = version
        self.workers = workers
        log = Log(level: options.isVerbose ? configuration.settings.log.level : .error)
        members = SwarmMember.all(options, below: stateDirectory)
        model = SwarmModel(members, seed: options.seed)
        // From the time at which the last board starts.
        let first = start.advanced(bySeconds: Double(options.devices) / options.connectRate)
        deaths = SwarmSchedule(perMinute: options.deathsPerMinute, seed: options.seed, stream: 2, from: first)
        shakes = SwarmSchedule(perMinute: options.eventsPerMinute, seed: options.seed, stream: 3, from: first)
    }

    /// The system has no threads or descriptors left.
    static let noResources = Failure(.system, "the system has no threads or file descriptors left")

    private static func requireDescriptors(_ options: SwarmOptions) throws {
        let each = descriptorsPerBoard + (options.hasEvents ? descriptorsPerOutbox : 0)
        let limit = DescriptorLimit.raise()
        let needed = otherDescriptors + options.devices * each
        guard needed <= limit else {
            throw Failure(
                .system,
                "\(options.devices) boards need \(needed) file descriptors, and this process may have \(limit): raise the "
                    + "hard limit (ulimit -Hn), or start at most \(max(0, limit - otherDescriptors) / each) boards")
        }
    }

    /// Starts the threads, and the boards one after the other.
    ///
    /// - Throws: if the system has no threads or descriptors left.
    func run() throws {
        let now = WallClock.monotonic
        for (number, member) in members.enumerated() {
            let time = now.advanced(bySeconds: Double(number) / options.connectRate)
            workers[number % workers.count].post(.add(member, at: time))
        }
        for (number, worker) in workers.enumerated() {
            guard let poller = SwarmPoller(wake: worker.wake) else { throw Swarm.noResources }
            let context = SwarmContext(
                configuration: configuration, version: version, storage: storage, tally: SwarmTally(),
                hasOutbox: options.hasEvents, deathPause: options.deathPause, boards: options.devices, log: log,
                isVerbose: options.isVerbose)
            let loop = SwarmLoop(worker, poller, context, first: number, step: workers.count)
            guard let thread = WorkerThread(name: "jostle-swarm-\(number)", { loop.run() }) else {
                throw Swarm.noResources
            }
            threads.append(thread)
        }
    }

    // MARK: What happens by itself

    /// When `advance` is due.
    var nextDeadline: Timestamp? { deaths.next.earlier(shakes.next) }

    /// Lets the boards die and shake that are due.
    func advance(at now: Timestamp) {
        let count = model.count
        while let number = deaths.takeDue(at: now, { $0.choose(below: count) }) {
            // A board that is stopped cannot die. It was chosen all the same, so that the choices do not depend on it.
            if model.isUp(number) { send(.die, to: number) }
        }
        while let request = shakes.takeDue(at: now, { shake(of: count, &$0) }) {
            request.worker.post(request.shake)
        }
    }

    private func shake(of count: Int, _ chance: inout SwarmChance) -> (worker: SwarmWorker, shake: SwarmWorker.Request)
    {
        let member = member(of: chance.choose(below: count))
        let strength = chance.choose(within: 8...30)
        let axis = BodyAxis.allCases[chance.choose(below: BodyAxis.allCases.count)]
        return (member.worker, .shake(board: member.index, strength: strength, axis: axis))
    }

    private func member(of number: Int) -> (worker: SwarmWorker, index: Int) {
        (workers[number % workers.count], number / workers.count)
    }

    private func send(_ fault: SwarmOrder.Fault, to number: Int) {
        let member = member(of: number)
        member.worker.post(.fault(fault, board: member.index, pause: options.deathPause))
    }

    // MARK: Orders

    /// Carries out an order. `status` and `quit` are the caller's, and change nothing here.
    ///
    /// - Returns: the ids of the boards that it concerns.
    /// - Throws: why it is not carried out; it has then changed nothing.
    func carryOut(_ order: SwarmOrder) throws -> [String] {
        switch order {
        case .fault(let fault, let selection):
            let chosen = try model.apply(fault, to: selection)
            for number in chosen { send(fault, to: number) }
            return chosen.map { members[$0].id }
        case .duplicate(let id):
            let duplicate = members[try model.board(id)].duplicate
            guard !members.contains(where: { $0.directory == duplicate.directory }) else {
                throw Failure(.usage, "duplicate: there are two boards \(id) already")
            }
            model.add(id)
            members.append(duplicate)
            workers[(members.count - 1) % workers.count].post(.add(duplicate, at: WallClock.monotonic))
            return [id]
        case .slowDisk(let seconds):
            storage.setDelay(seconds)
            return []
        case .status, .quit: return []
        }
    }

    // MARK: Figures

    /// Why a board could not be started; the others run. `nil` if none failed.
    var failure: Failure? { workers.lazy.compactMap(\.failure).first }

    /// The figures now.
    func statistics() -> SwarmStatistics {
        var counts = SwarmCounts()
        for worker in workers { counts.add(worker.counts) }
        let uptime = WallClock.monotonic.seconds(since: start)
        if onlineAfter == nil, counts.online >= options.devices { onlineAfter = uptime }
        let groups = options.groups.map { name in (name, members.count { $0.groups.contains(name) }) }
        return SwarmStatistics(
            boards: model.count, stopped: model.stopped, uptime: uptime, onlineAfter: onlineAfter, groups: groups,
            counts: counts, writes: storage.statistics, residentMemory: ProcessUsage.residentMemory,
            processorTime: ProcessUsage.processorTime, time: WallClock.milliseconds(at: WallClock.monotonic))
    }

    // MARK: The end

    /// Lets all boards leave cleanly, ends the threads and stores what is left.
    ///
    /// - Returns: problems, one sentence each.
    func stop() -> [String] {
        for worker in workers { worker.post(.end) }
        let deadline = WallClock.monotonic.advanced(bySeconds: Swarm.leavingTime)
        var problems: [String] = []
        for thread in threads where !thread.join(within: max(0.1, deadline.remaining(at: WallClock.monotonic))) {
            problems = ["some boards did not leave in time; their wills mark them offline"]
        }
        threads = []
        if !storage.finish(within: Swarm.writingTime) { problems.append("not all state files are on the disk") }
        return problems
    }
}

/// A thread that owns some of a swarm's boards, and waits for all their sockets and deadlines at once.
///
/// Its work depends on what happens and not on the number of boards: sockets come from epoll, deadlines from a heap.
final class SwarmWorker: Sendable {
    /// What other threads ask of it. Boards are numbered in the order in which they were added to the worker.
    enum Request: Sendable {
        /// A new board, which starts at a time.
        case add(SwarmMember, at: Timestamp)
        case fault(SwarmOrder.Fault, board: Int, pause: Double)
        case shake(board: Int, strength: Double, axis: BodyAxis)
        /// From another thread, for the run with this number.
        case event(board: Int, run: Int, DeviceEvent)
        case storeIsLost(board: Int)
        /// All boards leave, and the thread ends.
        case end
    }

    private struct Shared {
        var requests: [Request] = []
        var counts = SwarmCounts()
        var failure: Failure?
    }

    private let shared = Locked(Shared())
    let wake: WakeSignal

    init?() {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
    }

    /// Passes a request to the thread.
    func post(_ request: Request) {
        let mustSignal = shared.withLock { shared in
            shared.requests.append(request)
            return shared.requests.count == 1
        }
        if mustSignal { wake.signal() }
    }

    /// The thread's counts after its last round.
    var counts: SwarmCounts { shared.withLock { $0.counts } }

    /// Why a board cannot be started; `nil` if none failed.
    var failure: Failure? { shared.withLock { $0.failure } }

    // MARK: The thread's side

    func takeRequests() -> [Request] {
        wake.clear()
        return shared.withLock { shared in
            let taken = shared.requests
            shared.requests = []
            return taken
        }
    }

    func report(_ counts: SwarmCounts, _ failure: Failure?) {
        shared.withLock { shared in
            shared.counts = counts
            shared.failure = failure ?? shared.failure
        }
    }
}
