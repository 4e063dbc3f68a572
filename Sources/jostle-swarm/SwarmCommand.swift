internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore

/// The program `jostle-swarm`: many virtual boards in one process, to test a fleet.
enum SwarmCommand {
    private static let maximumDevices = 100_000

    static var command: Command { Command(usage: SwarmUsage.usage, run: run) }

    private static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let options = try options(arguments)
        let seconds = try arguments.seconds("for")
        let configuration = try Configuration.load(
            arguments, overrides: BrokerArgument.overrides(arguments, replacesCommandBroker: false),
            boardFile: .replaceable)
        let state = try RunState(arguments.value("state"), name: "swarm")
        defer { state.remove() }
        let format: SwarmView.Format =
            arguments.has("json") ? .json : Output.isTerminal ? .live : .events
        let swarm = try Swarm(options, configuration: configuration, version: version, stateDirectory: state.path)
        var run = SwarmRun(swarm, SwarmView(format, at: WallClock.monotonic))
        try run.run(for: seconds, signals)
    }

    private static func options(_ arguments: Arguments) throws -> SwarmOptions {
        guard let devices = try arguments.count("devices", within: 1...maximumDevices) else {
            throw Failure(.usage, "--devices is missing: the number of boards")
        }
        var options = SwarmOptions(devices: devices)
        options.idPrefix = arguments.value("id-prefix") ?? options.idPrefix
        try Failure.about("--id-prefix", .usage) { try SwarmNames.check(prefix: options.idPrefix, devices: devices) }
        try Failure.about("--groups", .usage) {
            if let text = arguments.value("groups") { options.groups = try SwarmNames.groups(text) }
        }
        options.connectRate = try arguments.number("connect-rate", within: 0.1...100_000) ?? options.connectRate
        options.eventsPerMinute = try arguments.number("events", within: 0...1_000_000) ?? 0
        options.deathsPerMinute = try arguments.number("deaths", within: 0...1_000_000) ?? 0
        options.deathPause = try arguments.seconds("death-pause") ?? options.deathPause
        try Failure.about("--defect", .usage) {
            for text in arguments.values("defect") { options.defects.append(try SwarmDefect(parsing: text)) }
        }
        options.workers = try arguments.count("workers", within: 1...64) ?? options.workers
        options.seed = UInt64(try arguments.count("seed", within: 0...Int.max) ?? Int(options.seed))
        options.isVerbose = arguments.has("verbose")
        return options
    }
}

/// A run of a swarm from its start to its end: orders from standard input, figures on standard output.
private struct SwarmRun {
    /// Seconds between looks at whether all boards are online for the first time.
    private static let lookPause = 0.05

    private let swarm: Swarm
    private var input = InputLines()
    private var view: SwarmView
    private var lineNumber = 0

    init(_ swarm: Swarm, _ view: SwarmView) {
        self.swarm = swarm
        self.view = view
    }

    /// Runs until a signal arrives, `quit` is ordered or `seconds` have elapsed. All boards leave cleanly in any case.
    ///
    /// - Throws: if a board cannot be started, or standard output cannot be written.
    mutating func run(for seconds: Double?, _ signals: SignalWaiter) throws {
        defer {
            Output.flush()
            for problem in swarm.stop() { SwarmRun.warn(problem) }
        }
        try swarm.run()
        try handleOrders(until: seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }, signals)
    }

    private mutating func handleOrders(until end: Timestamp?, _ signals: SignalWaiter) throws {
        while true {
            let now = WallClock.monotonic
            if let end, now >= end { return }
            swarm.advance(at: now)
            for line in input.take() {
                if signals.wait(seconds: 0) || end.map({ WallClock.monotonic >= $0 }) ?? false { return }
                guard try carryOut(line) else { return }
            }
            if let failure = swarm.failure { throw failure }
            try view.show(swarm, at: now)
            var next = min(view.nextDeadline, end ?? view.nextDeadline)
            next = min(next, swarm.nextDeadline ?? next)
            if !view.wereAllOnline { next = min(next, now.advanced(bySeconds: SwarmRun.lookPause)) }
            let seconds = next.remaining(at: WallClock.monotonic)
            if signals.next(within: seconds, orReadable: input.descriptors) != nil { return }
        }
    }

    private static func warn(_ text: String) { Output.errors(["\(SwarmUsage.usage.program): \(text)"]) }

    /// Carries out the order in a line. A wrong one is reported and changes nothing.
    ///
    /// - Returns: whether the run continues.
    private mutating func carryOut(_ line: String) throws -> Bool {
        lineNumber += 1
        let order: SwarmOrder
        let boards: [String]
        do {
            guard let parsed = try SwarmOrder(parsing: line) else { return true }
            order = parsed
            boards = try swarm.carryOut(order)
        } catch {
            SwarmRun.warn("standard input, line \(lineNumber): \(error)")
            return true
        }
        switch order {
        case .quit: return false
        case .status: try view.status(swarm)
        case .fault, .duplicate, .slowDisk: try view.carriedOut(order, boards)
        }
        return true
    }
}

