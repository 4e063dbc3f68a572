internal import CLinuxSystem
internal import Glibc
internal import JostleAgent
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

/// The loop of a worker's thread: serves the boards whose socket is ready or whose deadline has passed. After it was made,
/// only that thread uses it.
final class SwarmLoop: @unchecked Sendable {
    private let worker: SwarmWorker
    private let context: SwarmContext
    private let poller: SwarmPoller
    /// The numbers of this worker's boards in the swarm are `first`, `first + step`, …
    private let first: Int
    private let step: Int
    private var boards: [BoardLifecycle] = []
    private var deadlines = DeadlineHeap()
    private var failure: Failure?
    /// The boards that a command restarts in the next round.
    private var restarting: Set<Int> = []
    private var isEnding = false
    /// The boards of an ending worker that have not left yet.
    private var remaining = 0

    init(
        _ worker: SwarmWorker, _ poller: SwarmPoller, _ context: SwarmContext, first: Int, step: Int
    ) {
        self.worker = worker
        self.poller = poller
        self.context = context
        self.first = first
        self.step = step
    }

    func run() {
        while true {
            let now = ClockReading.now()
            for request in worker.takeRequests() { handle(request, at: now) }
            // Only now: the replies to the command and to those before it are on their way.
            for index in restarting {
                if case .running = boards[index].state { restart(index, at: now) }
            }
            restarting = []
            serveDue(at: now)
            worker.report(context.tally.counts, failure)
            if isEnding, remaining == 0 { return }
            let pause = deadlines.first.map { $0.deadline.remaining(at: WallClock.monotonic) }
            let ready = poller.wait(seconds: pause)
            guard !ready.isEmpty else { continue }
            let then = ClockReading.now()
            for (index, readiness) in ready { serve(index, readiness, at: then) }
        }
    }

    // MARK: Boards

    /// Serves the boards whose deadline has passed, at most as often as there are boards.
    private func serveDue(at now: ClockReading) {
        var rest = boards.count
        while rest > 0, let (deadline, index) = deadlines.first, deadline <= now.monotonic {
            rest -= 1
            serve(index, [], at: now)
        }
    }

    private func serve(_ index: Int, _ readiness: MQTTReadiness, at now: ClockReading) {
        switch boards[index].state {
        case .waiting(let until): if until <= now.monotonic { start(index, at: now) }
        case .running(let board): advance(board, index, readiness, at: now)
        case .leaving(let board, let startsAgain):
            // A graceful disconnect continues on a duplicate of the descriptor, and closes the one that epoll knows.
            poller.set(nil, of: index)
            advance(board, index, readiness, at: now)
            if board.hasLeft { left(board, index, startsAgain: startsAgain, at: now) }
        case .stopped, .losingStore: deadlines.set(nil, of: index)
        }
    }

    private func advance(_ board: SwarmBoard, _ index: Int, _ readiness: MQTTReadiness, at now: ClockReading) {
        board.advance(readiness, at: now)
        if board.isKilled, case .running = boards[index].state {
            return carryOut(.die, index, pause: context.deathPause, at: now)
        }
        arm(board, index, at: now)
    }

    /// Waits for what the board waits for.
    private func arm(_ board: SwarmBoard, _ index: Int, at now: ClockReading) {
        if board.isRestartWanted, !board.isLeaving, restarting.insert(index).inserted { worker.wake.signal() }
        poller.set(board.client.interest, of: index)
        deadlines.set(board.nextDeadline(at: now.monotonic), of: index)
    }

    private func start(_ index: Int, at now: ClockReading) {
        let writer = context.storage.writer(of: number(of: index))
        if boards[index].mustAwaitWrites(in: writer, at: now.monotonic) {
            return wait(index, until: now.monotonic.advanced(bySeconds: BoardLifecycle.pause))
        }
        let member = boards[index].member
        let worker = self.worker
        if boards[index].losesStore {
            boards[index].losesStore = false
            boards[index].state = .losingStore(startsAgain: true)
            deadlines.set(nil, of: index)
            writer.perform {
                FileContents.removeDirectory(member.directory)
                worker.post(.storeIsLost(board: index))
            }
            return
        }
        boards[index].run += 1
        let run = boards[index].run
        do {
            let board = try SwarmBoard(
                member, number: number(of: index), isSensorDead: boards[index].isSensorDead, context, at: now
            ) { worker.post(.event(board: index, run: run, $0)) }
            boards[index].state = .running(board)
            context.tally.counts.starts += 1
            context.tally.counts.running += 1
            board.start(at: now)
            advance(board, index, [], at: now)
        } catch {
            failure = Failure(error)
            boards[index].state = .stopped
            deadlines.set(nil, of: index)
        }
    }

    private func wait(_ index: Int, until time: Timestamp) {
        boards[index].state = .waiting(until: time)
        deadlines.set(time, of: index)
    }

