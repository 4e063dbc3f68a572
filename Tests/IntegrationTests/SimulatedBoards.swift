import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Synchronization
import Testing

/// Boards of a fleet in one MQTT client: they read layers and groups, and report what became of them.
final class SimulatedBoards: Sendable {
    /// How a board reacts to a layer.
    enum Behaviour: Sendable {
        case takesAll
        /// It rejects layers that set `gestures.shake.sensitivity`.
        case rejectsSensitivity
        /// It undoes candidates.
        case undoesCandidates
        /// It does not react.
        case isSilent
    }

    struct Board: Sendable {
        var id: String
        var groups: [String] = []
        var behaviour = Behaviour.takesAll
        var isOnline = true
        /// Whether its program takes documents with an epoch.
        var takesEpochs = true
        /// The reports of its layers, by their names.
        var layers: [String: String] = [:]
        var registry: String?
        var settings = #"{"gestures":{"shake":{"sensitivity":5}},"fleet":{"remote":["gestures"]}}"#
        var origins = #"{"gestures.shake.sensitivity":"file"}"#
        var health = #"{"version":"0.1.0","sensor":"MPU-6050","problems":[]}"#

        var report: String {
            let layers = layers.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            let groups = groups.map { "\"\($0)\"" }.joined(separator: ",")
            let registry = registry.map { ",\"registry\":\($0)" } ?? ""
            let epochs = takesEpochs ? ",\"epochs\":true" : ""
            return "{\"run\":\"1\"\(epochs),\"groups\":[\(groups)],\"layers\":{\(layers)}\(registry),"
                + "\"settings\":\(settings),\"origins\":\(origins)}"
        }
    }

    private final class Shared: Sendable {
        let boards: Mutex<[Board]>
        let client = Mutex<MQTTClient?>(nil)
        let subscriptions = Atomic<Int>(0)

        init(_ boards: [Board]) { self.boards = Mutex(boards) }

        func publish(_ topic: String, _ text: String, retain: Bool = true, properties: MQTTMessage.Properties = .init())
        {
            let message = MQTTMessage(
                topic: topic, payload: Array(text.utf8), qos: .atLeastOnce, retain: retain, properties: properties)
            client.withLock { try? $0?.publish(message) }
        }
    }

    private let shared: Shared
    private static let filters = [
        "jostle/_all/config", "jostle/_group/+/config", "jostle/+/config/desired", "jostle/_registry/+",
        "jostle/+/command/+",
    ]

    /// Connects the boards, which publish their availability, health and reports.
    init(_ port: UInt16, _ boards: [Board]) async throws {
        let shared = Shared(boards)
        self.shared = shared
        var options = MQTTOptions(
            brokers: [BrokerAddress(host: "127.0.0.1", port: port)], clientID: "boards-\(UUID().uuidString)")
        options.queueCapacity = 20_000
        let client = try MQTTClient(options: options) { event in
            switch event {
            case .message(let message): SimulatedBoards.take(message, shared)
            case .subscribed: shared.subscriptions.add(1, ordering: .relaxed)
            default: break
            }
        }
        shared.client.withLock { $0 = client }
        for filter in SimulatedBoards.filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
        try client.start()
        let isReady = await eventually {
            shared.subscriptions.load(ordering: .relaxed) >= SimulatedBoards.filters.count
        }
        try #require(isReady, "no subscriptions")
        for board in boards {
            shared.publish("jostle/\(board.id)/availability", board.isOnline ? "online" : "offline")
            shared.publish("jostle/\(board.id)/health", board.health)
            shared.publish("jostle/\(board.id)/config/reported", board.report)
        }
        let isPublished = await eventually { client.statistics.acknowledged >= UInt64(3 * boards.count) }
        try #require(isPublished || boards.isEmpty, "no acknowledgements")
    }

    deinit {
        let client = shared.client.withLock { client in
            defer { client = nil }
            return client
        }
        _ = client?.stop(within: .milliseconds(100))
    }

