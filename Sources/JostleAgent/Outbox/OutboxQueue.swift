internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore

/// The messages in order of arrival, each with its state, until the broker has acknowledged them and their rows are
/// deleted.
///
/// Bounded: when it is full, the oldest messages are dropped and counted. It performs no I/O and has no clock.
struct OutboxQueue: Sendable {
    let limits: JostleSettings.Outbox

    /// In ascending order of tokens. The entries before `first` are finished.
    private var entries: [OutboxEntry] = []
    private var first = 0
    /// No entry before this index is waiting to be sent.
    private var nextToSend = 0
    /// No entry before this index is due to be written.
    private var nextToWrite = 0
    private var lastRow: Int64 = 0
    /// The number of entries that have ended since the array was last compacted. An entry whose row had to be deleted
    /// counts twice.
    private var ended = 0
    /// Whether a message was added while the clock was not set, and whether a stored time needs correction.
    private var mayHaveUnsetTimes = false
    private(set) var hasTimeToCorrect = false

    /// The messages that the broker has not acknowledged, and their size in bytes.
    private(set) var count = 0
    private(set) var bytes = 0
    /// The number of messages that the client has.
    private(set) var sent = 0
    /// The number of messages that were ever sent before they were in the file.
    private(set) var sentFromMemory: UInt64 = 0
    /// The number of rows whose messages are finished.
    private(set) var rowsToDelete = 0

    /// The number of messages dropped because there was no room or because the broker would never accept them.
    private(set) var dropped: UInt64
    /// The number of messages that expired before they could be sent.
    private(set) var expired: UInt64

    /// Creates an empty queue; `dropped` and `expired` continue the counts of an earlier run.
    init(limits: JostleSettings.Outbox, dropped: UInt64 = 0, expired: UInt64 = 0) {
        self.limits = limits
        self.dropped = dropped
        self.expired = expired
    }

    // MARK: Adding

    /// Appends a new message. One that is sent at most once is not stored.
    @discardableResult
    mutating func append(_ message: OutgoingMessage) -> OutboxToken {
        insert(message, row: lastRow + 1, storage: message.qos == .atMostOnce ? .unneeded : .due)
    }

    /// Appends a message of an earlier run. Its row in the file is greater than all rows before it.
    mutating func restore(_ message: OutgoingMessage, row: Int64) {
        insert(message, row: max(lastRow + 1, row), storage: .stored)
    }

    @discardableResult
    private mutating func insert(_ message: OutgoingMessage, row: Int64, storage: OutboxEntry.Storage) -> OutboxToken {
        while count > 0, count >= limits.maximumCount || bytes + message.size > limits.maximumBytes { dropOldest() }
        compact()
        lastRow = row
        let token = OutboxToken(row: row)
        if storage == .due { nextToWrite = min(nextToWrite, entries.count) }
        entries.append(OutboxEntry(token: token, message: message, storage: storage))
        if !message.time.isClockSet { mayHaveUnsetTimes = true }
        count += 1
        bytes += message.size
        return token
    }

    /// Counts messages that were lost before they reached the queue.
    mutating func countDropped(_ count: Int) {
        dropped += UInt64(clamping: count)
    }

    /// Adds the counts of an earlier run.
    mutating func addTotals(dropped: UInt64, expired: UInt64) {
        self.dropped += dropped
        self.expired += expired
    }

    private mutating func dropOldest() {
        guard let oldest = (first..<entries.count).first(where: { entries[$0].delivery != .done }) else { return }
        finish(oldest)
        dropped += 1
    }

    // MARK: Delivery

    /// What to do with a waiting message.
    enum Turn {
        case send
        /// It waits, and the ones after it do not.
        case skip
        /// It waits, and so do the ones after it.
        case stop
    }

    /// Passes waiting messages to `send`, oldest first, as far as `turn` allows.
    mutating func send(turn: (OutboxEntry) -> Turn, _ send: (OutboxEntry) -> Void) {
        var index = nextToSend
        var firstSkipped: Int?
        while index < entries.count {
            if entries[index].delivery == .waiting {
                switch turn(entries[index]) {
                case .send:
                    send(entries[index])
                    wasSent(index)
                case .skip:
                    firstSkipped = firstSkipped ?? index
                case .stop:
                    nextToSend = firstSkipped ?? index
                    return
                }
            }
            index += 1
        }
        nextToSend = firstSkipped ?? index
    }

