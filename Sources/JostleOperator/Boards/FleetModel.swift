internal import Documents
internal import JostleConfiguration
package import JostleMessages
internal import LinuxSystem
package import MosquittoClient
package import MotionCore

/// What a broker holds: the documents of a fleet, and what devices publish and report. Updated message by message, and
/// bounded whatever the messages contain.
///
/// Every program for people reads it: `fleet`, `watch`, `doctor`, the page and remote commands.
package struct FleetModel: Sendable {
    /// The most devices, documents and bytes of documents and reports that are kept. Those of devices that are known by more
    /// than their own messages come first; the others are only counted.
    package static let maximum = (boards: 10_000, documents: 20_000, bytes: 256 << 20)

    /// The most devices of a view.
    package static let maximumWatched = 5000

    /// The number of events kept for a single device, and for each device of a fleet.
    private static let history = (one: 100, each: 8)

    /// The topics of a device with JSON payloads, other than events.
    private static let topics: Set = ["attitude", "motion", "state", machine, "health", reported, nearMiss, answer]
    static let reported = "config/reported"
    private static let machine = "machine"
    private static let nearMiss = "near-miss"
    /// The topic of the answers to `get-state`.
    private static let answer = "command/get-state/result"

    package let topics: FleetTopics

    /// The only device in the model; `nil` for all.
    package private(set) var onlyDevice: String?

    /// The devices by their ids.
    package private(set) var boards: [String: FleetBoard] = [:]

    /// The other devices at the broker, if there is an `onlyDevice`; at most a thousand.
    package private(set) var otherDevices: Set<String> = []

    /// The documents that the broker holds.
    package private(set) var documents: [FleetDocumentID: StoredDocument] = [:]

    /// Whose documents count; `nil` for everybody's.
    package var trust: DocumentTrust?

    /// The time up to which documents can have been published, milliseconds since 1970; `nil` for any.
    package var latestPublication: Int64?

    /// The last revision of each document that this machine has seen earlier.
    package var seen: [FleetDocumentID: DocumentRevision] = [:]

    /// The documents that this machine keeps, with the hashes in reports, but for those that the broker's follow.
    package var kept: [FleetDocumentID: Set<DocumentRevision>] = [:]

    /// The groups of devices by the documents of the registry that this machine keeps.
    package var keptGroups: [String: [String]] = [:]

    /// The number of messages that were ignored, and the topics of the first of them with the reasons.
    package private(set) var skippedMessages = 0
    package private(set) var firstSkipped: [String] = []

    /// The number of ignored messages of devices that are too many.
    package private(set) var ignoredMessages = 0

    /// The devices that are known by more than their own messages.
    private var ranks: [String: DeviceRank] = [:]
    /// The most of them: all documents, and as many devices without one.
    private static let maximumRanks = 2 * maximum.documents

    /// The devices in `boards`, and the keys of `documents`.
    private var ranked: RankedMembers<String>
    private var rankedDocuments = RankedMembers<FleetDocumentID>(limit: maximum.documents)

    /// The devices that were left out in favour of better known ones, since this was last emptied.
    private var removed: [String] = []

    /// Whether the reports of devices are kept as they are, for all their settings.
    private let keepsReports: Bool

    /// The bytes of documents and reports.
    private var bytes = 0

    /// Creates an empty model of a fleet, for its configuration.
    package init(topics: FleetTopics) {
        self.topics = topics
        ranked = RankedMembers(limit: FleetModel.maximum.boards)
        keepsReports = true
    }

    /// Creates an empty model for a view of one device, or of all.
    package init(prefix: String, onlyDevice: String? = nil) {
        topics = FleetTopics(prefix: prefix)
        self.onlyDevice = onlyDevice
        ranked = RankedMembers(limit: FleetModel.maximumWatched)
        keepsReports = onlyDevice != nil
    }

    /// The prefix of all topics.
    package var prefix: String { topics.prefix }

    /// Restricts the model to one device.
    package mutating func narrow(to id: String) {
        onlyDevice = id
        for other in boards.keys where other != id { forget(other) }
        ranked = RankedMembers(limit: 1)
        ignoredMessages = 0
    }

    /// Forgets a device, whose retained messages were removed.
    package mutating func forget(_ id: String) {
        ranked.forget(id)
        drop(id)
    }

    /// Forgets documents, before they are read again.
    package mutating func forget(_ documents: some Sequence<FleetDocumentID>) {
        for document in documents {
            rankedDocuments.forget(document)
            drop(document)
        }
    }

    private mutating func drop(_ id: String) {
        if let old = boards.removeValue(forKey: id) { bytes -= old.report?.bytes.count ?? 0 }
    }

    private mutating func drop(_ document: FleetDocumentID) {
        if let old = documents.removeValue(forKey: document) { bytes -= old.bytes.count }
    }

    /// What a message changed.
    package enum Change: Equatable, Sendable {
        case availability
        case attitude
        case motion
        case state
        case machine
        case health
        case configuration
        /// The name or the groups, and nothing else of what the device reported.
        case identity
        case event(WatchedEvent)
        case nearMiss(WatchedNearMiss)
        /// The message cannot be parsed, and why.
        case malformed(String)
    }

    /// Updates the model with a message.
    ///
    /// - Returns: the device and what changed; `nil` if nothing did, or a document.
    @discardableResult
    package mutating func update(with message: MQTTMessage, at now: Timestamp) -> (id: String, change: Change)? {
        guard message.topic.hasPrefix("\(prefix)/") else { return nil }
        let levels = message.topic.dropFirst(prefix.count + 1).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false
        ).map(String.init)
        guard levels.count == 2 else { return nil }
        if levels[0].hasPrefix("_") || levels[1] == "config/desired",
            let document = FleetDocumentID(topic: message.topic, topics)
        {
            update(document, message)
            return nil
        }
        return update(levels[0], levels[1], message, at: now).map { (levels[0], $0) }
    }

    private mutating func update(_ id: FleetDocumentID, _ message: MQTTMessage) {
        guard !message.payload.isEmpty else { return forget([id]) }
        guard message.payload.count <= DocumentEnvelope.maximumBytes else {
            return skip(message.topic, "is longer than \(DocumentEnvelope.maximumBytes) bytes")
        }
        let rank = id.device.map { self.rank(of: $0) } ?? .known
        guard documents[id] != nil || rankedDocuments.hasRoom(for: id, rank) else {
            return skip(message.topic, "is one document too many")
        }
        guard admit(message, replacing: documents[id]?.bytes.count ?? 0, rank) else {
            rankedDocuments.leaveOut(id)
            return skip(message.topic, FleetModel.noMemory)
        }
        if documents[id] == nil, let other = rankedDocuments.admit(id, rank) { drop(other) }
        let stored = StoredDocument(id, message.payload, trust: trust, latest: latestPublication)
        documents[id] = stored
        if stored.problem == nil { noteDocument(id) }
    }

    private static let noMemory = "does not fit into the memory set aside"

    /// Counts the bytes of a message that is kept. What less known devices have makes room.
    ///
    /// - Returns: whether there is room for it.
    private mutating func admit(_ message: MQTTMessage, replacing old: Int, _ rank: DeviceRank) -> Bool {
        let size = message.payload.count - old
        while bytes + size > FleetModel.maximum.bytes {
            if let id = ranked.remove(below: rank) {
                leaveOut(id)
            } else if let document = rankedDocuments.remove(below: rank) {
                drop(document)
            } else {
                return false
            }
        }
        bytes += size
        return true
    }

    private mutating func skip(_ topic: String, _ reason: String) {
        skippedMessages += 1
        guard firstSkipped.count < 5 else { return }
        firstSkipped.append("\(ForeignText.bounded(topic)): \(ForeignText.bounded(reason))")
    }

    // MARK: Places

    /// How many devices, and how many documents, are left out because there are too many.
    package var leftOut: (boards: Int, documents: Int) { (ranked.leftOutCount, rankedDocuments.leftOutCount) }

    /// How much is left out, as a sentence; `nil` if nothing is.
    package var leftOutText: String? {
        func text(_ count: Int, _ noun: String, _ kept: Int) -> String? {
            guard count > 0 else { return nil }
            let isAll = count < RankedMembers<String>.maximumLeftOut
            let subject = "\(isAll ? "" : "at least ")\(count) \(noun)"
            return (count == 1 ? "\(subject) does" : "\(subject)s do") + " not fit beside \(kept) others"
        }
        let texts = [
            text(leftOut.boards, "device", boards.count), text(leftOut.documents, "document", documents.count),
        ]
        return texts.contains { $0 != nil } ? texts.compactMap { $0 }.joined(separator: ", ") : nil
    }

    /// Takes the devices that this machine knows. They are kept before others.
    package mutating func remember(_ devices: KnownDevices) {
        raise(devices.known, to: .known)
        raise(devices.seen, to: .seen)
    }

    /// The devices that this machine knows, and those for which the broker holds a document.
    package var knownDevices: Set<String> { Set(ranks.lazy.filter { $0.value >= .documented }.map(\.key)) }

    /// Notes that the broker holds a document, which need not be in the model: its device is kept before others.
    package mutating func noteDocument(_ id: FleetDocumentID) {
        if let device = id.device { raise([device], to: .documented) }
    }

    private mutating func raise(_ ids: some Sequence<String>, to rank: DeviceRank) {
        for id in ids where self.rank(of: id) < rank {
            guard ranks[id] != nil || ranks.count < FleetModel.maximumRanks else { return }
            ranks[id] = rank
            ranked.raise(id, to: rank)
            for document in [FleetDocumentID.device(id), .registry(id)] { rankedDocuments.raise(document, to: rank) }
        }
    }

    private func rank(of id: String) -> DeviceRank { ranks[id] ?? .claimed }

    private mutating func leaveOut(_ id: String) {
        drop(id)
        removed.append(id)
    }

    /// Returns the devices that were left out in favour of better known ones since the last call.
    package mutating func takeRemoved() -> [String] {
        defer { removed = [] }
        return removed
    }

    // MARK: Devices

    /// What is wrong with a message besides its JSON.
    private struct Malformed: Error, CustomStringConvertible {
        var description: String
    }

    private mutating func update(
        _ id: String, _ topic: String, _ message: MQTTMessage, at now: Timestamp
    ) -> Change? {
        let isEvent = topic.hasPrefix("event/")
        guard isEvent || topic == "availability" || FleetModel.topics.contains(topic) else { return nil }
        // An empty message clears the topic; it does not show that the device exists. Agents do not retain events and near
        // misses: a retained one comes from another client and reappears at every subscription.
        guard !message.payload.isEmpty, !message.retain || !isEvent && topic != FleetModel.nearMiss else { return nil }
        guard JostleSettings.Device.isID(id) else {
            skip(message.topic, "is no topic of a device")
            return nil
        }
        guard onlyDevice == nil || onlyDevice == id else {
            if topic == "availability", otherDevices.count < 1000 { otherDevices.insert(id) }
            return nil
        }
        guard boards[id] != nil || ranked.hasRoom(for: id, rank(of: id)) else {
            ignoredMessages += 1
            skip(message.topic, "is of one device too many")
            return nil
        }
        var board = boards[id] ?? FleetBoard(id: id)
        var change: Change?
        do {
            change = try update(&board, topic, message, at: now)
        } catch {
            skip(message.topic, "\(error)")
            // Problems of JSON say where they are.
            let place = error is Malformed ? "\(topic): " : ""
            let reason = ForeignText.bounded("\(place)\(error)")
            board.malformedMessages += 1
            board.lastProblem = reason
            // The commands of a fleet know a device only by what it says.
            let isForFleet = keepsReports && onlyDevice == nil
            change = error is Malformed && isForFleet ? nil : .malformed(reason)
        }
        if boards[id] == nil {
            guard change != nil || board.report != nil else { return nil }
            if let other = ranked.admit(id, rank(of: id)) { leaveOut(other) }
        }
        boards[id] = board
        return change
    }

    private mutating func update(
        _ board: inout FleetBoard, _ topic: String, _ message: MQTTMessage, at now: Timestamp
    ) throws -> Change? {
        if topic == "availability" { return try updateAvailability(message, &board, at: now) }
        let fields = try JSONValue.foreignObject(message.payload, topic: topic)
        if let time = fields.reportTime { board.lastReport = max(board.lastReport ?? time, time) }
        switch topic {
        case FleetModel.answer: return updateAnswer(fields, &board, at: now)
        case "attitude":
            guard let attitude = FleetBoard.Attitude(fields, at: now) else {
                throw Malformed(description: "no roll, pitch and yaw")
            }
            board.attitude = attitude
            return .attitude
        case "motion":
            board.motion = FleetBoard.Motion(fields)
            return .motion
        case "state":
            board.stateTime = fields["t"]?.foreignTime
            let state = FleetBoard.State(fields)
            guard state != board.state else { return nil }
            board.state = state
            return .state
        case FleetModel.machine:
            guard let machine = FleetBoard.Machine(fields, at: now) else {
                throw Malformed(description: "no phase")
            }
            if let old = board.machine, machine.isRepeated(after: old, isRetained: message.retain) { return nil }
            board.machine = machine
            return .machine
        case "health":
            let health = FleetBoard.Health(message.payload, fields, at: now)
            if let old = board.health, health.isRepeated(after: old, isRetained: message.retain) { return nil }
            board.health = health
            return .health
        case FleetModel.reported: return try updateReport(message, fields, &board, at: now)
        case FleetModel.nearMiss:
            guard let miss = WatchedNearMiss(fields, at: now) else { throw Malformed(description: "no text") }
            board.record(miss)
            return .nearMiss(miss)
        default:
            guard let event = WatchedEvent(fields, at: now) else {
                throw Malformed(description: "no gesture and phase")
            }
            let limit = onlyDevice == nil ? FleetModel.history.each : FleetModel.history.one
            return board.record(event, keeping: limit) ? .event(event) : nil
        }
    }

    private mutating func updateReport(
        _ message: MQTTMessage, _ fields: JSONValue, _ board: inout FleetBoard, at now: Timestamp
    ) throws -> Change? {
        if keepsReports, !admit(message, replacing: board.report?.bytes.count ?? 0, rank(of: board.id)) {
            ranked.leaveOut(board.id)
            throw Malformed(description: FleetModel.noMemory)
        }
        let report = BoardReport(fields, keeping: keepsReports ? message.payload : [])
        let (old, oldLayers) = (board.report, board.layers.map(\.shown))
        board.report = report
        board.reportArrival = now
        if board.layers.map(\.shown) != oldLayers { return .configuration }
        return report.name == old?.name && report.groups ?? [] == old?.groups ?? [] ? nil : .identity
    }

    /// Takes over attitude and state from the answer to `get-state`.
    private func updateAnswer(_ fields: JSONValue, _ board: inout FleetBoard, at now: Timestamp) -> Change? {
        guard fields["ok"]?.bool == true else { return nil }
        let attitude = fields["attitude"].flatMap { FleetBoard.Attitude($0, at: now) }
        if let attitude { board.attitude = attitude }
        let state = fields["state"].flatMap { $0.members == nil ? nil : FleetBoard.State($0) }
        if let state { board.state = state }
        // The state is usually known before, because it is retained.
        return attitude != nil ? .attitude : state != nil ? .state : nil
    }

    private func updateAvailability(
        _ message: MQTTMessage, _ board: inout FleetBoard, at now: Timestamp
    ) throws -> Change? {
        let isOnline: Bool
        switch message.payload {
        case Array("online".utf8): isOnline = true
        case Array("offline".utf8): isOnline = false
        default: throw Malformed(description: "neither online nor offline")
        }
        guard isOnline != board.isOnline else { return nil }
        board.isOnline = isOnline
        board.offlineSince = isOnline || message.retain ? nil : now
        return .availability
    }
}

