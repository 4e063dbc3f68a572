internal import Documents
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import MotionCore

/// For how long each machine has run today: the time for which its board says that it vibrates.
///
/// A value without a clock. Durations are differences of the monotonic clock, so that a step of the wall clock changes
/// none; the wall clock only says when the day began.
struct RunningHours {
    /// The most boards that are kept.
    static let maximumBoards = FleetModel.maximumWatched

    /// The longest interruption of the server or its connection, s, in which a machine is taken to run on if it ran before and after.
    static let longestInterruption = 3600.0

    /// Before 2020, no clock of a board was right.
    private static let earliestTime: Int64 = 1_577_836_800_000

    /// A time in which a machine runs.
    struct Run: Equatable {
        var start: Timestamp
        /// The last word of its board.
        var heard: Timestamp
        /// Whether this server started or was disconnected since, and the board has not said anything again.
        var isInterrupted = false
    }

    struct Board: Equatable {
        /// Seconds today, without the present run.
        var seconds = 0.0
        var run: Run?
        /// Since when the board says that it vibrates; `nil` if it does not. Whether it is online may be unknown.
        var word: Timestamp?

        fileprivate var isEmpty: Bool { seconds == 0 && run == nil && word == nil }
    }

    /// What a page shows.
    struct Today: Equatable {
        var seconds: Double
        /// Since when the machine runs, perhaps since an earlier day; `nil` if it does not.
        var since: Timestamp?
    }

    /// The day for which it counts.
    private(set) var date: String
    /// When that day began.
    private var midnight: Timestamp
    private(set) var boards: [String: Board]

    init(_ day: LocalDay, at now: Timestamp, milliseconds: Int64) {
        date = day.date
        midnight = RunningHours.instant(of: day.midnight, at: now, milliseconds: milliseconds)
        boards = [:]
    }

    /// The monotonic time of an instant in milliseconds since 1970.
    static func instant(of time: Int64, at now: Timestamp, milliseconds: Int64) -> Timestamp {
        now.advanced(bySeconds: Double(time - milliseconds) / 1000)
    }

    /// What a board has run today.
    func today(_ id: String, at now: Timestamp) -> Today {
        guard let board = boards[id] else { return Today(seconds: 0) }
        guard let run = board.run else { return Today(seconds: board.seconds) }
        let seconds = board.seconds + seconds(of: run, until: run.isInterrupted ? run.heard : now)
        return Today(seconds: seconds, since: run.isInterrupted ? nil : run.start)
    }

    /// The seconds of a run that belong to today.
    private func seconds(of run: Run, until end: Timestamp) -> Double {
        max(0, end.seconds(since: max(run.start, midnight)))
    }

    // MARK: What boards say

    /// A board has published its state. `time` is the time of a retained state by the board's clock, which was perhaps
    /// published long ago; `nil` for a state that has just been published.
    mutating func state(
        _ id: String, isVibrating: Bool?, isOnline: Bool?, time: Int64?, at now: Timestamp, milliseconds: Int64
    ) {
        guard boards[id] != nil || isVibrating == true && boards.count < RunningHours.maximumBoards else { return }
        var board = boards[id] ?? Board()
        let instant = time.map { RunningHours.credible($0, at: now, milliseconds: milliseconds) } ?? now
        if isVibrating == true {
            if board.word == nil { board.word = instant }
        } else {
            board.word = nil
            // Without a word about vibration, what it said before was the last one.
            end(&board, at: isVibrating == false ? instant : board.run?.heard ?? now)
        }
        begin(&board, isOnline: isOnline, at: now)
        if time == nil { board.run?.heard = now }
        boards[id] = board.isEmpty ? nil : board
    }

    /// The broker says whether a board is online. If it is not, its machine has run until its last word.
    mutating func availability(_ id: String, isOnline: Bool, at now: Timestamp) {
        guard var board = boards[id] else { return }
        if !isOnline {
            board.word = nil
            if let run = board.run { end(&board, at: run.heard) }
        }
        begin(&board, isOnline: isOnline, at: now)
        boards[id] = board.isEmpty ? nil : board
    }

    /// A board has just published something.
    mutating func heard(_ id: String, at now: Timestamp) {
        if let run = boards[id]?.run, !run.isInterrupted { boards[id]?.run?.heard = max(run.heard, now) }
    }

    /// The connection to the broker has ended: what boards said last is known, and not what they say now.
    mutating func interrupt() {
        for (id, var board) in boards {
            board.word = nil
            board.run?.isInterrupted = true
            boards[id] = board.isEmpty ? nil : board
        }
    }

    /// The retained messages of a board were removed.
    mutating func forget(_ id: String) { boards[id] = nil }

    /// Takes the time; call it every second. Returns whether another day has begun.
    ///
    /// If the clock is set back to an earlier day, what was counted is kept: it was counted today by the right clock.
    mutating func advance(to day: LocalDay, at now: Timestamp, milliseconds: Int64) -> Bool {
        midnight = RunningHours.instant(of: day.midnight, at: now, milliseconds: milliseconds)
        defer { date = day.date }
        guard day.date > date else { return false }
        for (id, board) in boards {
            var board = board
            board.seconds = 0
            // A board that has not been heard again by the end of the day does not run.
            if board.run?.isInterrupted == true { board.run = nil }
            boards[id] = board.isEmpty ? nil : board
        }
        return true
    }

