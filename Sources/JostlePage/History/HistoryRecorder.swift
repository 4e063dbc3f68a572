internal import Documents
internal import JostleOperator
internal import MotionCore

/// Decides what of the messages of boards goes into the history.
///
/// A value without a clock or a disk. It never looks at attitudes and motions, which are most of the messages.
struct HistoryRecorder {
    /// What a board says of itself, as the history has it.
    private struct Condition: Equatable {
        var isOnline: Bool?
        var isMoving: Bool?
        var isVibrating: Bool?
        var isStopped: Bool
        var isSimulated: Bool
        var side: String?
        var problems: [String]

        init(_ board: FleetBoard) {
            isOnline = board.isOnline
            isMoving = board.state?.isMoving
            isVibrating = board.state?.isVibrating
            isStopped = board.isStopped
            isSimulated = board.state?.isSimulated ?? false
            side = board.state?.side
            problems = board.health?.problems ?? []
        }

        /// `isFound`: it was like that before, since when is not known.
        func content(isFound: Bool) -> [UInt8] {
            var object = JSONObject()
            object.add("online", isOnline)
            object.add("moving", isMoving)
            object.add("vibrating", isVibrating)
            object.add("side", side)
            if isStopped { object.add("stopped", true) }
            if isSimulated { object.add("simulated", true) }
            if !problems.isEmpty { object.add("problems", problems) }
            if isFound { object.add("found", true) }
            return object.bytes
        }
    }

    /// The levels of a board at one time: vibration in mm/s², tilt in degrees.
    private struct Level: Equatable {
        var vibration: Int64?
        var tilt: Int64?

        var text: String { [vibration, tilt].map { $0.map { "\($0)" } ?? "null" }.joined(separator: ",") }
    }

    private struct Board {
        var condition: Condition?
        /// When that was last recorded, milliseconds since 1970.
        var recorded: Int64 = 0
        /// The strongest vibration since the last level, m/s².
        var strongest: Double?
        var level: Level?
        /// The levels that are not in a row yet: when the first and the last of them were, and their text.
        var levels: (start: Int64, last: Int64, count: Int, text: String)?
        var budget = TokenBucket(capacity: HistoryRecorder.burst, rate: 1)
    }

    /// A board that says too much must not displace the history of the others: so many rows at once, then one a second.
    private static let burst = 1000.0
    /// Milliseconds after which what is known of a board is recorded again, so that a reader finds it without a long search;
    /// and the length of a row of levels.
    static let periods = (condition: Int64(86_400_000), levels: Int64(3_600_000))
    /// The earliest time of a board's clock that can be right: 2020.
    private static let earliestTime: Int64 = 1_577_836_800_000

    private var boards: [String: Board] = [:]

    /// Takes what a message changed of a board; returns the rows about it. `milliseconds`: when it arrived, since 1970.
    mutating func take(
        _ change: FleetModel.Change, of device: FleetBoard, _ payload: [UInt8], isRetained: Bool, at now: Timestamp,
        milliseconds: Int64
    ) -> [HistoryRow] {
        switch change {
        case .event(let event):
            // The phases between its beginning and its end say nothing that the end does not say.
            guard !isRetained, event.phase != GesturePhase.changed.word, payload.count <= HistoryRow.largestContent,
                boards[device.id, default: Board()].budget.spend(at: now)
            else { return [] }
            // An event that comes late belongs where it happened.
            let time = event.time.flatMap {
                (HistoryRecorder.earliestTime...milliseconds + 60_000).contains($0) ? $0 : nil
            }
            return [
                HistoryRow(
                    board: device.id, time: time ?? milliseconds, kind: .gesture, id: event.id, content: payload)
            ]
        case .availability, .state, .health:
            if case .state = change, let vibration = device.state?.vibration {
                boards[device.id, default: Board()].strongest = max(boards[device.id]?.strongest ?? 0, vibration)
            }
            let condition = Condition(device)
            guard boards[device.id]?.condition != condition else { return [] }
            guard boards[device.id, default: Board()].budget.spend(at: now) else { return [] }
            return [record(condition, of: device.id, isFound: isRetained, milliseconds: milliseconds)]
        default: return []
        }
    }

    private mutating func record(
        _ condition: Condition, of id: String, isFound: Bool, milliseconds: Int64
    ) -> HistoryRow {
        boards[id, default: Board()].condition = condition
        boards[id]?.recorded = milliseconds
        return HistoryRow(
            board: id, time: milliseconds, kind: .board, content: condition.content(isFound: isFound))
    }

    // MARK: Levels

    /// A minute has passed: takes the levels of all boards, and returns the rows that are complete.
    mutating func minute(_ devices: [String: FleetBoard], milliseconds: Int64) -> [HistoryRow] {
        var rows: [HistoryRow] = []
        for (id, var board) in boards {
            guard let condition = board.condition, let device = devices[id] else { continue }
            takeLevel(&board, device, milliseconds: milliseconds)
            if let levels = board.levels, milliseconds - levels.start >= HistoryRecorder.periods.levels {
                rows.append(HistoryRecorder.row(levels, of: id))
                board.levels = nil
            }
            boards[id] = board
            if milliseconds - board.recorded >= HistoryRecorder.periods.condition {
                rows.append(record(condition, of: id, isFound: true, milliseconds: milliseconds))
            }
        }
        return rows
    }

    private func takeLevel(_ board: inout Board, _ device: FleetBoard, milliseconds: Int64) {
        let strongest = board.strongest
        board.strongest = nil
        guard device.isOnline == true, !device.isStopped, let state = device.state else {
            board.level = nil
            return
        }
        let vibration = state.vibration.map { max($0, strongest ?? 0) }
        let level = Level(
            vibration: vibration.flatMap { Int64(exactly: (1000 * $0).rounded()) },
            tilt: state.tilt.flatMap { Int64(exactly: $0.rounded()) })
        // It holds until the next one.
        guard level != board.level, level != Level() else { return }
        board.level = level
        guard let levels = board.levels else {
            board.levels = (milliseconds, milliseconds, 1, level.text)
            return
        }
        let minutes = max(0, (milliseconds - levels.last + 30_000) / 60_000)
        board.levels = (
            levels.start, levels.last + 60_000 * minutes, levels.count + 1, "\(levels.text),\(minutes),\(level.text)"
        )
    }

    private static func row(
        _ levels: (start: Int64, last: Int64, count: Int, text: String), of id: String
    ) -> HistoryRow {
        HistoryRow(board: id, time: levels.start, kind: .levels, content: Array("[\(levels.text)]".utf8))
    }

    /// The levels of a board that are in no row yet.
    func openLevels(of id: String) -> HistoryRow? {
        boards[id]?.levels.map { HistoryRecorder.row($0, of: id) }
    }

    /// Returns the levels of all boards that are in no row yet: nothing comes after them.
    mutating func takeLevels() -> [HistoryRow] {
        defer { for id in boards.keys { boards[id]?.levels = nil } }
        return boards.keys.compactMap { openLevels(of: $0) }
    }

    /// A board is not known any more. Returns its levels.
    mutating func forget(_ id: String) -> [HistoryRow] {
        defer { boards[id] = nil }
        return openLevels(of: id).map { [$0] } ?? []
    }
}