// MARK: Questions

extension FleetModel {
    /// The devices of which anything is known, in the order of their ids: also those that only documents name.
    package var allBoards: [FleetBoard] {
        var ids = Set(boards.keys)
        for document in documents.keys {
            if let id = document.device { ids.insert(id) }
        }
        return ids.sorted().map { boards[$0] ?? FleetBoard(id: $0) }
    }

    /// The devices whose reports of a document count, and whether more than these reports says that they read it. Whoever may
    /// write the topics of one device can claim any group: if the registry puts devices into it, only these count.
    func voters(on document: FleetDocumentID) -> (boards: [FleetBoard], areCertain: Bool) {
        let readers = readers(of: document)
        guard case .group(let name) = document else { return (readers, true) }
        let members = readers.filter { board in
            (documents[.registry(board.id)]?.registry?.groups ?? keptGroups[board.id])?.contains(name) == true
        }
        return members.contains { $0.isOnline == true } ? (members, true) : (readers, false)
    }

    /// Whether more than half of the devices that are online claim a document that the broker lacks, whichever that is: not
    /// only the one of all devices, which somebody may have removed.
    var hasLostStore: Bool {
        let online = boards.values.filter { $0.isOnline == true }
        func count(_ isMeant: (FleetDocumentID) -> Bool) -> Int {
            online.count { board in
                board.statuses.contains {
                    isMeant($0.document) && $0.layer.claimsLater(than: documents[$0.document]?.revision)
                }
            }
        }
        let mayBeRemoved = count { $0 == .all } == online.count
        return 2 * count { $0 != .all || !mayBeRemoved } > online.count
    }