    /// The boards with what they report now.
    var boards: [Board] { shared.boards.withLock { $0 } }

    /// Publishes a message as the boards' broker user.
    func publish(_ topic: String, _ text: String, retain: Bool = true) {
        shared.publish(topic, text, retain: retain)
    }

    private static func take(_ message: MQTTMessage, _ shared: Shared) {
        let levels = message.topic.split(separator: "/").map(String.init)
        if levels.count == 4, levels[2] == "command" { return answer(levels[1], message, shared) }
        let topics = FleetTopics(prefix: "jostle")
        guard let content = topics.content(of: message.topic), !message.payload.isEmpty else { return }
        let changed = shared.boards.withLock { boards in
            var changed: [Board] = []
            for index in boards.indices where boards[index].isOnline && boards[index].behaviour != .isSilent {
                if boards[index].take(content, message.payload) { changed.append(boards[index]) }
            }
            return changed
        }
        for board in changed {
            shared.publish("jostle/\(board.id)/config/reported", board.report)
            shared.publish("jostle/\(board.id)/health", board.health)
        }
    }

    private static func answer(_ id: String, _ message: MQTTMessage, _ shared: Shared) {
        let board = shared.boards.withLock { boards in boards.first { $0.id == id } }
        guard let board, board.isOnline, board.behaviour != .isSilent else { return }
        let isKnown = message.topic.hasSuffix("/ping")
        let refusal = #"{"ok":false,"error":"unknown","message":"no such command"}"#
        let text = isKnown ? #"{"ok":true,"uptime":12}"# : refusal
        let properties = MQTTMessage.Properties(correlationData: message.properties.correlationData)
        shared.publish("\(message.topic)/result", text, retain: false)
        guard let topic = message.properties.responseTopic else { return }
        shared.publish(topic, text, retain: false, properties: properties)
    }
}

extension SimulatedBoards.Board {
    /// Takes a document; returns whether the report changed.
    fileprivate mutating func take(_ content: FleetTopics.Content, _ payload: [UInt8]) -> Bool {
        switch content {
        case .registry(let id):
            guard id == self.id, let document = try? RegistryDocument(reading: payload) else { return false }
            groups = document.groups
            let epoch = document.revision.epoch.isEmpty ? "" : ",\"epoch\":\"\(document.revision.epoch)\""
            registry = #"{"status":"applied","revision":\#(document.revision.number)\#(epoch)}"#
        case .layer(let name, let id):
            if let id, id != self.id { return false }
            if case .group(let group) = name, !groups.contains(group) { return false }
            guard let document = try? LayerDocument(reading: payload, layer: name.text) else { return false }
            let revision = document.revision
            let epoch = revision.epoch.isEmpty ? "" : ",\"epoch\":\"\(revision.epoch)\""
            if !takesEpochs, !revision.epoch.isEmpty {
                layers[name.text] =
                    #"{"status":"rejected","revision":\#(revision.number),"in_force":0,"errors":[{"path":"epoch","reason":"unknown key"}]}"#
                return true
            }
            let isChosen = document.candidate?.selects(self.id) == true
            if behaviour == .rejectsSensitivity, document.config["gestures"]?["shake"]?["sensitivity"] != nil {
                let error =
                    #"{"path":"gestures.shake.sensitivity","value":7,"allowed":"1 … 6","reason":"out of bounds"}"#
                layers[name.text] =
                    #"{"status":"rejected","revision":\#(revision.number)\#(epoch),"in_force":0,"errors":[\#(error)]}"#
            } else if isChosen, behaviour == .undoesCandidates {
                layers[name.text] =
                    #"{"status":"rolled_back","revision":\#(revision.number)\#(epoch),"in_force":0,"reason":"no samples"}"#
            } else {
                layers[name.text] =
                    #"{"status":"applied","revision":\#(revision.number),"hash":"\#(revision.shortHash)"\#(epoch),"candidate":\#(isChosen)}"#
            }
        }
        return true
    }
}
