internal import MosquittoClient
internal import MotionCore

/// Messages in the order in which they came, each with its state, until the broker has them and the file has forgotten them.
///
/// Bounded: if it is full the oldest are given up, and are counted. It does no I/O and has no clock.
struct OutboxQueue: Sendable {
    let limits: OutboxLimits

    /// In the order of their tokens; those before `first` are over.
    private var entries: [OutboxEntry] = []
    private var first = 0
    /// No entry before this one waits to be sent.
    private var nextToSend = 0
    /// No entry before this one is due to be written.
    private var nextToWrite = 0
    private var lastRow: Int64 = 0
    /// Whether a message came whose clock was not set, and whether a stored time is to be corrected.
    private var mayHaveUnsetTimes = false
    private(set) var hasTimeToCorrect = false

    /// Messages that the broker has not acknowledged, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0
    /// Messages that the client has.
    private(set) var sent = 0
    /// Messages that ever were sent although they were in no file.
    private(set) var leftFromMemory: UInt64 = 0
    /// Rows of the file whose messages are done.
    private(set) var rowsToDelete = 0

    /// Messages that were given up: there was no room, or the broker would never take them.
    private(set) var dropped: UInt64
    /// Messages that grew too old before they could be sent.
    private(set) var expired: UInt64

    /// An empty queue; `dropped` and `expired` count on from an earlier run.
    init(limits: OutboxLimits, dropped: UInt64 = 0, expired: UInt64 = 0) {
        self.limits = limits
        self.dropped = dropped
        self.expired = expired
    }

    // MARK: In

    /// Appends a new message; one that is sent once at most is not meant for the file.
    @discardableResult
    mutating func append(_ message: OutgoingMessage) -> OutboxToken {
        insert(message, row: lastRow + 1, storage: message.qos == .atMostOnce ? .unneeded : .due)
    }

    /// Appends a message of an earlier run, which is in the file under a row larger than all before it.
    mutating func restore(_ message: OutgoingMessage, row: Int64) {
        insert(message, row: max(lastRow + 1, row), storage: .stored)
    }

