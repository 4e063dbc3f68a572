internal import MosquittoClient
internal import MotionCore

/// Events, and the messages of actions, on their way to the broker: stored first, then sent, then forgotten when the broker
/// has acknowledged them.
///
/// What has an age limit is dropped if it could not be sent before: a lamp that toggles an hour late is worse than one that
/// does not. If the disk fails, or does not answer for a quarter of a second, messages leave from memory and are counted.
struct Outbox: Participant {
    typealias Token = OutboxToken

    /// What the loop is to do with the outbox's file.
    enum Request: Sendable {
        /// Write a batch, and report what came of it with `handle(_:at:)`.
        case write(OutboxBatch)
        /// Take the log into the file: no message waits for the disk.
        case checkpoint
        /// Something happened that belongs into a health report.
        case reportHealth
    }

    /// How it stands.
    struct Figures: Equatable, Sendable {
        var count = 0
        var bytes = 0
        var dropped: UInt64 = 0
        var expired: UInt64 = 0
        /// Messages that live in memory alone, and those that left from memory since the disk failed or stalled.
        var unstored = 0
        /// All messages that ever left from memory in this run.
        var sentUnstored: UInt64 = 0
        /// Why the file cannot be written; `nil` if it can.
        var failure: String?
    }

    /// Seconds for which the disk may take before messages leave from memory.
    static let patience = 0.25
    /// Seconds between two attempts to write after one failed.
    private static let retryPause = 2.0
    /// Seconds for which deletions are gathered before they alone are written: a card wears out by writes.
    private static let gathering = 0.25
    /// Seconds without an event after which the file's log is taken in: no message is likely to wait for the disk then.
    private static let quiet = 2.0
    /// Seconds between two looks at the clock, and at ages, while something waits.
    private static let upkeepInterval = 30.0
    /// Seconds until what the client had no room for is handed to it again.
    private static let sendPause = 0.2

    /// Where the file stands.
    private enum Writing {
        case idle
        /// A batch is on its way.
        case underWay(OutboxBatch, since: Timestamp)
        /// It failed, and is tried again.
        case failed(until: Timestamp)
    }

    private var queue: OutboxQueue
    private var gestures: OpenGestures
    private var writing = Writing.idle
    /// Whether the next batch has to contain everything.
    private var needsWhole = false
    /// Rows of a file that was opened late, whose messages got new ones.
    private var strayRows: [Int64] = []
    /// Why the disk is not waited for; `nil` if it is.
    private var failure: String?
    /// Messages that had left from memory when the file was last written.
    private var leftBeforeOutage: UInt64 = 0
    private let hasFile: Bool
    /// Messages that the client has at most: more would make telemetry wait.
    private let window: Int

    private var isConnected = false
    private let eventExpiry: Double?

    private var deletionsDue: Timestamp?
    private var upkeepDue: Timestamp?
    private var checkpointDue: Timestamp?
    private var sendDue: Timestamp?
    private var isCheckpointDue = false

    /// The totals that were logged, and those in the file.
    private var loggedTotals: (dropped: UInt64, expired: UInt64)
    private var storedTotals: (dropped: UInt64, expired: UInt64)?
    private var losses = TokenBucket.lines

    /// Gestures that were open when the last run was cut off.
    let interrupted: [OpenGesture]

    /// An outbox with what its file holds, or without a file (`nil`): then everything lives in memory alone.
    init(_ opened: Opened?, limits: OutboxLimits, eventExpiry: Double?, window: Int = 200) {
        self.window = window
        let content = opened?.content ?? OutboxStore.Content()
        queue = OutboxQueue(limits: limits, dropped: content.dropped, expired: content.expired)
        for (row, message) in content.messages { queue.restore(message, row: row) }
        gestures = OpenGestures(stored: content.gestures)
        interrupted = content.gestures
        hasFile = opened != nil
        failure = opened?.failure
        loggedTotals = (content.dropped, content.expired)
        storedTotals = loggedTotals
        self.eventExpiry = eventExpiry
        if opened?.isReplaced ?? false { beginWhole() }
    }

    /// What came of opening the file at the start.
    struct Opened: Sendable {
        var content = OutboxStore.Content()
        /// Whether the file was set aside: its content is in no file.
        var isReplaced = false
        var failure: String?
    }

    /// Messages that exist in memory alone.
    var inMemoryAlone: Int { hasFile ? queue.inMemoryAlone : queue.count }

    var figures: Figures {
        var figures = Figures(
            count: queue.count, bytes: queue.bytes, dropped: queue.dropped, expired: queue.expired, failure: failure)
        guard hasFile else { return figures }
        figures.sentUnstored = queue.leftFromMemory
        figures.unstored = queue.inMemoryAndUnsent + Int(clamping: queue.leftFromMemory - leftBeforeOutage)
        return figures
    }

