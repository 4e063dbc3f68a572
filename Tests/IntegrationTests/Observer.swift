import BrokerTestSupport
import Foundation
import MosquittoClient
import Synchronization
import Testing

/// A client that subscribes to all topics of a broker and stores the messages.
final class Observer: Sendable {
    private let client: MQTTClient
    private let log: Log

    private final class Log: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
        let subscriptions = Atomic<Int>(0)
        /// The numbers of the last mark that was sent, and of the last one that came back.
        let sentMark = Atomic<Int>(0)
        let receivedMark = Atomic<Int>(0)
    }

    /// The topic of its messages to itself.
    private let markTopic: String

    /// Connects and waits for the subscription. With a session, the broker keeps the messages that the observer misses.
    init(
        _ port: UInt16, credentials: MQTTCredentials? = nil, hasSession: Bool = false,
        versions: MQTTOptions.Versions = .automatic
    ) async throws {
        var options = MQTTOptions(
            brokers: [BrokerAddress(host: "127.0.0.1", port: port)], clientID: "observer-\(UUID().uuidString)")
        options.credentials = credentials
        options.versions = versions
        // As much as a test publishes at once.
        options.queueCapacity = 20_000
        if hasSession { options.sessionExpiry = .seconds(3600) }
        options.backoff.base = .milliseconds(20)
        options.backoff.cap = .milliseconds(200)
        let log = Log()
        self.log = log
        let markTopic = "observer/\(UUID().uuidString)"
        self.markTopic = markTopic
        client = try MQTTClient(options: options) { event in
            switch event {
            case .message(let message) where message.topic == markTopic:
                log.receivedMark.store(Int(String(decoding: message.payload, as: UTF8.self)) ?? 0, ordering: .relaxed)
            case .message(let message): log.messages.withLock { $0.append(message) }
            case .subscribed: log.subscriptions.add(1, ordering: .relaxed)
            default: break
            }
        }
        try client.subscribe(to: "#", qos: .atLeastOnce)
        try client.start()
        try #require(await subscribed(times: 1), "no subscription")
    }

    /// Publishes a message.
    func publish(_ message: MQTTMessage) throws {
        try client.publish(message)
    }

    /// Publishes a text with QoS 1.
    func publish(_ topic: String, _ text: String = "", retain: Bool = false) throws {
        try client.publish(MQTTMessage(topic: topic, text: text, qos: .atLeastOnce, retain: retain))
    }

    deinit {
        _ = client.stop(within: .milliseconds(100))
    }

    /// Waits until it has been subscribed `times` times: once more after each restart of the broker.
    func subscribed(times: Int) async -> Bool {
        await eventually { log.subscriptions.load(ordering: .relaxed) >= times }
    }

    /// Waits for what the broker has forwarded to others so far: it forwards in order.
    func catchUp() async throws {
        let number = log.sentMark.add(1, ordering: .relaxed).newValue
        // With the quality of service of the others: the order is kept within one.
        try publish(MQTTMessage(topic: markTopic, text: "\(number)", qos: .atLeastOnce))
        try #require(await eventually { log.receivedMark.load(ordering: .relaxed) == number })
    }

    /// All messages, in order.
    var all: [MQTTMessage] { log.messages.withLock { $0 } }

    /// The topics of all messages, in order.
    var topics: [String] { all.map(\.topic) }

    /// The messages on a topic of a device, in order.
    func messages(_ end: String, of device: String = "dut") -> [MQTTMessage] {
        let topic = "jostle/\(device)/\(end)"
        return log.messages.withLock { $0 }.filter { $0.topic == topic }
    }

    /// The messages on a topic of a device, as text.
    func texts(_ end: String, of device: String = "dut") -> [String] {
        messages(end, of: device).map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// The messages on a topic of a device, as JSON objects.
    func objects(_ end: String, of device: String = "dut") throws -> [[String: Any]] {
        try messages(end, of: device).map { message in
            try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
        }
    }

    /// Waits until the received messages satisfy a condition.
    func sees(within limit: Duration = patience, _ condition: (Observer) throws -> Bool) async -> Bool {
        await eventually(within: limit) { (try? condition(self)) ?? false }
    }

    /// A setting in the device's last report, such as `gestures.shake.sensitivity`; `nil` if there is none.
    func setting(_ key: String, of device: String = "dut") throws -> Any? {
        var value: Any? = try objects("config/reported", of: device).last?["settings"]
        for part in key.split(separator: ".") { value = (value as? [String: Any])?[String(part)] }
        return value
    }

    /// The layer of a key according to the device's last report.
    func origin(_ key: String, of device: String = "dut") throws -> String? {
        (try objects("config/reported", of: device).last?["origins"] as? [String: String])?[key]
    }

    /// Waits until the received messages satisfy a condition. If they never do, the failure shows what the agent wrote.
    func expect(
        _ agent: JostleProgram? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (Observer) throws -> Bool
    ) async {
        let isMet = await sees(condition)
        #expect(isMet, "\(agent?.errors ?? "")", sourceLocation: sourceLocation)
    }

    /// Waits for an availability of the device, after at least `count` messages about it.
    func availability(_ word: String, of device: String = "dut", count: Int = 1) async -> Bool {
        await sees { observer in
            let words = observer.texts("availability", of: device)
            return words.count >= count && words.last == word
        }
    }
}

/// A gesture's event as it was published.
struct PublishedEvent: Equatable {
    var run: String
    var number: Int
    var gesture: String
    var phase: String

    init(_ object: [String: Any]) throws {
        let parts = try #require(object["id"] as? String).split(separator: "-")
        try #require(parts.count == 2)
        run = String(parts[0])
        number = try #require(Int(parts[1]))
        gesture = try #require(object["gesture"] as? String)
        phase = try #require(object["phase"] as? String)
    }
}

extension Observer {
    /// The published shakes, without the repetitions that QoS 1 allows.
    func shakes(of device: String = "dut") throws -> [PublishedEvent] {
        try events("shake", of: device)
    }

    /// The published events of a gesture, without the repetitions that QoS 1 allows.
    func events(_ gesture: String, of device: String = "dut") throws -> [PublishedEvent] {
        var events: [PublishedEvent] = []
        for object in try objects("event/" + gesture, of: device) {
            let event = try PublishedEvent(object)
            if !events.contains(event) { events.append(event) }
        }
        return events
    }
}

/// Checks that the events of one run are numbered 1, 2, 3… without gaps, that those of each gesture are in order, and
/// that each beginning has its end.
func expectComplete(_ observer: Observer, sourceLocation: SourceLocation = #_sourceLocation) throws {
    var all: [PublishedEvent] = []
    for gesture in ["shake", "tap", "flick", "turn", "flip", "tilt", "fall", "impact", "motion", "vibration"] {
        let events = try observer.events(gesture)
        #expect(events.map(\.number) == events.map(\.number).sorted(), "\(events)", sourceLocation: sourceLocation)
        for (index, event) in events.filter({ !["recognized", "changed"].contains($0.phase) }).enumerated() {
            let isExpected =
                index % 2 == 0 ? event.phase == "began" : event.phase == "ended" || event.phase == "cancelled"
            #expect(isExpected, "\(events)", sourceLocation: sourceLocation)
        }
        all += events
    }
    #expect(Set(all.map(\.run)).count == 1, sourceLocation: sourceLocation)
    #expect(all.map(\.number).sorted() == Array(1...max(1, all.count)), sourceLocation: sourceLocation)
}