    private func left(_ board: SwarmBoard, _ index: Int, startsAgain: Bool, at now: ClockReading) {
        ended(board, index)
        if isEnding { remaining -= 1 }
        if startsAgain, !isEnding {
            wait(index, until: now.monotonic.advanced(bySeconds: BoardLifecycle.pause))
        } else {
            boards[index].state = .stopped
        }
    }

    /// A board's run is over.
    private func ended(_ board: SwarmBoard, _ index: Int) {
        board.end()
        context.tally.counts.running -= 1
        poller.set(nil, of: index)
        deadlines.set(nil, of: index)
    }

    private func number(of index: Int) -> Int { first + index * step }

    // MARK: Requests

    private func handle(_ request: SwarmWorker.Request, at now: ClockReading) {
        switch request {
        case .add(let member, let time):
            boards.append(BoardLifecycle(member: member, state: .stopped))
            wait(boards.count - 1, until: time)
        case .fault(let fault, let index, let pause): carryOut(fault, index, pause: pause, at: now)
        case .shake(let index, let strength, let axis):
            withBoard(index, at: now) { $0.shake(strength: strength, axis: axis, at: now) }
        case .event(let index, let run, let event):
            guard run == boards[index].run else { return }
            withBoard(index, at: now) { $0.handle(event, at: now) }
        case .storeIsLost(let index):
            context.tally.counts.lostStores += 1
            guard case .losingStore(let startsAgain) = boards[index].state else { return }
            boards[index].state = .stopped
            if startsAgain { wait(index, until: now.monotonic) }
        case .end: end(at: now)
        }
    }

    /// Does something with a board, if there is one, and then waits for what it waits for.
    private func withBoard(_ index: Int, at now: ClockReading, _ body: (SwarmBoard) -> Void) {
        guard let board = boards[index].board else { return }
        body(board)
        arm(board, index, at: now)
    }

    private func carryOut(_ fault: SwarmOrder.Fault, _ index: Int, pause: Double, at now: ClockReading) {
        switch fault {
        case .die:
            if let board = boards[index].board { ended(board, index) }
            if case .losingStore = boards[index].state { return }
            context.tally.counts.deaths += 1
            wait(index, until: now.monotonic.advanced(bySeconds: pause))
        case .loseStore:
            boards[index].losesStore = true
            restart(index, at: now)
        case .stop: stop(index, at: now)
        case .start: restartIfStopped(index, at: now)
        case .killSensor:
            boards[index].isSensorDead = true
            withBoard(index, at: now) { $0.sensor.die(at: now.monotonic) }
        }
    }

    private func restartIfStopped(_ index: Int, at now: ClockReading) {
        if case .running = boards[index].state { return }
        restart(index, at: now)
    }

    private func restart(_ index: Int, at now: ClockReading) { leave(index, startsAgain: true, at: now) }

    private func stop(_ index: Int, at now: ClockReading) { leave(index, startsAgain: false, at: now) }

    /// Ends a board's run, if there is one.
    private func leave(_ index: Int, startsAgain: Bool, at now: ClockReading) {
        switch boards[index].state {
        case .running(let board):
            board.leave(at: now)
            boards[index].state = .leaving(board, startsAgain: startsAgain)
            arm(board, index, at: now)
        case .leaving(let board, _): boards[index].state = .leaving(board, startsAgain: startsAgain)
        case .losingStore: boards[index].state = .losingStore(startsAgain: startsAgain)
        case .waiting where startsAgain: break
        case .stopped where startsAgain: wait(index, until: now.monotonic)
        case .waiting, .stopped:
            boards[index].state = .stopped
            deadlines.set(nil, of: index)
        }
    }

    private func end(at now: ClockReading) {
        isEnding = true
        for index in boards.indices {
            stop(index, at: now)
            if boards[index].board != nil { remaining += 1 }
        }
    }
}

/// What a worker knows of one board, through all of its runs.
struct BoardLifecycle {
    enum State {
        /// Stopped until it is started by an order.
        case stopped
        /// It starts at this time, as soon as the last run's writes are done.
        case waiting(until: Timestamp)
        case running(SwarmBoard)
        /// It leaves cleanly; then it stops, or starts again.
        case leaving(SwarmBoard, startsAgain: Bool)
        /// Its state directory is being deleted; then it stops, or starts again.
        case losingStore(startsAgain: Bool)
    }

    /// Seconds between looks at the writes of the last run, and the pause before a clean start.
    static let pause = 0.02
    /// The longest that a board waits for these, s.
    private static let longestWrite = 5.0

    let member: SwarmMember
    var state: State
    /// The number of runs so far, so that results for an earlier run are recognised.
    var run = 0
    var isSensorDead = false
    /// When a board that waits for the writes of its last run starts at the latest.
    var latestStart: Timestamp?
    /// Whether the state directory is deleted before the next start.
    var losesStore = false

