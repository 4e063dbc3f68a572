internal import JostleConfiguration
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// Delivers events and the messages of actions to the broker. A message is stored first, then sent, and deleted after
/// the broker has acknowledged it.
///
/// A message with an age limit is dropped if it could not be sent in time: a lamp that toggles an hour late is worse
/// than one that does not. A message that the broker refuses stays, and is sent again later, unless it can never be
/// accepted. If the disk fails, or does not respond for a quarter of a second, messages are sent from
/// memory and counted.
struct Outbox: Participant {
    static let owner = Owner.outbox

    /// What the loop does for the outbox.
    enum Request: Sendable {
        /// Write a batch, and report its outcome with `handle(_:at:)`.
        case write(OutboxBatch)
        /// Checkpoint the file's log. No message is waiting for the disk.
        case checkpoint
        /// End gestures that an earlier run had begun, according to a file that was opened late.
        case endInterrupted([OpenGesture])
        /// Something happened that a health report should mention.
        case reportHealth
    }

    /// The outbox's statistics.
    struct Statistics: Equatable, Sendable {
        var count = 0
        var bytes = 0
        var dropped: UInt64 = 0
        var expired: UInt64 = 0
        /// Unsent messages that exist in memory only, plus messages sent from memory since the disk failed or stalled.
        var unstored = 0
        /// All messages sent from memory in this run.
        var sentUnstored: UInt64 = 0
        /// Why the file cannot be written; `nil` if it can.
        var failure: String?
        /// The topics to which the broker refuses messages, one phrase each.
        var refusals: [String] = []
    }

    /// Seconds that a write may take before messages are sent from memory.
    static let diskTimeout = 0.25
    /// Seconds between attempts to write after a failure.
    private static let retryPause = 2.0
    /// Seconds for which deletions wait for the next event, to be written together with it, which halves the wear of a
    /// memory card. After a crash within this time, messages that the broker has acknowledged are sent again.
    static let deletionDelay = 2.0
    /// Seconds without an event before the log is checkpointed: then no message is likely to wait for the disk.
    private static let checkpointDelay = 2.0
    /// Seconds between updates of times and ages while messages are waiting.
    private static let upkeepInterval = 30.0
    /// Seconds until messages are sent again for which the client had no room.
    private static let sendPause = 0.2

    /// The state of the file.
    private enum Writing {
        case idle
        /// A batch is being written.
        case underWay(OutboxBatch, since: Timestamp)
        /// A write failed; the next attempt follows at `until`.
        case failed(until: Timestamp)
    }

    private var queue: OutboxQueue
    /// The gestures that have begun and not yet ended, and those whose rows in the file are not up to date.
    private var openGestures: Set<OpenGesture>
    private var changedGestures: Set<OpenGesture> = []
    private var writing = Writing.idle
    /// Whether the next batch must contain everything.
    private var needsCompleteBatch = false
    /// Why the outbox does not wait for the disk; `nil` if it does.
    private var failure: String?
    /// The number of messages sent from memory at the last successful write.
    private var sentBeforeOutage: UInt64 = 0
    /// The maximum number of messages that the client holds. More would delay telemetry.
    private let window: Int

    private var isConnected = false
    private var refusals = TopicRefusals()
    private var enders = ConnectionEnders()
    /// Whether a message waits for room at the client, or for the disk, and the ones after it with it.
    private var isSendingStopped = false
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
    private var refusalLines = TokenBucket.lines

    /// Gestures that were open when the last run was cut off.
    let interrupted: [OpenGesture]

    /// Creates an outbox with the contents of its file. The broker keeps an event for `eventExpiry` seconds; 0 is for
    /// ever.
    init(_ opened: OutboxFile.OpenResult, limits: JostleSettings.Outbox, eventExpiry: Double, window: Int = 200) {
        self.window = window
        let content = opened.content
        queue = OutboxQueue(limits: limits, dropped: content.dropped, expired: content.expired)
        for (row, message) in content.messages { queue.restore(message, row: row) }
        openGestures = Set(content.gestures)
        interrupted = content.gestures
        failure = opened.failure
        loggedTotals = (content.dropped, content.expired)
        storedTotals = loggedTotals
        self.eventExpiry = eventExpiry > 0 ? eventExpiry : nil
        if opened.setAside != nil { startCompleteRewrite() }
    }