    /// Whether everything that is to be written is written, and everything that can be sent is.
    var isSettled: Bool {
        if case .underWay = writing { return false }
        return !hasUrgentChanges && (!isConnected || queue.sent == queue.count)
    }

    // MARK: What comes in

    /// What is to be put into the outbox, together.
    enum Order: Sendable {
        case add(OutgoingMessage)
        /// A gesture began, or came to its end.
        case note(OpenGesture, isOpen: Bool)
    }

    /// Takes orders that belong together: they are written together.
    mutating func take(_ orders: [Order], at now: ClockReading) -> Effects {
        for order in orders {
            switch order {
            case .add(let message): queue.append(message)
            case .note(let gesture, let isOpen): gestures.note(gesture, isOpen: isOpen)
            }
        }
        return work(at: now, isQuiet: false)
    }

    /// So many messages were lost before they came here.
    mutating func countLost(_ count: Int, at now: ClockReading) -> Effects {
        queue.countDropped(count)
        return work(at: now, isQuiet: false)
    }

    mutating func start(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if let failure { effects.append(Outbox.storeFailed(failure)) }
        return effects + work(at: now, isQuiet: true)
    }

    mutating func handle(_ event: ParticipantEvent<OutboxToken>, at now: ClockReading) -> Effects {
        switch event {
        case .connected: isConnected = true
        case .disconnected(let undelivered):
            isConnected = false
            sendDue = nil
            queue.takeBack(undelivered, wereSent: true)
        case .acknowledged(let token): queue.acknowledge(token)
        case .rejected(let token, _, _): queue.giveUp(token)
        case .notSent(let tokens):
            queue.takeBack(tokens, wereSent: false)
            sendDue = now.monotonic.advanced(bySeconds: Outbox.sendPause)
            return []
        case .subscriptionAnswered, .message, .fileWritten: return []
        }
        return work(at: now, isQuiet: false)
    }

    var nextDeadline: Timestamp? {
        var deadlines = [upkeepDue, checkpointDue, sendDue]
        switch writing {
        case .idle: deadlines.append(deletionsDue)
        case .underWay(_, let since): if failure == nil { deadlines.append(since.advanced(bySeconds: Outbox.patience)) }
        case .failed(let until): deadlines.append(until)
        }
        return deadlines.compactMap { $0 }.min()
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        guard let due = nextDeadline, now.monotonic >= due else { return [] }
        return work(at: now, isQuiet: true)
    }

    /// Writes what is left, whatever is being gathered; for the end of a run.
    mutating func flush(at now: ClockReading) -> Effects {
        deletionsDue = now.monotonic
        if case .failed = writing { writing = .failed(until: now.monotonic) }
        return work(at: now, isQuiet: true)
    }

    // MARK: What is due

    private mutating func work(at now: ClockReading, isQuiet: Bool) -> Effects {
        queue.dropExpired(at: now)
        queue.correctTimes(now)
        var effects = noticeStall(at: now)
        effects += write(at: now.monotonic)
        effects += send(at: now)
        effects += reportLosses(at: now)
        upkeepDue = queue.count == 0 ? nil : now.monotonic.advanced(bySeconds: Outbox.upkeepInterval)
        effects += checkpoint(at: now.monotonic, isQuiet: isQuiet)
        return effects
    }

    private mutating func send(at now: ClockReading) -> Effects {
        guard isConnected else { return [] }
        if let sendDue, now.monotonic < sendDue { return [] }
        sendDue = nil
        var effects: Effects = []
        var room = window - queue.sent
        let eventExpiry = self.eventExpiry
        let waitsForDisk = hasFile && failure == nil
        queue.send { entry in
            room > 0 && !(waitsForDisk && entry.isInMemoryAlone)
        } _: { entry in
            effects.append(.publish(entry.message.message(at: now, eventExpiry: eventExpiry), entry.token))
            room -= 1
            return true
        }
        return effects
    }

    private mutating func reportLosses(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if queue.dropped > loggedTotals.dropped, losses.admit(at: now.monotonic) != nil {
            let count = queue.dropped - loggedTotals.dropped
            effects.append(
                .log(.warning, "\(count) messages were dropped: the outbox is full, or the broker refused them"))
        }
        if queue.expired > loggedTotals.expired, losses.admit(at: now.monotonic) != nil {
            let count = queue.expired - loggedTotals.expired
            effects.append(.log(.warning, "\(count) messages grew too old before they could be sent"))
        }
        loggedTotals = (queue.dropped, queue.expired)
        return effects
    }

    /// Takes the file's log in when it is long and nothing happens.
    private mutating func checkpoint(at now: Timestamp, isQuiet: Bool) -> Effects {
        guard isCheckpointDue, case .idle = writing else {
            checkpointDue = nil
            return []
        }
        guard isQuiet, let due = checkpointDue else {
            checkpointDue = now.advanced(bySeconds: Outbox.quiet)
            return []
        }
        guard now >= due else { return [] }
        checkpointDue = nil
        isCheckpointDue = false
        return [.request(.checkpoint)]
    }

