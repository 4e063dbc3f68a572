internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

/// The file that lets a restart of the server forget nothing:
/// `{"schema":1,"date":"2026-11-25","boards":{"washer-1":{"seconds":5400,"since":…,"heard":…}}}`.
extension RunningHours {
    /// The largest file, bytes: more than the most boards with the longest ids need.
    static let maximumBytes = 1 << 20

    private static let limits: ReaderLimits = {
        var limits = ReaderLimits()
        limits.bytes = maximumBytes
        limits.depth = 4
        limits.nodes = 4 * maximumBoards + 10
        limits.keys = limits.nodes
        return limits
    }()

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
    ) throws(ConfigurationProblem) {
        let tree = try JSONReader.read(Array(text.utf8), source: .file(name), limits: RunningHours.limits)
        func problem(_ path: String, _ node: ConfigurationNode?, _ reason: String) -> ConfigurationProblem {
            ConfigurationProblem(at: node?.position ?? tree.position, path: path, found: node?.text, reason)
        }
        guard tree["schema"]?.value == .scalar("1", .plain) else {
            throw problem("schema", tree["schema"], "is not 1")
        }
        guard case .scalar(let date, .quoted)? = tree["date"]?.value else {
            throw problem("date", tree["date"], "is no date")
        }
        guard case .mapping(let entries)? = tree["boards"]?.value, entries.count <= RunningHours.maximumBoards else {
            throw problem("boards", tree["boards"], "are no boards, or too many")
        }
        self.init(day, at: now, milliseconds: milliseconds)
        for entry in entries {
            func number(_ name: String) throws(ConfigurationProblem) -> Double? {
                guard let node = entry.node[name] else { return nil }
                // Up to the year 10000.
                guard case .scalar(let text, .plain) = node.value, let number = Double(text),
                    (0...253_402_300_800_000).contains(number)
                else { throw problem("boards.\(entry.key).\(name)", node, "is no number that can be") }
                return number
            }
            guard JostleSettings.Device.isID(entry.key) else { throw problem("boards", entry.node, "has no id") }
            var board = Board()
            if date == day.date { board.seconds = min(try number("seconds") ?? 0, 90_000) }
            if let since = try number("since"), let heard = try number("heard") {
                func instant(_ time: Double) -> Timestamp {
                    RunningHours.instant(of: min(Int64(time), milliseconds), at: now, milliseconds: milliseconds)
                }
                let run = Run(start: min(instant(since), instant(heard)), heard: instant(heard), isInterrupted: true)
                add(run, to: &board, at: now)
            }
            keep(board, of: entry.key)
        }
    }
}
