internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore

/// A run of a swarm from its start to its end: orders from standard input, figures on standard output.
struct SwarmRun {
    /// Seconds between looks at whether all boards are online for the first time.
    private static let lookPause = 0.05

    private let swarm: Swarm
    private let input: InputLines
    private var view: SwarmView
    private var lineNumber = 0

    init(_ swarm: Swarm, _ input: InputLines, _ view: SwarmView) {
        self.swarm = swarm
        self.input = input
        self.view = view
    }

    /// Runs until a signal arrives, `quit` is ordered or `seconds` have elapsed. All boards leave cleanly in any case.
    ///
    /// - Throws: if a thread or a board cannot be started, or standard output cannot be written.
    mutating func run(for seconds: Double?, _ signals: SignalWaiter) throws(CommandFailure) {
        guard let reader = input.start() else { throw CommandFailure(SwarmError.resources) }
        defer { input.stop(reader) }
        let failure = failure(for: seconds, signals)
        view.endLiveLine()
        for problem in swarm.stop() { view.error(problem) }
        if let failure { throw failure }
    }

    /// Runs, and returns why the run ended early; `nil` if it ended as it should.
    private mutating func failure(for seconds: Double?, _ signals: SignalWaiter) -> CommandFailure? {
        do throws(SwarmError) {
            try swarm.run()
        } catch {
            return CommandFailure(error)
        }
        do throws(CommandFailure) {
            try handleOrders(until: seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }, signals)
            return nil
        } catch {
            return error
        }
    }

    private mutating func handleOrders(until end: Timestamp?, _ signals: SignalWaiter) throws(CommandFailure) {
        while true {
            let now = WallClock.monotonic
            if let end, now >= end { return }
            swarm.advance(at: now)
            for line in input.take() {
                if signals.wait(seconds: 0) || end.map({ WallClock.monotonic >= $0 }) ?? false { return }
                guard try carryOut(line) else { return }
            }
            if let failure = swarm.failure { throw CommandFailure(failure) }
            try view.show(swarm, at: now)
            var next = min(view.nextDeadline, end ?? view.nextDeadline)
            next = min(next, swarm.nextDeadline ?? next)
            if !view.wereAllOnline { next = min(next, now.advanced(bySeconds: SwarmRun.lookPause)) }
            if signals.wait(seconds: next.remaining(at: WallClock.monotonic), or: input.wake) { return }
        }
    }

    /// Carries out the order in a line. A wrong one is reported and changes nothing.
    ///
    /// - Returns: whether the run continues.
    private mutating func carryOut(_ line: String) throws(CommandFailure) -> Bool {
        lineNumber += 1
        let parsed: SwarmOrder?
        do throws(SwarmOrderError) {
            parsed = try SwarmOrder(parsing: line)
        } catch {
            view.error("standard input, line \(lineNumber): \(error)")
            return true
        }
        guard let parsed else { return true }
        switch parsed {
        case .quit: return false
        case .status: try view.status(swarm)
        case .fault, .duplicate, .slowDisk:
            let boards: [String]
            do throws(SwarmOrderError) {
                boards = try swarm.carryOut(parsed)
            } catch {
                view.error("standard input, line \(lineNumber): \(error)")
                return true
            }
            try view.carriedOut(parsed, boards)
        }
        return true
    }
}
