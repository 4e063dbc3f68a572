internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// Keeps an outbox and its file in step: a message is handed to the client when it is written down, or when it is known
/// that it cannot be.
///
/// For one thread at a time; it does what is due when it is asked and tells when it wants to be asked again.
final class OutboxKeeper: @unchecked Sendable {
    /// What it is asked to do.
    enum Order: Sendable {
        case add(OutgoingMessage)
        /// A gesture began, or came to its end.
        case note(OpenGesture, isOpen: Bool)
        case connected
        case disconnected(undelivered: [UInt64])
        case acknowledged(UInt64)
        case rejected(UInt64)
    }

    /// What somebody should know.
    enum Note: Equatable, Sendable {
        /// The file was damaged and set aside under another name; so many messages could be taken over.
        case setAside(name: String, reason: String, saved: Int)
        /// Messages live in memory alone, and why.
        case storeFailed(String)
        /// Everything is written down again.
        case storeWorks
        /// Messages were dropped, for want of room or because the broker would not take them.
        case dropped(UInt64)
        /// Messages grew too old.
        case expired(UInt64)
    }

    /// How it stands.
    struct Figures: Equatable, Sendable {
        var count = 0
        var bytes = 0
        var dropped: UInt64 = 0
        var expired: UInt64 = 0
        /// Messages that live in memory alone.
        var unstored = 0
        /// Why the file cannot be written; `nil` where it can.
        var failure: String?
    }

    /// Seconds between two attempts to write after one failed.
    private static let retry = 2.0
    /// Seconds for which departures are gathered before they alone are written down: a card wears out by writes.
    private static let gathering = 0.25
    /// Seconds without an order after which the file's log is taken in: no message is likely to wait for the disk then.
    private static let quiet = 2.0
    /// Seconds between two looks at the clock, and at ages, while something waits.
    private static let upkeep = 30.0

    private let file: OutboxFile?
    private let send: Publisher.Send
    private let eventExpiry: Double?
    private let note: @Sendable (Note) -> Void
    private let clocks: @Sendable () -> ClockReading

    private var outbox: Outbox
    private var isConnected = false
    /// Not written down yet, in order. Messages that departed before they were are left out.
    private var unstored: Set<UInt64> = []
    private var added: [UInt64] = []
    private var changes = OutboxStore.Changes()
    private var stored: Set<UInt64> = []
    /// Gestures that began and have not come to their end, of an earlier run as well.
    private var open: Set<OpenGesture> = []
    private var removalsDue: Timestamp?
    private var retryDue: Timestamp?
    private var upkeepDue: Timestamp?
    private var logDue: Timestamp?
    private var told: (dropped: UInt64, expired: UInt64)
    /// The totals that stand in the file; `nil` where it is not known.
    private var written: (dropped: UInt64, expired: UInt64)?

    /// Gestures that were open when the last run was cut off.
    let interrupted: [OpenGesture]

    private(set) var figures = Figures()

    /// Makes a keeper of what `file` holds, or of nothing; without a file everything lives in memory alone.
    init(
        file: OutboxFile?, limits: OutboxLimits, eventExpiry: Double?,
        clocks: @escaping @Sendable () -> ClockReading = { .now() }, note: @escaping @Sendable (Note) -> Void,
        send: @escaping Publisher.Send
    ) {
        self.file = file
        self.send = send
        self.eventExpiry = eventExpiry
        self.note = note
        self.clocks = clocks
        let (content, failure) = file?.open(note) ?? (OutboxStore.Content(), nil)
        outbox = Outbox(limits: limits, dropped: content.dropped, expired: content.expired)
        told = (content.dropped, content.expired)
        written = told
        interrupted = content.gestures
        open = Set(content.gestures)
        for (token, message) in content.messages {
            outbox.restore(message, token: token)
            stored.insert(token)
        }
        if let failure {
            figures.failure = failure
            retryDue = clocks().monotonic
            note(.storeFailed(failure))
        }
        takeDepartures()
        // What could be saved of a damaged file stands in no other one yet.
        if let file, file.isKnown, !file.isOpen { commit(at: clocks().monotonic) }
        showFigures()
    }

    /// Carries out orders and whatever else is due.
    ///
    /// - Returns: when it wants to be asked again at the latest; `nil` is with the next order.
    func work(_ orders: [Order]) -> Timestamp? {
        let reading = clocks()
        let now = reading.monotonic
        for order in orders { carryOut(order) }
        keepUp(reading)
        takeDepartures()
        store(at: now)
        if isConnected {
            let mayGo = file == nil || figures.failure != nil
            let unstored = self.unstored
            outbox.send(
                at: reading, eventExpiry: eventExpiry, mayGo: { mayGo || !unstored.contains($0) }, send)
            takeDepartures()
        }
        if outbox.dropped > told.dropped { note(.dropped(outbox.dropped - told.dropped)) }
        if outbox.expired > told.expired { note(.expired(outbox.expired - told.expired)) }
        told = (outbox.dropped, outbox.expired)
        showFigures()
        upkeepDue = outbox.count == 0 ? nil : now.advanced(bySeconds: OutboxKeeper.upkeep)
        keepLog(at: now, isQuiet: orders.isEmpty)
        return [removalsDue, retryDue, upkeepDue, logDue].compactMap { $0 }.min()
    }