    /// The number of messages that exist in memory only.
    var inMemoryOnly: Int { queue.inMemoryOnly }

    /// The number of messages sent from memory since the last successful write. Some may have come back unsent after it.
    private var sentSinceOutage: UInt64 { queue.sentFromMemory - min(queue.sentFromMemory, sentBeforeOutage) }

    var statistics: Statistics {
        Statistics(
            count: queue.count, bytes: queue.bytes, dropped: queue.dropped, expired: queue.expired,
            unstored: queue.inMemoryAndUnsent + Int(clamping: sentSinceOutage),
            sentUnstored: queue.sentFromMemory, failure: failure,
            refusals: refusals.reasons.map { Outbox.refusal(of: $0.topic, $0.failure) })
    }

    /// Whether every urgent change is written and, if connected, every message is sent.
    var isSettled: Bool {
        if case .underWay = writing { return false }
        guard !hasUrgentChanges else { return false }
        return !isConnected || queue.sent + (refusals.isEmpty ? 0 : queue.countWaiting(refusals.refuses)) == queue.count
    }

    // MARK: Input

    /// A change to the outbox.
    enum Update: Sendable {
        case add(OutgoingMessage)
        /// A gesture began or ended.
        case setGesture(OpenGesture, isOpen: Bool)
    }

    /// Applies updates that belong together. They are written in one batch.
    mutating func apply(_ updates: [Update], at now: ClockReading) -> Effects {
        for update in updates {
            switch update {
            case .add(let message): queue.append(message)
            case .setGesture(let gesture, let isOpen):
                if isOpen { openGestures.insert(gesture) } else { openGestures.remove(gesture) }
                changedGestures.insert(gesture)
            }
        }
        return update(at: now, isIdle: false)
    }

    /// Counts messages that were lost on their way to the outbox.
    mutating func countLost(_ count: Int, at now: ClockReading) -> Effects {
        queue.countDropped(count)
        return update(at: now, isIdle: false)
    }

    mutating func start(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if let failure { effects.append(Outbox.storeFailed(failure)) }
        return effects + update(at: now, isIdle: true)
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        var effects: Effects = []
        switch event {
        case .connected:
            isConnected = true
            refusals.connected(at: now.monotonic)
        case .disconnected(let undelivered, let failure):
            effects = disconnected(undelivered, failure, at: now.monotonic)
        case .acknowledged(let token):
            effects = acknowledged(token, at: now.monotonic)
        case .rejected(let token, let topic, let failure):
            effects = rejected(token, topic, failure, at: now.monotonic)
        case .notSent(let tokens):
            for token in tokens { refusals.endTry(token) }
            queue.requeue(tokens, wereSent: false)
            sendDue = now.monotonic.advanced(bySeconds: Outbox.sendPause)
            isSendingStopped = true
            return []
        case .subscriptionAnswered, .message, .fileWritten: return []
        }
        return effects + update(at: now, isIdle: false)
    }

    var nextDeadline: Timestamp? {
        let disk: Timestamp? =
            switch writing {
            case .idle: deletionsDue
            case .underWay(_, let since): failure == nil ? since.advanced(bySeconds: Outbox.diskTimeout) : nil
            case .failed(let until): until
            }
        return disk.earlier(upkeepDue).earlier(checkpointDue).earlier(sendDue)
            .earlier(isConnected && !isSendingStopped ? refusals.nextTry : nil)
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        guard let due = nextDeadline, now.monotonic >= due else { return [] }
        var effects: Effects = []
        if isStallDue(at: now.monotonic) { effects = noteFailure("the disk does not respond") }
        return effects + update(at: now, isIdle: true)
    }

    /// Writes what is left without collecting deletions. Call it at the end of a run.
    mutating func flush(at now: ClockReading) -> Effects {
        deletionsDue = now.monotonic
        if case .failed = writing { writing = .failed(until: now.monotonic) }
        return update(at: now, isIdle: true)
    }

    // MARK: Deadlines

    private mutating func update(at now: ClockReading, isIdle: Bool) -> Effects {
        queue.dropExpired(at: now)
        queue.correctTimes(now)
        var effects = write(at: now.monotonic)
        effects += send(at: now)
        effects += reportLosses(at: now)
        upkeepDue = queue.count == 0 ? nil : now.monotonic.advanced(bySeconds: Outbox.upkeepInterval)
        effects += checkpoint(at: now.monotonic, isIdle: isIdle)
        return effects
    }

