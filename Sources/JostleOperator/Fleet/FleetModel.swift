internal import JostleConfiguration
package import JostleMessages
internal import LinuxSystem
package import MosquittoClient
package import MotionCore

/// What a broker holds of a fleet: the documents and what the devices report. Updated message by message, and bounded
/// whatever the messages contain.
package struct FleetModel: Sendable {
    /// The most devices, documents and bytes of documents and reports that are kept. Messages beyond are only counted.
    package static let maximum = (boards: 10_000, documents: 20_000, bytes: 256 << 20)

    /// A message that is ignored, and why.
    package struct Skipped: Equatable, Sendable {
        package var topic: String
        package var reason: String
    }

    package let topics: FleetTopics

    /// The devices by their ids.
    package private(set) var boards: [String: FleetBoard] = [:]

    /// The documents that the broker holds.
    package private(set) var documents: [FleetDocumentID: StoredDocument] = [:]

    /// Whose documents count; `nil` for everybody's.
    package var trust: DocumentTrust?

    /// The highest revision number of each document that this machine has seen earlier.
    package var seenNumbers: [FleetDocumentID: Int64] = [:]

    /// The revision numbers that this machine sent earlier, and has not seen at the broker.
    package var sentNumbers: [FleetDocumentID: Set<Int64>] = [:]

    /// The number of messages that were ignored, and the first of them.
    package private(set) var skippedMessages = 0
    package private(set) var firstSkipped: [Skipped] = []

    /// The bytes of documents and reports.
    private var bytes = 0

    package init(topics: FleetTopics) {
        self.topics = topics
    }

    /// Updates the model with a message.
    package mutating func update(with message: MQTTMessage, at now: Timestamp) {
        if let document = FleetDocumentID(topic: message.topic, topics) {
            update(document, message)
        } else if message.topic.hasPrefix("\(topics.prefix)/") {
            let levels = message.topic.dropFirst(topics.prefix.count + 1).split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard levels.count == 2, let id = levels.first.map(String.init) else { return }
            update(id, String(levels[1]), message, at: now)
        }
    }

    /// Forgets documents, before they are read again.
    package mutating func forget(_ documents: some Sequence<FleetDocumentID>) {
        for document in documents {
            if let old = self.documents.removeValue(forKey: document) { bytes -= old.bytes.count }
        }
    }

    private mutating func update(_ id: FleetDocumentID, _ message: MQTTMessage) {
        guard !message.payload.isEmpty else { return forget([id]) }
        guard message.payload.count <= DocumentEnvelope.maximumBytes else {
            return skip(message.topic, "is longer than \(DocumentEnvelope.maximumBytes) bytes")
        }
        guard documents[id] != nil || documents.count < FleetModel.maximum.documents else {
            return skip(message.topic, "is one document too many")
        }
        guard let size = admit(message, replacing: documents[id]?.bytes.count ?? 0) else { return }
        bytes = size
        documents[id] = StoredDocument(id, message.payload, trust: trust)
    }

    /// The size of everything with a message; `nil` if there is no room for it.
    private mutating func admit(_ message: MQTTMessage, replacing old: Int) -> Int? {
        let size = bytes - old + message.payload.count
        guard size <= FleetModel.maximum.bytes else {
            skip(message.topic, "does not fit into the memory set aside")
            return nil
        }
        return size
    }

    // MARK: Devices

    private mutating func update(_ id: String, _ topic: String, _ message: MQTTMessage, at now: Timestamp) {
        let isEvent = topic.hasPrefix("event/")
        guard !message.payload.isEmpty, !isEvent || !message.retain,
            isEvent || ["availability", "config/reported", "health", "state"].contains(topic)
        else { return }
        guard JostleSettings.Device.isID(id) else { return skip(message.topic, "is no topic of a device") }
        guard boards[id] != nil || boards.count < FleetModel.maximum.boards else {
            return skip(message.topic, "is of one device too many")
        }
        var board = boards[id] ?? FleetBoard(id: id)
        do {
            switch topic {
            case "availability":
                switch message.payload {
                case Array("online".utf8): board.isOnline = true
                case Array("offline".utf8): board.isOnline = false
                default: return skip(message.topic, "neither online nor offline")
                }
            case "config/reported":
                guard let size = admit(message, replacing: board.report?.bytes.count ?? 0) else { return }
                board.report = try BoardReport(reading: message.payload)
                board.reportArrival = now
                bytes = size
            case "health":
                let health = WatchedDevice.Health(try MessageFields(message.payload, topic: topic), at: now)
                // What the broker still holds when it comes back may be older than what was seen.
                if message.retain, let old = board.health, (health.uptime ?? 0) <= (old.uptime ?? 0) { return }
                board.health = health
            case "state": board.state = WatchedDevice.State(try MessageFields(message.payload, topic: topic))
            default:
                guard let event = WatchedEvent(try MessageFields(message.payload, topic: topic), at: now) else {
                    return skip(message.topic, "no gesture and phase")
                }
                board.lastEvent = event
            }
        } catch {
            skip(message.topic, "\(error)")
        }
        boards[id] = board
    }

    private mutating func skip(_ topic: String, _ reason: String) {
        skippedMessages += 1
        guard firstSkipped.count < 5 else { return }
        firstSkipped.append(Skipped(topic: MessageFields.bounded(topic), reason: MessageFields.bounded(reason)))
    }
}