    private mutating func wasSent(_ index: Int) {
        entries[index].delivery = .sent
        sent += 1
        if entries[index].isInMemoryOnly, !entries[index].wasSentFromMemory {
            entries[index].wasSentFromMemory = true
            sentFromMemory += 1
        }
    }

    /// A message that is not finished.
    func message(_ token: OutboxToken) -> OutgoingMessage? { index(of: token).map { entries[$0].message } }

    /// The number of messages that wait although the topic is one of these.
    func countWaiting(_ isIncluded: (String) -> Bool) -> Int {
        entries[min(nextToSend, entries.count)...].count { $0.delivery == .waiting && isIncluded($0.message.topic) }
    }

    /// Marks a message as acknowledged.
    mutating func acknowledge(_ token: OutboxToken) {
        if let index = index(of: token) { finish(index) }
        compact()
    }

    /// Marks the messages to a topic that wait although this later one was accepted.
    mutating func markOvertaken(by token: OutboxToken, topic: String) {
        for index in min(nextToSend, entries.count)..<entries.count {
            guard entries[index].token < token else { return }
            if entries[index].delivery == .waiting, entries[index].message.topic == topic {
                entries[index].isOvertaken = true
            }
        }
    }

    /// Drops a message that will never be accepted.
    mutating func drop(_ token: OutboxToken) {
        guard let index = index(of: token) else { return }
        finish(index)
        dropped += 1
        compact()
    }

    /// Makes messages that came back wait again. A message that is sent at most once is dropped if it may have been
    /// sent.
    mutating func requeue(_ tokens: [OutboxToken], wereSent: Bool) {
        for token in tokens {
            guard let index = index(of: token), entries[index].delivery == .sent else { continue }
            if wereSent, entries[index].message.qos == .atMostOnce {
                finish(index)
            } else {
                entries[index].delivery = .waiting
                sent -= 1
                if !wereSent, entries[index].wasSentFromMemory {
                    entries[index].wasSentFromMemory = false
                    sentFromMemory -= 1
                }
                nextToSend = min(nextToSend, index)
            }
        }
        compact()
    }

    /// Drops expired messages, except those that the client has: the broker may have received them.
    mutating func dropExpired(at clocks: ClockReading) {
        for index in nextToSend..<entries.count where entries[index].delivery == .waiting {
            guard entries[index].message.isExpired(at: clocks, maximumAge: limits.maximumAge) else { continue }
            finish(index)
            expired += 1
        }
        compact()
    }

    /// Corrects the times of messages that were measured in this boot before the clock was set.
    mutating func correctTimes(_ clocks: ClockReading) {
        guard clocks.isSet, mayHaveUnsetTimes else { return }
        mayHaveUnsetTimes = false
        for index in first..<entries.count {
            let time = entries[index].message.time
            guard !time.isClockSet, time.boot == clocks.boot, entries[index].delivery != .done else { continue }
            entries[index].message.time = time.corrected(clocks)
            switch entries[index].storage {
            case .writing, .stored:
                entries[index].hasStaleTime = true
                hasTimeToCorrect = true
            case .unneeded, .due, .deleting: break
            }
        }
    }

    /// Ends the delivery of a message. Its row may be left.
    private mutating func finish(_ index: Int) {
        guard entries[index].delivery != .done else { return }
        if entries[index].delivery == .sent { sent -= 1 }
        entries[index].delivery = .done
        count -= 1
        bytes -= entries[index].message.size
        // The entry may stay for long, and is in no limit.
        entries[index].message.topic = ""
        entries[index].message.content = .fixed([])
        ended += 1
        if entries[index].storage == .stored { rowsToDelete += 1 }
        advanceFirst()
    }

    // MARK: Storage

    /// Whether a message is due to be written.
    var hasMessageToWrite: Bool {
        entries[min(nextToWrite, entries.count)...].contains { $0.storage == .due && !$0.isOver }
    }