    private mutating func send(at now: ClockReading) -> Effects {
        guard isConnected else { return [] }
        isSendingStopped = true
        if let sendDue, now.monotonic < sendDue { return [] }
        sendDue = nil
        var effects: Effects = []
        var room = min(window, enders.limit ?? window) - queue.sent
        let waitsForDisk = failure == nil
        var next = 0
        while let place = queue.nextWaiting(from: next) {
            let entry = queue[place]
            guard room > 0, !(waitsForDisk && entry.isInMemoryOnly) else { return effects }
            next = place + 1
            let topic = entry.message.topic
            guard !refusals.holds(topic) || refusals.tries(topic, with: entry.token, at: now.monotonic) else {
                continue
            }
            let message = entry.message.message(at: now, eventExpiry: eventExpiry, isOvertaken: entry.isOvertaken)
            effects.append(.publish(message, entry.token))
            queue.wasSent(place)
            room -= 1
        }
        isSendingStopped = false
        // Every topic has had its turn.
        if refusals.forgetUntried(at: now.monotonic) { effects.append(.request(.reportHealth)) }
        return effects
    }

    private mutating func reportLosses(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if queue.dropped > loggedTotals.dropped, losses.admit(at: now.monotonic) != nil {
            let count = queue.dropped - loggedTotals.dropped
            effects.append(
                .log(.warning, "dropped \(count) messages: the outbox is full, or the broker rejected them"))
        }
        if queue.expired > loggedTotals.expired, losses.admit(at: now.monotonic) != nil {
            let count = queue.expired - loggedTotals.expired
            effects.append(.log(.warning, "dropped \(count) messages that expired before they could be sent"))
        }
        loggedTotals = (queue.dropped, queue.expired)
        return effects
    }

    /// Requests a checkpoint if the log is long and the outbox is idle.
    private mutating func checkpoint(at now: Timestamp, isIdle: Bool) -> Effects {
        guard isCheckpointDue, case .idle = writing else {
            checkpointDue = nil
            return []
        }
        guard isIdle, let due = checkpointDue else {
            checkpointDue = now.advanced(bySeconds: Outbox.checkpointDelay)
            return []
        }
        guard now >= due else { return [] }
        checkpointDue = nil
        isCheckpointDue = false
        return [.request(.checkpoint)]
    }

    // MARK: The file

    private var hasUrgentChanges: Bool {
        queue.hasMessageToWrite || !changedGestures.isEmpty || needsCompleteBatch
    }

    private mutating func write(at now: Timestamp) -> Effects {
        switch writing {
        case .underWay: return []
        case .failed(let until): if now < until { return [] }
        case .idle:
            // If the file could not be opened at the start, the first write is attempted at once.
            guard hasUrgentChanges || failure != nil else {
                guard !queue.rowsToDelete.isEmpty || totalsToStore != nil else {
                    deletionsDue = nil
                    return []
                }
                let due = deletionsDue ?? now.advanced(bySeconds: Outbox.deletionDelay)
                deletionsDue = due
                if now < due { return [] }
                break
            }
        }
        deletionsDue = nil
        var batch = queue.takeChanges()
        batch.isComplete = needsCompleteBatch
        batch.messagesInMemory = queue.count
        batch.gestures = changedGestures.map { ($0, openGestures.contains($0)) }
        changedGestures = []
        batch.totals = totalsToStore
        writing = .underWay(batch, since: now)
        return [.request(.write(batch))]
    }

    /// The totals that the file does not have. After a failure always: the failed changes may no longer be needed, and
    /// then only the totals show whether writing works again.
    private var totalsToStore: (dropped: UInt64, expired: UInt64)? {
        let totals = (queue.dropped, queue.expired)
        if failure == nil, let storedTotals, storedTotals == totals { return nil }
        return totals
    }

    /// Whether the disk has not responded in time.
    func isStallDue(at now: Timestamp) -> Bool {
        guard failure == nil, case .underWay(_, let since) = writing else { return false }
        return now >= since.advanced(bySeconds: Outbox.diskTimeout)
    }