// MARK: Questions

extension FleetModel {
    /// The devices of which anything is known, in the order of their ids: also those that only documents name.
    package var allBoards: [FleetBoard] {
        var ids = Set(boards.keys)
        for document in documents.keys {
            if case .device(let id) = document { ids.insert(id) }
            if case .registry(let id) = document { ids.insert(id) }
        }
        return ids.sorted().map { boards[$0] ?? FleetBoard(id: $0) }
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

/// A device of a fleet, as far as it has published anything.
package struct FleetBoard: Equatable, Sendable {
    package let id: String

    /// The availability at the broker; `nil` if it is unknown.
    package internal(set) var isOnline: Bool?

    package internal(set) var report: BoardReport?
    /// When the report arrived.
    var reportArrival: Timestamp?
    package internal(set) var health: WatchedDevice.Health?
    package internal(set) var state: WatchedDevice.State?

    /// The last event that arrived while listening.
    package internal(set) var lastEvent: WatchedEvent?

    package init(id: String) {
        self.id = id
    }

    /// What the board reports of a document; `nil` if it reports nothing of it.
    package func status(of document: FleetDocumentID) -> BoardReport.Layer? {
        switch document {
        case .registry(let id): id == self.id ? report?.registry : nil
        case .device(let id): id == self.id ? report?.layers?[.device] : nil
        case .all, .group: document.layer.flatMap { report?.layers?[$0] }
        }
    }

    /// What the board reports of all its documents, lowest layer first.
    package var statuses: [(document: FleetDocumentID, layer: BoardReport.Layer)] {
        var statuses = (report?.layers ?? [:]).map { name, layer in
            (document: FleetDocumentID(name, of: id), layer: layer)
        }
        if let registry = report?.registry { statuses.append((.registry(id), registry)) }
        let order = report?.groups ?? []
        return statuses.sorted { one, other in
            if case .group(let a) = one.document, case .group(let b) = other.document {
                let (first, second) = (order.firstIndex(of: a) ?? order.count, order.firstIndex(of: b) ?? order.count)
                return first == second ? a < b : first < second
            }
            return one.document < other.document
        }
    }

    /// What needs somebody's attention, in short texts.
    package var problems: [String] {
        var problems = statuses.compactMap { document, layer -> String? in
            let name = document.layer?.text ?? "registry"
            if layer.status.isProblem { return "\(name) \(layer.status.word)" }
            return layer.candidateErrors.isEmpty ? nil : "\(name) candidate refused"
        }
        problems += health?.problems ?? []
        return problems
    }
}

extension FleetDocumentID {
    /// The layer of a report of the device `id`.
    package init(_ layer: LayerName, of id: String) {
        switch layer {
        case .all: self = .all
        case .group(let name): self = .group(name)
        case .device: self = .device(id)
        }
    }
}

/// The ids and groups of a fleet, kept in a file for the completion of the shell.
package struct FleetNames: Equatable, Sendable {
    package var ids: [String]
    package var groups: [String]

    private static let fileName = "fleet-names"
    private static let maximumBytes = 4 << 20

    /// The names of a fleet.
    package init(_ model: FleetModel) {
        ids = model.allBoards.map(\.id)
        groups = model.groups
    }

    /// The names that were last kept; none if there is no such file.
    package init(stateDirectory: String) {
        let path = "\(stateDirectory)/\(FleetNames.fileName)"
        let text = FileContents.text(ofOptional: path, limit: FleetNames.maximumBytes) ?? ""
        (ids, groups) = ([], [])
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2, JostleSettings.Device.isID(words[1]) else { continue }
            if words[0] == "id" { ids.append(words[1]) } else { groups.append(words[1]) }
        }
    }

    /// Keeps the names. A failure is not reported: only the completion lacks them.
    package func keep(stateDirectory: String) {
        guard self != FleetNames(stateDirectory: stateDirectory) else { return }
        FileContents.makeDirectories(stateDirectory)
        let lines = ids.map { "id \($0)\n" } + groups.map { "group \($0)\n" }
        do {
            try FileContents.replace("\(stateDirectory)/\(FleetNames.fileName)", with: Array(lines.joined().utf8))
        } catch {}
    }
}
