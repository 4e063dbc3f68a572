internal import Documents
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore

/// All boards at the broker: what the list of the page shows of each, and when that changed.
struct BoardList {
    /// What the model does not keep of a board.
    struct Details {
        /// The number of its last change.
        var change: UInt64 = 0
        /// The number of the connection to the broker on which it was last heard of.
        var connection = 0
        /// When a message of it last arrived, milliseconds since 1970.
        var seen: Int64 = 0
        /// Its last attitude, as it is: parsed only for the metrics; and when it arrived.
        var attitude: (payload: [UInt8], arrival: Timestamp)?
        /// Its last gestures, as they are, the oldest first.
        var gestures: [ServerSentEvent] = []
        /// How many events arrived, for the metrics.
        var events = EventCounts()
        /// The dominant frequency of the last vibration, Hz.
        var vibrationFrequency: Double?

        /// Keeps an attitude.
        fileprivate mutating func take(
            _ message: MQTTMessage, at now: Timestamp, milliseconds: Int64, _ connection: Int
        ) {
            attitude = (message.payload, now)
            if !message.retain { seen = milliseconds }
            self.connection = connection
        }
    }

    /// The gestures that are kept of each board, for a page that opens.
    private static let history = 8

    /// The most removals of boards that are kept for pages that have not been told.
    private static let maximumRemovals = 1000

    /// Seconds after which a board is forgotten of which the broker knows nothing on a new connection: its retained
    /// messages were removed meanwhile. Boards need some time until they find a broker that has lost everything.
    private static let patience = 300.0

    /// Seconds in which the documents of a fleet arrive, and the shortest time between two readings of all boards.
    private static let settlingTime = 2.0
    private static let readingPause = 60.0

    /// The most bytes of the rows that are returned together, but for one row.
    static let rowBytes = 100_000

    private(set) var model: FleetModel
    private(set) var details: [String: Details] = [:]
    /// The number of the last change.
    private(set) var changes: UInt64 = 0
    /// The removed boards, in the order of the removals, which are changes too.
    private var removals: [(change: UInt64, id: String)] = []
    /// The number of the last removal that is not kept any more.
    private var forgottenRemovals: UInt64 = 0
    /// The number of the connection to the broker, and when boards of earlier ones are forgotten.
    private var connection = 0
    private var silenceEnd: Timestamp?
    /// When the retained messages of all boards are read again, and when that was last done.
    private var nextReading: Timestamp?
    private var lastReading: Timestamp?

    /// Creates an empty list. The boards in `seen` come before unknown ones if there are too many.
    init(prefix: String, seen: Set<String> = []) {
        model = FleetModel(prefix: prefix)
        model.remember(KnownDevices(seen: seen))
    }

    /// Notes that the broker holds a layer or groups for a board, which is then kept before others. If it is left out, what
    /// the broker holds of it must be read again.
    mutating func noteDocument(_ id: FleetDocumentID, at now: Timestamp) {
        model.noteDocument(id)
        guard let board = id.device, model.boards[board] == nil, model.leftOut.boards > 0, nextReading == nil else {
            return
        }
        let settled = now.advanced(bySeconds: BoardList.settlingTime)
        nextReading = lastReading.map { max(settled, $0.advanced(bySeconds: BoardList.readingPause)) } ?? settled
    }

    /// Whether the retained messages of all boards must be read again now.
    mutating func mustReadAgain(at now: Timestamp) -> Bool {
        guard let time = nextReading, now >= time else { return false }
        (nextReading, lastReading) = (nil, now)
        return true
    }

    /// What a message means for the list.
    struct Update {
        /// The availability that it brought.
        var isOnline: Bool?
        /// What changed; `nil` if nothing did, and for what is not shown in the list.
        var change: FleetModel.Change?
        /// Whether the same gesture has been received before.
        var isRepeated = false
        /// Whether the list of the layers of the fleet may look different.
        var concernsFleet = false
        /// The boards that are left out now, because better known ones came.
        var removed: [String] = []
    }

