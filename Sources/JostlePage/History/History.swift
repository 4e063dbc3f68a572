internal import HTTPServer
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import StateStorage

/// The history of all boards: what the server's thread gives to it and asks of it. Another thread waits for the disk.
final class History {
    /// Seconds between two writes; after a failed one it takes longer until the next.
    private static let periods = (write: 5.0, retry: 30.0, level: 60.0)
    /// The most bytes of rows that are not on the disk, and the most questions that wait for it.
    private static let limits = (bytes: 4_000_000, questions: 8)

    /// What the writer's thread has done since the server last looked.
    private struct Done: Sendable {
        var writes: [(rows: [HistoryRow], outcome: HistoryFile.Outcome)] = []
        var answers: [(number: Int, bytes: [UInt8], outcome: HistoryFile.Outcome)] = []
    }

    private let file: HistoryFile
    private let writer = StateWriter()
    private let done = Locked(Done())
    /// Signalled when there is something in `done`.
    private let wake: WakeSignal
    private let log: Log
    private var recorder = HistoryRecorder()
    /// Rows that are not on their way to the disk, and the bytes of all that are not on the disk.
    private var waiting: [HistoryRow] = []
    private var bytes = 0
    /// The answers that pages wait for, and how many questions the disk has not answered, of pages that went away too.
    private var answers: [Int: LateAnswer] = [:]
    private var asked = 0
    private var nextNumber = 0
    private var next = (write: 0.0, level: 0.0)
    /// Why it cannot be written; and when the first row was left out, milliseconds since 1970.
    private var failure: String?
    private var reported: String?
    private var lostSince: Int64?
    private var isRecording = false

    init(directory: String, _ settings: JostleSettings.Page.History, wake: WakeSignal, log: Log) {
        file = HistoryFile(
            directory: directory, maximumAge: settings.maximumAge, maximumBytes: settings.maximumBytes)
        self.wake = wake
        self.log = log
    }

    // MARK: What happens

    /// Takes what a message changed of a board.
    func take(
        _ change: FleetModel.Change, of device: FleetBoard?, _ payload: [UInt8], isRetained: Bool, at now: Timestamp,
        milliseconds: Int64
    ) {
        guard let device else { return }
        add(
            recorder.take(
                change, of: device, payload, isRetained: isRetained, at: now, milliseconds: milliseconds))
    }

    /// A board is not known any more.
    func forget(_ id: String) { add(recorder.forget(id)) }

    /// Whether there is a connection to the broker: without one, nobody knows what happens.
    func record(_ isRecording: Bool, at milliseconds: Int64) {
        guard isRecording != self.isRecording else { return }
        self.isRecording = isRecording
        add([History.recording(isRecording, at: milliseconds)])
    }

    private static func recording(_ isRecording: Bool, at milliseconds: Int64) -> HistoryRow {
        HistoryRow(
            board: HistoryRow.allBoards, time: milliseconds, kind: .recording, content: Array("\(isRecording)".utf8))
    }

    /// Deletes all that is kept of a board.
    func erase(_ id: String, at milliseconds: Int64) {
        _ = recorder.forget(id)
        // After the rows before it, also if the disk is full meanwhile.
        add([HistoryRow(board: id, time: milliseconds, kind: .erasure, content: [])])
        write(at: milliseconds)
    }

    private func add(_ rows: [HistoryRow]) {
        for row in rows {
            guard bytes + row.size <= History.limits.bytes || row.kind == .erasure else {
                lostSince = lostSince ?? row.time
                continue
            }
            bytes += row.size
            waiting.append(row)
        }
    }

    /// Does what is due; call it about once a second.
    func advance(_ boards: [String: FleetBoard], at now: Double, milliseconds: Int64) {
        if now >= next.level {
            next.level = now + History.periods.level
            add(recorder.minute(boards, milliseconds: milliseconds))
        }
        if now >= next.write {
            next.write = now + (failure == nil ? History.periods.write : History.periods.retry)
            report(stall ?? failure)
            write(at: milliseconds)
        }
    }

    // MARK: The disk

    private func write(at milliseconds: Int64) {
        guard !waiting.isEmpty else { return }
        let rows = waiting
        waiting = []
        writer.perform { [file, done, wake] in
            let outcome = file.write(rows, at: milliseconds)
            done.withLock { $0.writes.append((rows, outcome)) }
            wake.signal()
        }
    }

    /// Takes what the other thread has done.
    func deliver(at milliseconds: Int64) {
        let done = self.done.withLock { done in
            defer { done = Done() }
            return done
        }
        for (rows, outcome) in done.writes {
            if let notice = outcome.notice { log.warning(notice) }
            if outcome.failure == nil {
                bytes -= rows.reduce(0) { $0 + $1.size }
                if let start = lostSince {
                    lostSince = nil
                    add([History.recording(false, at: start), History.recording(isRecording, at: milliseconds)])
                }
            } else {
                waiting = rows + waiting
            }
            failure = outcome.failure
            report(failure)
        }
        for (number, bytes, outcome) in done.answers {
            if let notice = outcome.notice { log.warning(notice) }
            asked -= 1
            answers.removeValue(forKey: number)?.send(bytes)
        }
    }

    /// What keeps the other thread from its work. A long answer from a slow disk is no stall.
    private var stall: String? {
        let fault = writer.faults.first { $0.since.duration(to: .now) > .seconds(History.periods.write) }
        return fault.map { "\($0)" }
    }

    /// Logs once that the file cannot be written, and that it can again.
    private func report(_ failure: String?) {
        if let failure, reported == nil {
            log.warning("the history cannot be written: \(failure); what finds no room in memory meanwhile is lost")
        } else if failure == nil, reported != nil {
            log.info("the history can be written again")
        }
        reported = failure
    }

    /// Writes what is not on the disk, and waits for that, for two seconds at most.
    func finish(at milliseconds: Int64) {
        add(recorder.takeLevels())
        record(false, at: milliseconds)
        write(at: milliseconds)
        writer.perform { [file] in file.close() }
        if !writer.finish(within: 2) { log.warning("the history of the last seconds could not be written") }
    }

    // MARK: Questions

    /// The body with the rows of a board in a time, encoded on the other thread; the disk has time to answer.
    func ask(
        _ board: String, _ times: Range<Int64>, at milliseconds: Int64,
        encoding encode: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 }
    ) throws(PageRefusal) -> HTTPStream {
        guard asked < History.limits.questions else { throw .tooManyQuestions }
        asked += 1
        write(at: milliseconds)
        let more = recorder.openLevels(of: board).map { [$0] } ?? []
        let question = HistoryFile.Question(board: board, times: times, more: more, problem: reported)
        let number = nextNumber
        nextNumber += 1
        let answer = LateAnswer { [weak self] in self?.answers[number] = nil }
        answers[number] = answer
        writer.perform { [file, done, wake] in
            let (bytes, outcome) = file.answer(question, at: milliseconds)
            let encoded = encode(bytes)
            done.withLock { $0.answers.append((number, encoded, outcome)) }
            wake.signal()
        }
        return answer.makeStream()
    }
}