/// Shows the figures of a swarm: a live line on a terminal, a line of JSON every second, or only what happens.
private struct SwarmView {
    /// Where the figures go.
    enum Format {
        case live
        case json
        case events
    }

    /// Seconds between figures.
    private static let period = 1.0
    /// The most ids that a line for people lists.
    private static let listedBoards = 20

    private let format: Format
    private var next: Timestamp
    private var last: (time: Double, sent: Int, received: Int)?

    init(_ format: Format, at now: Timestamp) {
        self.format = format
        next = now
    }

    /// When figures are due.
    var nextDeadline: Timestamp { next }

    /// Whether all boards were online once.
    private(set) var wereAllOnline = false

    /// Shows what is due.
    ///
    /// - Throws: status 73 if standard output cannot be written.
    mutating func show(_ swarm: Swarm, at now: Timestamp) throws {
        guard now >= next || !wereAllOnline else { return }
        let statistics = swarm.statistics()
        if let time = statistics.onlineAfter, !wereAllOnline {
            wereAllOnline = true
            if format != .json {
                try line("all \(statistics.boards) boards are online after \(formatted(time, "%.1f")) s")
            }
        }
        guard now >= next else { return }
        next = max(next.advanced(bySeconds: SwarmView.period), now.advanced(bySeconds: SwarmView.period / 2))
        switch format {
        case .json: try json(statistics.json(details: false))
        case .live: showLive(statistics)
        case .events: break
        }
    }

    private mutating func showLive(_ statistics: SwarmStatistics) {
        let seconds = max(1e-3, statistics.uptime - (last?.time ?? 0))
        let sent = Double(statistics.sent - (last?.sent ?? 0)) / seconds
        let received = Double(statistics.received - (last?.received ?? 0)) / seconds
        last = (statistics.uptime, statistics.sent, statistics.received)
        Output.live(
            "online \(statistics.online) of \(statistics.boards)   reported \(statistics.reported)   "
                + "deaths \(statistics.deaths)   messages/s: out \(formatted(sent, "%.0f")), "
                + "in \(formatted(received, "%.0f"))")
    }

    /// Writes the figures with all details.
    func status(_ swarm: Swarm) throws {
        try json(swarm.statistics().json(details: true))
    }

    /// Writes which boards an order concerned.
    func carriedOut(_ order: SwarmOrder, _ boards: [String]) throws {
        if format == .json {
            var object = JSONObject()
            object.add("order", order.name)
            object.add("boards", boards)
            return try json(object)
        }
        let listed = boards.prefix(SwarmView.listedBoards).joined(separator: ", ")
        let rest = boards.count > SwarmView.listedBoards ? " and \(boards.count - SwarmView.listedBoards) more" : ""
        try line(boards.isEmpty ? order.name : "\(order.name): \(listed)\(rest)")
    }

    private func line(_ text: String) throws {
        if !Output.writes(line: text) { throw Output.failure() }
    }

    private func json(_ object: JSONObject) throws {
        if !Output.writes(json: object.description) { throw Output.failure() }
    }
}

extension SwarmOrder {
    /// The order's word.
    fileprivate var name: String {
        switch self {
        case .fault(let fault, _): fault.rawValue
        case .duplicate: "duplicate"
        case .slowDisk(let seconds): "slow-disk \(formatted(seconds, "%g"))"
        case .status: "status"
        case .quit: "quit"
        }
    }
}

/// Standard input, line by line and without waiting: poll(2), read(2).
///
/// A part of it is read only after the lines before are carried out, so that a writer that is faster than the swarm waits.
private struct InputLines {
    /// A longer line is cut off here, which makes it a wrong one.
    private static let longestLine = 4096

    private var rest: [UInt8] = []
    private var hasEnded = false

    /// What is readable when there is more; nothing at the end, and while this program runs in the background of the
    /// terminal: one that reads it then is stopped (SIGTTIN).
    var descriptors: [Int32] {
        let isInBackground = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) != getpgrp()
        return hasEnded || isInBackground ? [] : [STDIN_FILENO]
    }

    /// Takes the lines that have arrived.
    mutating func take() -> [String] {
        var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard !descriptors.isEmpty, poll(&entry, 1, 0) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        hasEnded = count <= 0
        rest += buffer.prefix(max(0, count))
        var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        rest = Array(lines.removeLast().prefix(InputLines.longestLine))
        if hasEnded, !rest.isEmpty { lines.append(rest) }
        return lines.map { String(decoding: $0.prefix(InputLines.longestLine), as: UTF8.self) }
    }
}
