internal import JostleConfiguration
internal import MosquittoClient

/// The messages in order of arrival, each with its state, until the broker has acknowledged them, and the rows of the
/// file that are left over from finished ones.
///
/// Bounded: when it is full, the oldest messages are dropped and counted. It performs no I/O and has no clock.
struct OutboxQueue: Sendable {
    /// A message and its state.
    struct Entry: Sendable {
        /// Its number is the message's row in the file.
        let token: DeliveryToken
        var message: OutgoingMessage
        var state: State
        /// Whether the client has the message.
        var isSent = false
        /// Whether the broker accepted a later message to the same topic while it refused this one.
        var isOvertaken = false
        /// Whether the message was sent before it was in the file.
        var wasSentFromMemory = false

        /// Whether the message is to be sent.
        var isWaiting: Bool { !isSent && state != .finished }

        /// Whether the message is still to be written to the file.
        var isInMemoryOnly: Bool { state == .due || state == .writing }
    }

    /// Where a message is.
    enum State: Sendable {
        /// In memory, and to be written.
        case due
        /// In a batch that is being written.
        case writing
        /// In the file, or in a batch that writes its row again.
        case stored
        /// In the file, with the time from before the clock was set.
        case outdated
        /// In memory for ever: it is sent at most once.
        case neverStored
        /// The broker has it, or it was dropped. Its entry is removed before long.
        case finished
    }

    let limits: JostleSettings.Outbox

    /// In ascending order of tokens.
    private var entries: [Entry] = []
    private var lastRow: Int64 = 0
    /// Whether a message was added while the clock was not set.
    private var mayHaveUnsetTimes = false

    /// The rows to delete, whose messages are finished.
    private(set) var rowsToDelete: [Int64] = []

    /// The messages that the broker has not acknowledged, and their size in bytes.
    private(set) var count = 0
    private(set) var bytes = 0
    /// The number of messages that the client has.
    private(set) var sent = 0
    /// The number of messages that were ever sent before they were in the file.
    private(set) var sentFromMemory: UInt64 = 0

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
    mutating func append(_ message: OutgoingMessage) -> DeliveryToken {
        insert(message, row: lastRow + 1, state: message.qos == .atMostOnce ? .neverStored : .due)
    }

    /// Appends a message of an earlier run. Its row in the file is greater than all rows before it.
    mutating func restore(_ message: OutgoingMessage, row: Int64) {
        insert(message, row: max(lastRow + 1, row), state: .stored)
    }

    @discardableResult
    private mutating func insert(_ message: OutgoingMessage, row: Int64, state: State) -> DeliveryToken {
        while count > 0, count >= limits.maximumCount || bytes + message.size > limits.maximumBytes,
            let oldest = entries.firstIndex(where: { $0.state != .finished })
        {
            finish(oldest)
            dropped += 1
        }
        compact()
        lastRow = row
        let token = DeliveryToken(number: row)
        entries.append(Entry(token: token, message: message, state: state))
        if !message.time.isClockSet { mayHaveUnsetTimes = true }
        count += 1
        bytes += message.size
        return token
    }

    /// Appends the messages and adds the counts of a file that was opened late. Its rows are replaced by new ones if
    /// the messages are in the file still.
    mutating func merge(_ content: OutboxContent, isInFile: Bool) {
        if isInFile { rowsToDelete += content.messages.map(\.row) }
        for (_, message) in content.messages { append(message) }
        dropped += content.dropped
        expired += content.expired
    }

    /// Counts messages that were lost before they reached the queue.
    mutating func countDropped(_ count: Int) {
        dropped += UInt64(clamping: count)
    }

    // MARK: Delivery

    /// The place of the first message to send that is not before `place`; `nil` if there is none.
    func nextWaiting(from place: Int) -> Int? { entries[place...].firstIndex(where: \.isWaiting) }

    /// The entry at a place. Places are valid until a message is added or finished.
    subscript(place: Int) -> Entry { entries[place] }

    /// Records that the client has the message at a place.
    mutating func wasSent(_ place: Int) {
        entries[place].isSent = true
        sent += 1
        if entries[place].isInMemoryOnly, !entries[place].wasSentFromMemory {
            entries[place].wasSentFromMemory = true
            sentFromMemory += 1
        }
    }

    /// A message that is not finished.
    func message(_ token: DeliveryToken) -> OutgoingMessage? { index(of: token.number).map { entries[$0].message } }

    /// The number of messages that wait although the topic is one of these.
    func countWaiting(_ isIncluded: (String) -> Bool) -> Int {
        entries.count { $0.isWaiting && isIncluded($0.message.topic) }
    }

    /// Marks a message as acknowledged.
    mutating func acknowledge(_ token: DeliveryToken) {
        if let index = index(of: token.number) { finish(index) }
    }