    /// The groups of a device: those of the registry, else those that it reports, lowest layer first.
    package func groups(of id: String) -> [String] {
        documents[.registry(id)]?.registry?.groups ?? boards[id]?.report?.groups ?? []
    }

    /// All groups, of devices or with a layer, in order.
    package var groups: [String] {
        var names: Set<String> = []
        for board in allBoards {
            names.formUnion(groups(of: board.id))
            names.formUnion(board.report?.groups ?? [])
        }
        for case .group(let name) in documents.keys { names.insert(name) }
        return names.sorted()
    }

    /// The documents that a device reads, lowest layer first.
    package func documents(of id: String) -> [FleetDocumentID] {
        var groups = groups(of: id)
        // During a change of groups, the device may still read the layer of the former group.
        for name in boards[id]?.report?.groups ?? [] where !groups.contains(name) { groups.append(name) }
        return [.all] + groups.map { .group($0) } + [.device(id), .registry(id)]
    }

    /// Whether a device reads a document.
    package func reads(_ id: String, _ document: FleetDocumentID) -> Bool { documents(of: id).contains(document) }

    /// The devices that read a document, in the order of their ids.
    package func readers(of document: FleetDocumentID) -> [FleetBoard] {
        switch document {
        case .device(let id), .registry(let id): [boards[id] ?? FleetBoard(id: id)]
        case .all, .group: allBoards.filter { reads($0.id, document) }
        }
    }
}

/// The devices that this machine knows, whatever the broker says: where there are too many, they are kept first.
package struct KnownDevices: Equatable, Sendable {
    /// Those that were enrolled here, that a command names, or whose layer or groups are in the history.
    package var known: Set<String>
    /// Those that the last command found that had room for all.
    package var seen: Set<String>

    package init(known: Set<String> = [], seen: Set<String> = []) {
        self.known = known
        self.seen = seen
    }
}