    /// Takes a message of a board.
    mutating func update(
        _ topic: BoardTopic, _ message: MQTTMessage, at now: Timestamp, milliseconds: Int64
    ) -> Update {
        var update = Update()
        let id = topic.board
        switch topic.name {
        case .attitude:
            // Many and not shown in the list.
            details[id]?.take(message, at: now, milliseconds: milliseconds, connection)
            return update
        case .motion, .stream, .nearMiss, .result: return update
        default: break
        }
        let change = model.update(with: message, at: now)?.change
        update.change = change
        if topic.name == .gesture, !message.retain { update.isRepeated = change == nil }
        update.removed = model.takeRemoved()
        for other in update.removed { removed(other) }
        guard model.boards[id] != nil else { return update }
        details[id, default: Details()].connection = connection
        if !message.retain { details[id, default: Details()].seen = milliseconds }
        // The list shows nothing of machines.
        guard let change, change != .machine else { return update }
        changes += 1
        details[id, default: Details()].change = changes
        switch change {
        case .availability:
            update.isOnline = model.boards[id]?.isOnline
            update.concernsFleet = true
        case .configuration: update.concernsFleet = true
        default: break
        }
        if case .event(let event) = change {
            details[id]?.events.count(event)
            if event.gesture == Gesture.vibration.word, let frequency = event.frequency {
                details[id]?.vibrationFrequency = frequency
            }
            details[id]?.gestures.append(ServerSentEvent(.gesture, message.payload))
            if let count = details[id]?.gestures.count, count > BoardList.history {
                details[id]?.gestures.removeFirst(count - BoardList.history)
            }
        }
        return update
    }

    // MARK: Boards that are gone

    /// The number of boards that are left out because there are too many.
    var ignoredBoards: Int { model.leftOut.boards }

    /// Forgets a board whose retained messages were removed; returns whether it was known.
    mutating func forget(_ id: String) -> Bool {
        let isKnown = model.boards[id] != nil
        model.forget(id)
        if isKnown { removed(id) }
        return isKnown
    }

    /// A board is no longer in the model.
    private mutating func removed(_ id: String) {
        details[id] = nil
        changes += 1
        removals.append((changes, id))
        if removals.count > BoardList.maximumRemovals { forgottenRemovals = removals.removeFirst().change }
    }

    /// A new connection to the broker: what it holds arrives again.
    mutating func connected(at now: Timestamp) {
        connection += 1
        silenceEnd = connection > 1 ? now.advanced(bySeconds: BoardList.patience) : nil
    }

    /// The boards of which the broker has said nothing since it was connected again, once that has lasted long enough.
    mutating func silent(at now: Timestamp) -> [String] {
        guard let end = silenceEnd, now >= end else { return [] }
        silenceEnd = nil
        return details.filter { $0.value.connection < connection }.map(\.key)
    }

    /// The boards that were removed after the change with this number, and the number with which to ask again; `nil` if
    /// that is too long ago to be known.
    func removed(after change: UInt64) -> (ids: [String], change: UInt64)? {
        guard change >= forgottenRemovals else { return nil }
        return (removals.filter { $0.change > change }.map(\.id), changes)
    }

    // MARK: What pages show

    /// The last gestures of a board, the oldest first.
    func gestures(of id: String) -> [ServerSentEvent] { details[id]?.gestures ?? [] }

    /// The last attitude of a board, as it was published.
    func attitude(of id: String) -> [UInt8]? { details[id]?.attitude?.payload }

    /// The boards whose rows changed after the change with this number, in the order of their changes, at most `limit` and
    /// about `bytes`; and the number with which to ask again.
    func rows(
        after change: UInt64, limit: Int, bytes: Int = BoardList.rowBytes
    ) -> (rows: [JSONObject], change: UInt64, isLast: Bool) {
        guard change < changes else { return ([], change, true) }
        let changed = details.filter { $0.value.change > change }.sorted { $0.value.change < $1.value.change }
        var rows: [JSONObject] = []
        var size = 0
        var last = change
        for (id, details) in changed {
            guard rows.count < limit, size < bytes else { return (rows, last, false) }
            last = details.change
            guard let device = model.boards[id] else { continue }
            let row = row(device, details)
            size += row.bytes.count
            rows.append(row)
        }
        return (rows, changes, true)
    }

    private func row(_ device: FleetBoard, _ details: Details) -> JSONObject {
        var row = JSONObject()
        row.add("id", device.id)
        row.add("name", device.report?.name)
        row.add("online", device.isOnline)
        row.add("problems", device.health?.problems ?? [])
        row.add("groups", device.report?.groups ?? [])
        row.add("config", device.worstStatus?.word)
        let problem = device.layers.first { $0.status.isProblem }
        row.add("config_detail", problem.map { "\($0.name): \($0.status.word)" + ($0.error.map { ": \($0)" } ?? "") })
        if let event = device.events.first {
            var last = JSONObject()
            last.add("gesture", event.gesture)
            last.add("phase", event.phase)
            last.add("t", event.time)
            last.add("remarks", event.remarks)
            row.add("last", last)
        }
        row.add("version", device.health?.version)
        row.add("rate", device.health?.rate, decimals: 1)
        row.add("outbox", device.health?.outbox, decimals: 0)
        row.add("simulated", device.state?.isSimulated)
        row.add("stopped", device.isStopped)
        row.add("moving", device.state?.isMoving)
        row.add("side", device.state?.side)
        row.add("vibrating", device.state?.isVibrating)
        if details.seen > 0 { row.add("seen", details.seen) }
        row.add("attention", device.needsAttention)
        return row
    }
}