    // MARK: The file

    private var hasUrgentChanges: Bool {
        queue.hasMessageToWrite || queue.hasTimeToCorrect || gestures.hasChanges || needsWhole
    }

    private mutating func write(at now: Timestamp) -> Effects {
        guard hasFile else { return [] }
        switch writing {
        case .underWay: return []
        case .failed(let until): if now < until { return [] }
        case .idle:
            // A file that could not be opened at the start is tried at once.
            guard hasUrgentChanges || failure != nil else {
                let hasOthers = queue.rowsToDelete > 0 || !strayRows.isEmpty || totalsToStore != nil
                guard hasOthers else {
                    deletionsDue = nil
                    return []
                }
                let due = deletionsDue ?? now.advanced(bySeconds: Outbox.gathering)
                deletionsDue = due
                if now < due { return [] }
                break
            }
        }
        deletionsDue = nil
        var batch = OutboxBatch(changes: queue.takeChanges(), isWhole: needsWhole, messagesInMemory: queue.count)
        batch.changes.gestures = gestures.takeChanges()
        batch.changes.removed += strayRows
        batch.changes.totals = totalsToStore
        writing = .underWay(batch, since: now)
        return [.request(.write(batch))]
    }

    /// The totals that the file does not have; after a failure always: what failed may have become needless, and then they
    /// alone show whether writing works again.
    private var totalsToStore: (dropped: UInt64, expired: UInt64)? {
        let totals = (queue.dropped, queue.expired)
        if failure == nil, let storedTotals, storedTotals == totals { return nil }
        return totals
    }

    /// Does not wait for the disk any longer if it did not answer in time.
    private mutating func noticeStall(at now: ClockReading) -> Effects {
        guard failure == nil, case .underWay(_, let since) = writing,
            now.monotonic >= since.advanced(bySeconds: Outbox.patience)
        else { return [] }
        let reason = "the disk does not answer"
        failure = reason
        return [Outbox.storeFailed(reason), .request(.reportHealth)]
    }

    /// What came of a batch.
    mutating func handle(_ outcome: OutboxFile.Outcome, at now: ClockReading) -> Effects {
        guard case .underWay(let batch, _) = writing else { return [] }
        var effects: Effects = []
        writing = .idle
        switch outcome {
        case .written(let isCheckpointDue):
            self.isCheckpointDue = isCheckpointDue
            queue.changesWereWritten(batch.changes)
            gestures.changesWereWritten()
            strayRows.removeAll { batch.changes.removed.contains($0) }
            storedTotals = batch.changes.totals ?? storedTotals
            if batch.isWhole { needsWhole = false }
            if failure != nil {
                failure = nil
                leftBeforeOutage = queue.leftFromMemory
                effects = [.log(.info, "the outbox is written again"), .request(.reportHealth)]
            }
        case .failed(let reason):
            queue.changesWereNotWritten(batch.changes)
            gestures.changesWereNotWritten()
            writing = .failed(until: now.monotonic.advanced(bySeconds: Outbox.retryPause))
            if failure == nil { effects = [Outbox.storeFailed(reason), .request(.reportHealth)] }
            failure = reason
        case .replaced(let setAside):
            beginWhole()
            if let setAside { effects = [.log(.error, setAside.description)] }
        case .opened(let content, let setAside):
            queue.changesWereNotWritten(batch.changes)
            gestures.changesWereNotWritten()
            takeOver(content, isInFile: setAside == nil)
            if setAside != nil { beginWhole() }
            if let setAside { effects.append(.log(.error, setAside.description)) }
            if content.unusable > 0 {
                effects.append(.log(.warning, "ignored \(content.unusable) invalid rows in the outbox"))
            }
        }
        return effects + work(at: now, isQuiet: false)
    }

    /// Has everything written once more: into a new file, or into one that had to be closed, of which nobody knows whether it
    /// is the same.
    private mutating func beginWhole() {
        queue.fileWasReplaced()
        gestures.fileWasReplaced()
        strayRows = []
        storedTotals = nil
        needsWhole = hasFile
    }

    /// Takes what a file holds that could not be opened before. It comes after what came since: nobody knew of it.
    private mutating func takeOver(_ content: OutboxStore.Content, isInFile: Bool) {
        for (row, message) in content.messages {
            if isInFile { strayRows.append(row) }
            queue.append(message)
        }
        gestures.add(stored: content.gestures)
    }

    // MARK: Words

    private static func storeFailed(_ reason: String) -> Effect<OutboxToken, Request> {
        .log(.error, "the outbox cannot be written: \(reason); until it can, a restart loses what is on its way")
    }
}