    /// The number of messages that exist in memory only, and the number of those that were not sent either.
    var inMemoryOnly: Int { entries[first...].count { $0.isInMemoryOnly } }
    var inMemoryAndUnsent: Int { entries[first...].count { $0.isInMemoryOnly && !$0.wasSentFromMemory } }

    /// Returns the rows to write, correct and delete, and marks them as being written.
    mutating func takeChanges() -> OutboxBatch {
        var changes = OutboxBatch()
        for index in min(nextToWrite, entries.count)..<entries.count
        where entries[index].storage == .due && entries[index].delivery != .done {
            entries[index].storage = .writing
            changes.added.append((entries[index].token.row, entries[index].message))
        }
        nextToWrite = entries.count
        guard rowsToDelete > 0 || hasTimeToCorrect else { return changes }
        hasTimeToCorrect = false
        for index in first..<entries.count where entries[index].storage == .stored {
            if entries[index].delivery == .done {
                entries[index].storage = .deleting
                changes.removed.append(entries[index].token.row)
            } else if entries[index].hasStaleTime {
                entries[index].hasStaleTime = false
                changes.corrected.append((entries[index].token.row, entries[index].message))
            }
        }
        rowsToDelete = 0
        return changes
    }

    /// Marks changes as written.
    mutating func changesWereWritten(_ changes: OutboxBatch) {
        for (row, _) in changes.added {
            guard let index = place(of: row), entries[index].storage == .writing else { continue }
            entries[index].storage = .stored
            if entries[index].delivery == .done { rowsToDelete += 1 }
            if entries[index].hasStaleTime { hasTimeToCorrect = true }
        }
        for row in changes.removed {
            guard let index = place(of: row), entries[index].storage == .deleting else { continue }
            entries[index].storage = .unneeded
            ended += 1
        }
        advanceFirst()
        compact()
    }

    /// Marks changes as due again, after a failed write.
    mutating func changesWereNotWritten(_ changes: OutboxBatch) {
        for (row, _) in changes.added {
            guard let index = place(of: row), entries[index].storage == .writing else { continue }
            entries[index].storage = .due
            entries[index].hasStaleTime = false
            nextToWrite = min(nextToWrite, index)
        }
        for (row, _) in changes.corrected {
            guard let index = place(of: row), entries[index].storage == .stored else { continue }
            entries[index].hasStaleTime = true
            hasTimeToCorrect = true
        }
        for row in changes.removed {
            guard let index = place(of: row), entries[index].storage == .deleting else { continue }
            entries[index].storage = .stored
            rowsToDelete += 1
        }
        advanceFirst()
    }

    /// Marks everything as due, because the file was replaced. Nothing is left to delete.
    mutating func fileWasReplaced() {
        for index in first..<entries.count where entries[index].storage != .unneeded {
            entries[index].storage = entries[index].delivery == .done ? .unneeded : .due
            entries[index].hasStaleTime = false
        }
        rowsToDelete = 0
        hasTimeToCorrect = false
        nextToWrite = first
        advanceFirst()
        compact()
    }

    // MARK: Indices

    private mutating func advanceFirst() {
        while first < entries.count, entries[first].isOver { first += 1 }
    }

    /// Removes finished entries from the array, rarely enough to keep the amortised cost per message constant. They may
    /// be anywhere: a message that the broker refuses stays while thousands of later ones come and go.
    private mutating func compact() {
        guard ended > 64, ended > entries.count / 2 else { return }
        ended = 0
        nextToSend -= entries[..<min(nextToSend, entries.count)].count { $0.isOver }
        nextToWrite -= entries[..<min(nextToWrite, entries.count)].count { $0.isOver }
        entries.removeAll { $0.isOver }
        first = 0
        advanceFirst()
    }

    /// The number of entries in memory, finished ones included.
    var memoryCount: Int { entries.count }

    /// The index of the entry with this row; `nil` if it is finished.
    private func place(of row: Int64) -> Int? {
        var low = first
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].token.row < row { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].token.row == row ? low : nil
    }

    /// The index of the message with this token; `nil` if it is finished.
    private func index(of token: OutboxToken) -> Int? {
        place(of: token.row).flatMap { entries[$0].delivery == .done ? nil : $0 }
    }
}