    /// Waits a little longer for the disk: the writer could not run, because the processor is busy.
    mutating func extendWait(at now: Timestamp) {
        guard case .underWay(let batch, _) = writing else { return }
        writing = .underWay(batch, since: now.advanced(bySeconds: -0.8 * Outbox.diskTimeout))
    }

    /// Stops waiting for the disk.
    private mutating func noteFailure(_ reason: String) -> Effects {
        defer { failure = reason }
        return failure == nil ? [Outbox.storeFailed(reason), .request(.reportHealth)] : []
    }

    /// Handles the outcome of a batch.
    mutating func handle(_ outcome: OutboxFile.Outcome, at now: ClockReading) -> Effects {
        guard case .underWay(let batch, _) = writing else { return [] }
        var effects: Effects = []
        writing = .idle
        switch outcome {
        case .written(let isCheckpointDue):
            self.isCheckpointDue = isCheckpointDue
            queue.changesWereWritten(batch)
            storedTotals = batch.totals ?? storedTotals
            if batch.isComplete { needsCompleteBatch = false }
            if failure != nil {
                failure = nil
                sentBeforeOutage = queue.sentFromMemory
                effects = [.log(.info, "the outbox can be written again"), .request(.reportHealth)]
            }
        case .failed(let reason):
            changesWereNotWritten(batch)
            writing = .failed(until: now.monotonic.advanced(bySeconds: Outbox.retryPause))
            effects = noteFailure(reason)
        case .replaced(let setAside):
            startCompleteRewrite()
            if let setAside { effects = [.log(.error, setAside)] }
        case .opened(let opened):
            changesWereNotWritten(batch)
            let interrupted = merge(opened.content, isInFile: opened.setAside == nil)
            if opened.setAside != nil { startCompleteRewrite() }
            opened.log { effects.append(.log($0, $1)) }
            if !interrupted.isEmpty { effects.append(.request(.endInterrupted(interrupted))) }
        }
        return effects + update(at: now, isIdle: false)
    }

    private mutating func changesWereNotWritten(_ batch: OutboxBatch) {
        queue.changesWereNotWritten(batch)
        changedGestures.formUnion(batch.gestures.map(\.gesture))
    }

    /// Makes the next batch contain everything. Used for a new file, and for one that had to be closed and may have
    /// been replaced since.
    private mutating func startCompleteRewrite() {
        queue.fileWasReplaced()
        changedGestures = openGestures
        storedTotals = nil
        needsCompleteBatch = true
    }

    /// Merges the contents of a file that could not be opened at the start. Its messages come after the newer ones,
    /// which may be on their way already.
    ///
    /// - Returns: the gestures that were open when an earlier run was cut off, and have not begun or ended since.
    private mutating func merge(_ content: OutboxContent, isInFile: Bool) -> [OpenGesture] {
        queue.merge(content, isInFile: isInFile)
        loggedTotals.dropped += content.dropped
        loggedTotals.expired += content.expired
        storedTotals = (content.dropped, content.expired)
        let added = content.gestures.filter { !openGestures.contains($0) && !changedGestures.contains($0) }
        openGestures.formUnion(added)
        return added
    }

    // MARK: Log texts

    private static func storeFailed(_ reason: String) -> Effect<Self> {
        .log(.error, "cannot write the outbox: \(reason); until this is fixed, a restart loses unsent events")
    }
}

// What the broker answers to a message: it accepts or refuses it, or ends the connection.
extension Outbox {
    /// The connection ended, with these messages on their way.
    mutating func disconnected(
        _ undelivered: [DeliveryToken], _ failure: MQTTFailure, at now: Timestamp
    ) -> Effects {
        isConnected = false
        sendDue = nil
        queue.requeue(undelivered, wereSent: true)
        // A message that ended connections before was on its way again.
        for token in failure.mayBeForMessage ? undelivered : [] {
            guard let topic = refusals.endTry(token), refusals.endsConnections(topic) else { continue }
            return refused(topic, failure, wasTried: true, at: now)
        }
        guard let token = enders.disconnected(undelivered: undelivered, failure), let message = queue.message(token)
        else { return [] }
        return refused(message.topic, failure, wasTried: false, at: now)
    }