    /// Writes down what is left to write and closes the file.
    func close() {
        takeDepartures()
        removalsDue = nil
        retryDue = nil
        commit(at: clocks().monotonic)
        file?.close()
    }

    private func carryOut(_ order: Order) {
        switch order {
        case .add(let message):
            let token = outbox.append(message)
            // What is sent once at most is not kept for a second time.
            guard message.qos != .atMostOnce else { return }
            unstored.insert(token)
            added.append(token)
        case .note(let gesture, let isOpen):
            if isOpen { open.insert(gesture) } else { open.remove(gesture) }
            change(gesture, isOpen: isOpen)
        case .connected:
            isConnected = true
        case .disconnected(let undelivered):
            isConnected = false
            outbox.takeBack(undelivered)
        case .acknowledged(let token):
            outbox.acknowledge(token)
        case .rejected(let token):
            outbox.giveUp(token)
        }
    }

    private func change(_ gesture: OpenGesture, isOpen: Bool) {
        changes.gestures.removeAll { $0.gesture == gesture }
        changes.gestures.append((gesture, isOpen))
    }

    /// Looks at what time brings about.
    private func keepUp(_ reading: ClockReading) {
        outbox.dropExpired(at: reading)
        for token in outbox.correctTimes(reading) where stored.contains(token) {
            guard let message = outbox.message(of: token) else { continue }
            changes.corrected.append((token, message.time))
        }
    }

    /// Takes note of what left the outbox.
    private func takeDepartures() {
        for token in outbox.takeDeparted() {
            unstored.remove(token)
            if stored.remove(token) != nil { changes.removed.append(token) }
        }
        if added.count > 64, added.count > 2 * unstored.count { added.removeAll { !unstored.contains($0) } }
    }

    // MARK: The file

    /// Writes down what is to be, now or later.
    private func store(at now: Timestamp) {
        guard file != nil else {
            unstored = []
            added = []
            changes = OutboxStore.Changes()
            return
        }
        if let retryDue, now < retryDue { return }
        let isUrgent = !unstored.isEmpty || !changes.gestures.isEmpty || !changes.corrected.isEmpty
        if !isUrgent, !changes.removed.isEmpty {
            let due = removalsDue ?? now.advanced(bySeconds: OutboxKeeper.gathering)
            removalsDue = due
            if now < due { return }
        }
        commit(at: now)
    }

    private func commit(at now: Timestamp) {
        guard let file else { return }
        // What failed may have become needless: then the totals alone show whether writing works again.
        if figures.failure != nil { written = nil }
        var outcome: OutboxFile.Outcome?
        if !file.isKnown { outcome = takeOver(file).map { .failed($0) } }
        if file.isKnown {
            if !file.isOpen { beginAnew() }
            outcome = write(to: file)
        }
        if outcome == .setAside {
            beginAnew()
            outcome = write(to: file)
        }
        removalsDue = nil
        switch outcome {
        case nil: return
        case .written:
            if figures.failure != nil { note(.storeWorks) }
            figures.failure = nil
            written = (outbox.dropped, outbox.expired)
            stored.formUnion(unstored)
            unstored = []
            added = []
            changes = OutboxStore.Changes()
            retryDue = nil
        case .failed, .setAside:
            let failure = if case .failed(let reason) = outcome { reason } else { "the new file is damaged as well" }
            retryDue = now.advanced(bySeconds: OutboxKeeper.retry)
            if figures.failure == nil { note(.storeFailed(failure)) }
            figures.failure = failure
        }
    }

    /// Writes what changed; `nil` where nothing did.
    private func write(to file: OutboxFile) -> OutboxFile.Outcome? {
        var changes = self.changes
        changes.added = added.compactMap { token in
            unstored.contains(token) ? outbox.message(of: token).map { (token, $0) } : nil
        }
        if written.map({ $0 != (outbox.dropped, outbox.expired) }) ?? true {
            changes.totals = (outbox.dropped, outbox.expired)
        }
        return changes.isEmpty ? nil : file.commit(changes, known: outbox.count, note)
    }

    /// Has everything written down once more: into a new file, or into one that had to be closed, of which nobody knows
    /// whether it is the same.
    private func beginAnew() {
        added = outbox.messages.filter { $0.message.qos != .atMostOnce }.map(\.token)
        unstored = Set(added)
        for gesture in open { change(gesture, isOpen: true) }
        written = nil
    }

    /// Opens a file that could not be opened before. What it holds comes after what came since: nobody knew of it.
    ///
    /// - Returns: why it still cannot be.
    private func takeOver(_ file: OutboxFile) -> String? {
        let (content, failure) = file.open(note)
        if let failure { return failure }
        for (token, message) in content.messages {
            changes.removed.append(token)
            carryOut(.add(message))
        }
        open.formUnion(content.gestures)
        return nil
    }

    /// Takes the file's log in where it is long and nothing happens.
    private func keepLog(at now: Timestamp, isQuiet: Bool) {
        guard let file, file.isLogLong else {
            logDue = nil
            return
        }
        guard isQuiet, let due = logDue else {
            logDue = now.advanced(bySeconds: OutboxKeeper.quiet)
            return
        }
        guard now >= due else { return }
        file.takeLogIn()
        logDue = nil
    }

    private func showFigures() {
        figures.count = outbox.count
        figures.bytes = outbox.bytes
        figures.dropped = outbox.dropped
        figures.expired = outbox.expired
        figures.unstored = unstored.count
    }
}