    /// Marks the messages to a topic that wait although this later one was accepted.
    mutating func markOvertaken(by token: DeliveryToken, topic: String) {
        for index in entries.indices where entries[index].isWaiting && entries[index].message.topic == topic {
            guard entries[index].token.number < token.number else { return }
            entries[index].isOvertaken = true
        }
    }

    /// Drops a message that will never be accepted.
    mutating func drop(_ token: DeliveryToken) {
        guard let index = index(of: token.number) else { return }
        finish(index)
        dropped += 1
    }

    /// Makes messages that came back wait again. A message that is sent at most once is dropped if it may have been
    /// sent.
    mutating func requeue(_ tokens: [DeliveryToken], wereSent: Bool) {
        for token in tokens {
            guard let index = index(of: token.number), entries[index].isSent else { continue }
            if wereSent, entries[index].message.qos == .atMostOnce {
                finish(index)
                continue
            }
            entries[index].isSent = false
            sent -= 1
            if !wereSent, entries[index].wasSentFromMemory {
                entries[index].wasSentFromMemory = false
                sentFromMemory -= 1
            }
        }
    }

    /// Drops expired messages, except those that the client has: the broker may have received them.
    mutating func dropExpired(at clocks: ClockReading) {
        for index in entries.indices where entries[index].isWaiting {
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
        for index in entries.indices where entries[index].state != .finished {
            let time = entries[index].message.time
            guard !time.isClockSet, time.boot == clocks.boot else { continue }
            entries[index].message.time = time.corrected(clocks)
            if entries[index].state == .stored { entries[index].state = .outdated }
        }
    }

    /// Ends the delivery of a message. The row of one that is being written is deleted when it is in the file.
    private mutating func finish(_ index: Int) {
        let entry = entries[index]
        if entry.state == .stored || entry.state == .outdated { rowsToDelete.append(entry.token.number) }
        if entry.isSent { sent -= 1 }
        count -= 1
        bytes -= entry.message.size
        entries[index].state = .finished
        // The entry may stay for a while, and is in no limit.
        entries[index].message.topic = ""
        entries[index].message.content = .fixed([])
    }

    // MARK: Storage

    /// Whether a message or its time is to be written.
    var hasMessageToWrite: Bool { entries.contains { $0.state == .due || $0.state == .outdated } }

    /// The number of messages that exist in memory only, and the number of those that were not sent either.
    var inMemoryOnly: Int { entries.count { $0.isInMemoryOnly } }
    var inMemoryAndUnsent: Int { entries.count { $0.isInMemoryOnly && !$0.wasSentFromMemory } }

    /// Returns the rows to write, correct and delete, and marks them as being written.
    mutating func takeChanges() -> OutboxBatch {
        var batch = OutboxBatch()
        for index in entries.indices {
            let row = entries[index].token.number
            switch entries[index].state {
            case .due:
                entries[index].state = .writing
                batch.added.append((row, entries[index].message))
            case .outdated:
                entries[index].state = .stored
                batch.corrected.append((row, entries[index].message))
            case .writing, .stored, .neverStored, .finished: break
            }
        }
        swap(&batch.removed, &rowsToDelete)
        return batch
    }

    /// Marks changes as written.
    mutating func changesWereWritten(_ batch: OutboxBatch) {
        for (row, message) in batch.added {
            if let index = index(of: row) {
                entries[index].state = entries[index].message.time == message.time ? .stored : .outdated
            } else {
                rowsToDelete.append(row)
            }
        }
    }

    /// Marks changes as due again, after a failed write.
    mutating func changesWereNotWritten(_ batch: OutboxBatch) {
        for (row, _) in batch.added {
            if let index = index(of: row) { entries[index].state = .due }
        }
        for (row, _) in batch.corrected {
            if let index = index(of: row) { entries[index].state = .outdated }
        }
        rowsToDelete += batch.removed
    }

    /// Marks everything as due, because the file was replaced. Nothing is left to delete.
    mutating func fileWasReplaced() {
        for index in entries.indices where entries[index].state != .finished && entries[index].state != .neverStored {
            entries[index].state = .due
        }
        rowsToDelete = []
    }

    // MARK: Entries

    /// Removes finished entries from the array, rarely enough to keep the amortised cost per message constant. They may
    /// be anywhere: a message that the broker refuses stays while thousands of later ones come and go.
    private mutating func compact() {
        let finished = entries.count - count
        guard finished > 64, finished > entries.count / 2 else { return }
        entries.removeAll { $0.state == .finished }
    }

    /// The number of entries in memory, finished ones included.
    var memoryCount: Int { entries.count }

    /// The index of the message with this row; `nil` if it is finished.
    private func index(of row: Int64) -> Int? {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].token.number < row { low = middle + 1 } else { high = middle }
        }
        guard low < entries.count, entries[low].token.number == row, entries[low].state != .finished else { return nil }
        return low
    }
}