    @discardableResult
    private mutating func insert(_ message: OutgoingMessage, row: Int64, storage: OutboxEntry.Storage) -> OutboxToken {
        while count > 0, count >= limits.count || bytes + message.size > limits.bytes { dropOldest() }
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

    /// So many messages found no room on their way here.
    mutating func countDropped(_ count: Int) {
        dropped += UInt64(clamping: count)
    }

    private mutating func dropOldest() {
        guard let oldest = (first..<entries.count).first(where: { entries[$0].delivery != .done }) else { return }
        finish(oldest)
        dropped += 1
    }

    // MARK: To the broker

    /// Hands what waits to `send`, oldest first, until that returns false or an entry may not leave yet.
    mutating func send(mayLeave: (OutboxEntry) -> Bool, _ send: (OutboxEntry) -> Bool) {
        while nextToSend < entries.count {
            if entries[nextToSend].delivery == .waiting {
                guard mayLeave(entries[nextToSend]), send(entries[nextToSend]) else { return }
                entries[nextToSend].delivery = .sent
                sent += 1
                if entries[nextToSend].isInMemoryAlone, !entries[nextToSend].hasLeftFromMemory {
                    entries[nextToSend].hasLeftFromMemory = true
                    leftFromMemory += 1
                }
            }
            nextToSend += 1
        }
    }

    /// The broker has a message.
    mutating func acknowledge(_ token: OutboxToken) {
        if let index = index(of: token) { finish(index) }
        compact()
    }

    /// A message will never be taken.
    mutating func giveUp(_ token: OutboxToken) {
        guard let index = index(of: token) else { return }
        finish(index)
        dropped += 1
        compact()
    }

    /// Messages came back unsent or unacknowledged: they are sent again, except what is sent once at most and may have been.
    mutating func takeBack(_ tokens: [OutboxToken], wereSent: Bool) {
        for token in tokens {
            guard let index = index(of: token), entries[index].delivery == .sent else { continue }
            if wereSent, entries[index].message.qos == .atMostOnce {
                finish(index)
            } else {
                entries[index].delivery = .waiting
                sent -= 1
                if !wereSent, entries[index].hasLeftFromMemory {
                    entries[index].hasLeftFromMemory = false
                    leftFromMemory -= 1
                }
                nextToSend = min(nextToSend, index)
            }
        }
        compact()
    }

    /// Gives up what grew too old, except what the client has: the broker may have it as well.
    mutating func dropExpired(at clocks: ClockReading) {
        for index in nextToSend..<entries.count where entries[index].delivery == .waiting {
            guard entries[index].message.isExpired(at: clocks, maximumAge: limits.age) else { continue }
            finish(index)
            expired += 1
        }
        compact()
    }

    /// Corrects the times of what was measured in this boot before the clock was set.
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

    /// A message's way to the broker is over; its row may be left.
    private mutating func finish(_ index: Int) {
        guard entries[index].delivery != .done else { return }
        if entries[index].delivery == .sent { sent -= 1 }
        entries[index].delivery = .done
        count -= 1
        bytes -= entries[index].message.size
        if entries[index].storage == .stored { rowsToDelete += 1 }
        advanceFirst()
    }

    // MARK: To the file

    /// Whether a message is due to be written.
    var hasMessageToWrite: Bool {
        entries[min(nextToWrite, entries.count)...].contains { $0.storage == .due && !$0.isOver }
    }

    /// Messages that exist in memory alone, and those of them that were not sent either.
    var inMemoryAlone: Int { entries[first...].count { $0.isInMemoryAlone } }
    var inMemoryAndUnsent: Int { entries[first...].count { $0.isInMemoryAlone && !$0.hasLeftFromMemory } }

    /// Takes what is to be written, corrected and deleted; from now on it is on its way to the disk.
    mutating func takeChanges() -> OutboxStore.Changes {
        var changes = OutboxStore.Changes()
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
                changes.corrected.append((entries[index].token.row, entries[index].message.time))
            }
        }
        rowsToDelete = 0
        return changes
    }

    /// What was on its way to the disk is there.
    mutating func changesWereWritten(_ changes: OutboxStore.Changes) {
        for (row, _) in changes.added {
            guard let index = place(of: row), entries[index].storage == .writing else { continue }
            entries[index].storage = .stored
            if entries[index].delivery == .done { rowsToDelete += 1 }
            if entries[index].hasStaleTime { hasTimeToCorrect = true }
        }
        for row in changes.removed {
            if let index = place(of: row), entries[index].storage == .deleting { entries[index].storage = .unneeded }
        }
        advanceFirst()
        compact()
    }

    /// What was on its way to the disk did not get there: it is due again.
    mutating func changesWereNotWritten(_ changes: OutboxStore.Changes) {
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

    /// The file is a new one: everything is due to be written again, and nothing is left to delete.
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

    // MARK: Places

    private mutating func advanceFirst() {
        while first < entries.count, entries[first].isOver { first += 1 }
    }

    /// Gives the places of what is over back, now and then, so that the cost for each stays the same.
    private mutating func compact() {
        guard first > 64, first > entries.count / 2 else { return }
        entries.removeFirst(first)
        nextToSend = max(0, nextToSend - first)
        nextToWrite = max(0, nextToWrite - first)
        first = 0
    }

    /// Where the entry of a row is; `nil` if it is over.
    private func place(of row: Int64) -> Int? {
        var low = first
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].token.row < row { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].token.row == row ? low : nil
    }

    /// Where the message of a token is; `nil` if it is done.
    private func index(of token: OutboxToken) -> Int? {
        place(of: token.row).flatMap { entries[$0].delivery == .done ? nil : $0 }
    }
}
