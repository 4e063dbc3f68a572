internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

/// The loop of a worker's thread: serves the boards whose socket is ready or whose deadline has passed.
final class SwarmLoop {
    private let worker: SwarmWorker
    private let surroundings: SwarmBoard.Surroundings
    private let poller: SwarmPoller
    /// The numbers of this worker's boards in the swarm are `first`, `first + step`, …
    private let first: Int
    private let step: Int
    private var slots: [SwarmSlot] = []
    private var deadlines = DeadlineHeap()
    private var failure: AgentError?
    /// The boards that a command restarts in the next round.
    private var restarting: Set<Int> = []
    private var isEnding = false
    /// The boards of an ending worker that have not left yet.
    private var remaining = 0

    init(
        _ worker: SwarmWorker, _ poller: SwarmPoller, _ surroundings: SwarmBoard.Surroundings, first: Int, step: Int
    ) {
        self.worker = worker
        self.poller = poller
        self.surroundings = surroundings
        self.first = first
        self.step = step
    }

    func run() {
        while true {
            let now = ClockReading.now()
            for request in worker.takeRequests() { handle(request, at: now) }
            // Only now: the replies to the command and to those before it are on their way.
            for index in restarting {
                if case .running = slots[index].state { restart(index, at: now) }
            }
            restarting = []
            serveDue(at: now)
            worker.report(surroundings.tally.counts, failure)
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
        var rest = slots.count
        while rest > 0, let (deadline, index) = deadlines.first, deadline <= now.monotonic {
            rest -= 1
            serve(index, [], at: now)
        }
    }

    private func serve(_ index: Int, _ readiness: MQTTReadiness, at now: ClockReading) {
        switch slots[index].state {
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
        if board.isKilled, case .running = slots[index].state {
            return carryOut(.die, index, pause: surroundings.deathPause, at: now)
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
        let writer = surroundings.storage.writer(of: number(of: index))
        if slots[index].mustAwaitWrites(in: writer, at: now.monotonic) {
            return wait(index, until: now.monotonic.advanced(bySeconds: SwarmSlot.pause))
        }
        let place = slots[index].place
        let worker = self.worker
        if slots[index].losesStore {
            slots[index].losesStore = false
            slots[index].state = .losingStore(startsAgain: true)
            deadlines.set(nil, of: index)
            writer.perform {
                FileContents.removeDirectory(place.directory)
                worker.post(.storeIsLost(board: index))
            }
            return
        }
        slots[index].run += 1
        let run = slots[index].run
        do throws(AgentError) {
            let board = try SwarmBoard(
                place, number: number(of: index), isSensorDead: slots[index].isSensorDead, surroundings, at: now
            ) { worker.post(.event(board: index, run: run, $0)) }
            slots[index].state = .running(board)
            surroundings.tally.counts.starts += 1
            surroundings.tally.counts.running += 1
            board.start(at: now)
            advance(board, index, [], at: now)
        } catch {
            failure = error
            slots[index].state = .stopped
            deadlines.set(nil, of: index)
        }
    }

    private func wait(_ index: Int, until time: Timestamp) {
        slots[index].state = .waiting(until: time)
        deadlines.set(time, of: index)
    }

    private func leave(_ board: SwarmBoard, _ index: Int, startsAgain: Bool, at now: ClockReading) {
        board.leave(at: now)
        slots[index].state = .leaving(board, startsAgain: startsAgain)
    }

    private func left(_ board: SwarmBoard, _ index: Int, startsAgain: Bool, at now: ClockReading) {
        ended(board, index)
        if isEnding { remaining -= 1 }
        if startsAgain, !isEnding {
            wait(index, until: now.monotonic.advanced(bySeconds: SwarmSlot.pause))
        } else {
            slots[index].state = .stopped
        }
    }

    /// A board's run is over.
    private func ended(_ board: SwarmBoard, _ index: Int) {
        board.end()
        surroundings.tally.counts.running -= 1
        poller.set(nil, of: index)
        deadlines.set(nil, of: index)
    }

    private func number(of index: Int) -> Int { first + index * step }

    // MARK: Requests

    private func handle(_ request: SwarmWorker.Request, at now: ClockReading) {
        switch request {
        case .add(let place, let time):
            slots.append(SwarmSlot(place: place, state: .stopped))
            wait(slots.count - 1, until: time)
        case .fault(let fault, let index, let pause): carryOut(fault, index, pause: pause, at: now)
        case .shake(let index, let strength, let axis):
            withBoard(index, at: now) { $0.shake(strength: strength, axis: axis, at: now) }
        case .event(let index, let run, let event):
            guard run == slots[index].run else { return }
            withBoard(index, at: now) { $0.handle(event, at: now) }
        case .storeIsLost(let index):
            surroundings.tally.counts.lostStores += 1
            guard case .losingStore(let startsAgain) = slots[index].state else { return }
            slots[index].state = .stopped
            if startsAgain { wait(index, until: now.monotonic) }
        case .end: end(at: now)
        }
    }

    /// Does something with a board, if there is one, and then waits for what it waits for.
    private func withBoard(_ index: Int, at now: ClockReading, _ body: (SwarmBoard) -> Void) {
        guard let board = slots[index].board else { return }
        body(board)
        arm(board, index, at: now)
    }

    private func carryOut(_ fault: SwarmOrder.Fault, _ index: Int, pause: Double, at now: ClockReading) {
        switch fault {
        case .die:
            if let board = slots[index].board { ended(board, index) }
            if case .losingStore = slots[index].state { return }
            surroundings.tally.counts.deaths += 1
            wait(index, until: now.monotonic.advanced(bySeconds: pause))
        case .loseStore:
            slots[index].losesStore = true
            restart(index, at: now)
        case .stop: stop(index, at: now)
        case .start: restartIfStopped(index, at: now)
        case .killSensor:
            slots[index].isSensorDead = true
            withBoard(index, at: now) { $0.sensor.die(at: now.monotonic) }
        }
    }

    private func restart(_ index: Int, at now: ClockReading) {
        switch slots[index].state {
        case .running(let board):
            leave(board, index, startsAgain: true, at: now)
            arm(board, index, at: now)
        case .leaving(let board, _): slots[index].state = .leaving(board, startsAgain: true)
        case .stopped: wait(index, until: now.monotonic)
        case .losingStore: slots[index].state = .losingStore(startsAgain: true)
        case .waiting: break
        }
    }

    private func restartIfStopped(_ index: Int, at now: ClockReading) {
        if case .running = slots[index].state { return }
        restart(index, at: now)
    }

    private func stop(_ index: Int, at now: ClockReading) {
        switch slots[index].state {
        case .running(let board):
            leave(board, index, startsAgain: false, at: now)
            arm(board, index, at: now)
        case .leaving(let board, _): slots[index].state = .leaving(board, startsAgain: false)
        case .losingStore: slots[index].state = .losingStore(startsAgain: false)
        case .waiting, .stopped:
            slots[index].state = .stopped
            deadlines.set(nil, of: index)
        }
    }

    private func end(at now: ClockReading) {
        isEnding = true
        for index in slots.indices {
            stop(index, at: now)
            if slots[index].board != nil { remaining += 1 }
        }
    }
}