    /// The monotonic time of a board's time; the present for one that cannot be right.
    private static func credible(_ time: Int64, at now: Timestamp, milliseconds: Int64) -> Timestamp {
        guard (earliestTime...max(earliestTime, milliseconds)).contains(time) else { return now }
        return instant(of: time, at: now, milliseconds: milliseconds)
    }

    // MARK: Runs

    private func begin(_ board: inout Board, isOnline: Bool?, at now: Timestamp) {
        guard isOnline == true, let word = board.word else { return }
        guard let run = board.run else {
            board.run = Run(start: word, heard: now)
            return
        }
        guard run.isInterrupted else { return }
        if now.seconds(since: run.heard) <= RunningHours.longestInterruption {
            board.run = Run(start: run.start, heard: now)
        } else {
            end(&board, at: run.heard)
            board.run = Run(start: max(word, run.heard), heard: now)
        }
    }

    /// Adds a run from a file: one that may go on, or one that has ended.
    func add(_ run: Run, to board: inout Board, at now: Timestamp) {
        board.run = run
        if now.seconds(since: run.heard) > RunningHours.longestInterruption { end(&board, at: run.heard) }
    }

    /// Keeps a board from a file.
    mutating func keep(_ board: Board, of id: String) { boards[id] = board.isEmpty ? nil : board }

    private func end(_ board: inout Board, at time: Timestamp) {
        guard let run = board.run else { return }
        var end = max(time, run.heard)
        if run.isInterrupted, end.seconds(since: run.heard) > RunningHours.longestInterruption { end = run.heard }
        board.seconds += seconds(of: run, until: end)
        board.run = nil
    }
}

/// The file that lets a restart of the server forget nothing:
/// `{"schema":1,"date":"2026-11-25","boards":{"washer-1":{"seconds":5400,"since":…,"heard":…}}}`.
extension RunningHours {
    /// The largest file, bytes: more than the most boards with the longest ids need.
    static let maximumBytes = 1 << 20

    private static let limits = ReaderLimits(bytes: maximumBytes, depth: 4, nodes: 4 * maximumBoards + 10)

    /// The content of the file.
    func text(at now: Timestamp, milliseconds: Int64) -> String {
        var all = JSONObject()
        for (id, board) in boards.sorted(by: { $0.key < $1.key }) where board.seconds > 0 || board.run != nil {
            var object = JSONObject()
            object.add("seconds", board.seconds, decimals: 3)
            if let run = board.run {
                func time(_ instant: Timestamp) -> Int64 {
                    milliseconds + Int64((instant.seconds(since: now) * 1000).rounded())
                }
                object.add("since", time(run.start))
                object.add("heard", time(run.heard))
            }
            all.add(id, object)
        }
        var object = JSONObject()
        object.add("schema", Int64(1))
        object.add("date", date)
        object.add("boards", all)
        return object.description + "\n"
    }

    /// Reads the content of the file. What was counted on another day does not count today, but a machine that ran at its
    /// end may run still.
    ///
    /// - Throws: the first problem.
    init(
        reading text: String, name: String, _ day: LocalDay, at now: Timestamp, milliseconds: Int64
    ) throws {
        let tree = try JSONReader.read(Array(text.utf8), source: .file(name), limits: RunningHours.limits)
        func problem(_ path: String, _ node: JSONValue?, _ reason: String) -> DocumentProblem {
            DocumentProblem(at: node?.position ?? tree.position, path: path, found: node?.text, reason)
        }
        guard tree["schema"] == 1 else {
            throw problem("schema", tree["schema"], "is not 1")
        }
        guard let date = tree["date"]?.string else {
            throw problem("date", tree["date"], "is no date")
        }
        guard let entries = tree["boards"]?.members, entries.count <= RunningHours.maximumBoards else {
            throw problem("boards", tree["boards"], "are no boards, or too many")
        }
        self.init(day, at: now, milliseconds: milliseconds)
        for entry in entries {
            func number(_ name: String) throws -> Double? {
                guard let node = entry.value[name] else { return nil }
                // Up to the year 10000.
                guard let number = node.number, (0...253_402_300_800_000).contains(number) else {
                    throw problem("boards.\(entry.name).\(name)", node, "is no number that can be")
                }
                return number
            }
            guard JostleSettings.Device.isID(entry.name) else { throw problem("boards", entry.value, "has no id") }
            var board = Board()
            if date == day.date { board.seconds = min(try number("seconds") ?? 0, 90_000) }
            if let since = try number("since"), let heard = try number("heard") {
                func instant(_ time: Double) -> Timestamp {
                    RunningHours.instant(of: min(Int64(time), milliseconds), at: now, milliseconds: milliseconds)
                }
                let run = Run(start: min(instant(since), instant(heard)), heard: instant(heard), isInterrupted: true)
                add(run, to: &board, at: now)
            }
            keep(board, of: entry.name)
        }
    }
}