    /// The broker has a message.
    mutating func acknowledged(_ token: DeliveryToken, at now: Timestamp) -> Effects {
        let message = queue.message(token)
        // The client acknowledges the others, which the broker does not answer.
        if message?.qos != .atMostOnce { enders.answered() }
        let triedTopic = refusals.endTry(token)
        queue.acknowledge(token)
        guard !refusals.isEmpty, let topic = triedTopic ?? message?.topic else { return [] }
        queue.markOvertaken(by: token, topic: topic)
        guard let count = refusals.accepted(topic, at: now) else { return [] }
        return change("the broker accepts messages to \(topic) again", .info, count, at: now)
    }

    /// Something changed about a topic for the `count`th time. A quota may change its mind many times.
    private mutating func change(_ text: String, _ level: Log.Level, _ count: Int, at now: Timestamp) -> Effects {
        guard ConnectionLog.isLogged(count), refusalLines.admit(at: now) != nil else {
            return [.request(.reportHealth)]
        }
        let times = count > 1 ? ", \(count) times so far" : ""
        return [.log(level, text + times), .request(.reportHealth)]
    }

    /// The broker or the client rejected a message.
    mutating func rejected(
        _ token: DeliveryToken, _ topic: String, _ failure: MQTTFailure, at now: Timestamp
    ) -> Effects {
        if failure.concernsMessage { enders.answered() }
        let wasTried = refusals.endTry(token) != nil
        guard failure.mayPass else {
            queue.drop(token)
            guard losses.admit(at: now) != nil else { return [] }
            loggedTotals.dropped += 1
            return [.log(.warning, "dropped a message to \(topic): \(failure.messageDescription)")]
        }
        queue.requeue([token], wereSent: false)
        guard failure.concernsMessage else {
            sendDue = now.advanced(bySeconds: Outbox.sendPause)
            return []
        }
        return refused(topic, failure, wasTried: wasTried, at: now)
    }

    private mutating func refused(
        _ topic: String, _ failure: MQTTFailure, wasTried: Bool, at now: Timestamp
    ) -> Effects {
        guard let count = refusals.refused(topic, failure, wasTried: wasTried, at: now) else {
            return []
        }
        return change(Outbox.refusal(of: topic, failure) + "; they are kept and tried again", .warning, count, at: now)
    }

    /// The refusal for logs and health reports.
    static func refusal(of topic: String, _ failure: MQTTFailure) -> String {
        switch failure {
        case .refused: "the broker refuses messages to \(topic): \(failure.messageDescription)"
        case .library: "cannot send messages to \(topic): \(failure.messageDescription)"
        default: "each time a message to \(topic) is sent, the connection ends: \(failure.messageDescription)"
        }
    }
}

/// Finds the message because of which the broker ends the connection. Some brokers do so instead of refusing it, on each
/// new connection again, and no other message gets through.
///
/// After two connections that the broker ended before it acknowledged a message, messages are sent one at a time. The
/// one that is alone on its way when further connections end is the cause.
struct ConnectionEnders {
    /// The number of connections after which messages are sent one at a time, and the number of further ones after which
    /// the cause is clear.
    static let suspicious = 2
    static let clear = 3

    /// Consecutive connections that the broker ended before it answered.
    private var fruitless = 0
    /// The message that was alone on its way when the last ones of them ended, and the number of these.
    private var suspect: (token: DeliveryToken, count: Int)?

    /// The number of messages that may be on their way together; `nil` for no limit.
    var limit: Int? { fruitless >= ConnectionEnders.suspicious ? 1 : nil }

    /// The broker accepted or refused a message.
    mutating func answered() {
        fruitless = 0
        suspect = nil
    }

    /// A connection ended with these messages on their way. Returns the one that is the cause; `nil` if none is for
    /// certain.
    mutating func disconnected(undelivered: [DeliveryToken], _ failure: MQTTFailure) -> DeliveryToken? {
        guard failure.mayBeForMessage, let first = undelivered.first else { return nil }
        fruitless += 1
        guard fruitless > ConnectionEnders.suspicious, undelivered.count == 1 else { return nil }
        let count = suspect?.token == first ? (suspect?.count ?? 0) + 1 : 1
        suspect = (first, count)
        guard count >= ConnectionEnders.clear else { return nil }
        answered()
        return first
    }
}