    /// The board, if there is one.
    var board: SwarmBoard? {
        switch state {
        case .running(let board), .leaving(let board, _): board
        case .stopped, .waiting, .losingStore: nil
        }
    }

    /// Whether files of the last run are still to be written. The next run does not read before, unless the disk cannot
    /// be written: then it starts without them, as a process does.
    mutating func mustAwaitWrites(in writer: StateWriter, at now: Timestamp) -> Bool {
        let directory = StateDirectory(path: member.directory)
        let latest = latestStart ?? now.advanced(bySeconds: BoardLifecycle.longestWrite)
        let isPending = StateFile.allCases.contains { writer.pending(directory.path(of: $0.rawValue)) != nil }
        latestStart = isPending && now < latest ? latest : nil
        return latestStart != nil
    }
}

/// The deadlines of many members, of which the earliest is found at once: a binary heap with the place of each member.
struct DeadlineHeap: Sendable {
    private var heap: [(deadline: Timestamp, member: Int)] = []
    /// Where each member is in `heap`; -1 if it has no deadline.
    private var places: [Int] = []

    /// The earliest deadline and its member; `nil` if there is none.
    var first: (deadline: Timestamp, member: Int)? { heap.first }

    /// Sets or, with `nil`, removes the deadline of a member, a number from 0.
    mutating func set(_ deadline: Timestamp?, of member: Int) {
        while places.count <= member { places.append(-1) }
        let place = places[member]
        switch (deadline, place) {
        case (nil, -1): return
        case (nil, _): remove(at: place)
        case (let deadline?, -1):
            heap.append((deadline, member))
            places[member] = heap.count - 1
            rise(from: heap.count - 1)
        case (let deadline?, _):
            heap[place].deadline = deadline
            rise(from: place)
            sink(from: places[member])
        }
    }

    private mutating func remove(at place: Int) {
        let last = heap.count - 1
        if place != last { swap(place, last) }
        places[heap.removeLast().member] = -1
        guard place < heap.count else { return }
        let moved = heap[place].member
        rise(from: place)
        sink(from: places[moved])
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        places[heap[one].member] = one
        places[heap[other].member] = other
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0, heap[place].deadline < heap[(place - 1) / 2].deadline {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline { least = child }
            guard least != place else { return }
            swap(place, least)
            place = least
        }
    }
}

/// Waits for the sockets of many members: epoll(7). Used on one thread.
final class SwarmPoller {
    /// Events taken at once.
    private static let batch = 256

    private let descriptor: Int32
    /// What is registered for each member.
    private var interests: [MQTTInterest?] = []
    private var buffer = [epoll_event](repeating: epoll_event(), count: SwarmPoller.batch)

    /// Waits for `wake` too; `nil`, with errno set, if the system has no descriptors left.
    init?(wake: WakeSignal) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = .max
        epoll_ctl(descriptor, EPOLL_CTL_ADD, wake.descriptor, &event)
    }

    deinit { close(descriptor) }

    /// Registers what a member waits for; `nil` for nothing.
    ///
    /// A descriptor that was closed has left epoll by itself, and its number may belong to another member of another
    /// poller. So the failure to change or to remove it is no error.
    func set(_ interest: MQTTInterest?, of member: Int) {
        while interests.count <= member { interests.append(nil) }
        let old = interests[member]
        guard interest != old else { return }
        interests[member] = interest
        var event = epoll_event()
        if let old, old.descriptor != interest?.descriptor {
            epoll_ctl(descriptor, EPOLL_CTL_DEL, old.descriptor, &event)
        }
        guard let interest else { return }
        event.events =
            (interest.readiness.contains(.readable) ? EPOLLIN.rawValue : 0)
            | (interest.readiness.contains(.writable) ? EPOLLOUT.rawValue : 0)
        event.data.u64 = UInt64(member)
        if epoll_ctl(descriptor, EPOLL_CTL_MOD, interest.descriptor, &event) != 0 {
            epoll_ctl(descriptor, EPOLL_CTL_ADD, interest.descriptor, &event)
        }
    }

    /// Waits until a member or the wake signal is ready, at most `seconds`; `nil` waits without a limit.
    ///
    /// - Returns: the members that are ready.
    func wait(seconds: Double?) -> [(member: Int, readiness: MQTTReadiness)] {
        // Rounded up: a wait that ends before the deadline would be repeated.
        let limit = seconds.map { Int32(min(max(0, $0) * 1000, 1e6).rounded(.up)) } ?? -1
        let count = epoll_wait(descriptor, &buffer, Int32(buffer.count), limit)
        return buffer.prefix(Int(max(0, count))).compactMap { event in
            guard event.data.u64 != .max else { return nil }
            var readiness: MQTTReadiness = []
            if event.events & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 {
                readiness.insert(.readable)
            }
            if event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
            return (Int(event.data.u64), readiness)
        }
    }
}
