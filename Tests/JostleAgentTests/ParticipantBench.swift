import MosquittoClient
import MotionCore

@testable import JostleAgent

extension ClockReading {
    /// The clocks at the start of most tests.
    static let start = ClockReading(
        boot: "a", monotonic: Timestamp(seconds: 100), wall: 1_795_000_000_000, isSet: true)

    mutating func pass(_ seconds: Double) {
        monotonic = monotonic.advanced(bySeconds: seconds)
        wall += Int64(seconds * 1000)
    }
}

/// A participant without a loop: effects are collected, and the test controls the time.
struct ParticipantBench<P: Participant> {
    var participant: P
    var clocks = ClockReading.start

    private(set) var published: [(message: MQTTMessage, token: DeliveryToken?)] = []
    private(set) var subscriptions: [String] = []
    private(set) var files: [StateFile: [UInt8]] = [:]
    private(set) var writes = 0
    private(set) var lines: [String] = []
    private(set) var requests: [P.Request] = []

    init(_ participant: P) {
        self.participant = participant
        carryOut(self.participant.start(at: clocks))
    }

    var now: Timestamp { clocks.monotonic }

    /// Advances the time in steps that meet each deadline.
    mutating func pass(_ seconds: Double) {
        let end = now.advanced(bySeconds: seconds)
        while let due = participant.nextDeadline, due <= end {
            let step = max(0.001, due.seconds(since: now))
            clocks.pass(step)
            carryOut(participant.handleDeadline(at: clocks))
        }
        clocks.pass(max(0, end.seconds(since: now)))
    }

    /// Lets time pass without meeting a deadline, then meets those that are due.
    mutating func stall(_ seconds: Double) {
        clocks.pass(seconds)
        carryOut(participant.handleDeadline(at: clocks))
    }

    mutating func deliver(_ event: ParticipantEvent) { carryOut(participant.handle(event, at: clocks)) }

    mutating func receive(_ topic: String, _ text: String, retain: Bool = false) {
        deliver(.message(MQTTMessage(topic: topic, text: text, qos: .atLeastOnce, retain: retain)))
    }

    /// The messages published since the last call.
    mutating func takePublished() -> [(message: MQTTMessage, token: DeliveryToken?)] {
        defer { published = [] }
        return published
    }

    /// The topics of the messages published since the last call.
    mutating func topics() -> [String] { takePublished().map(\.message.topic) }

    mutating func takeLines() -> [String] {
        defer { lines = [] }
        return lines
    }

    mutating func takeRequests() -> [P.Request] {
        defer { requests = [] }
        return requests
    }

    /// The last text written to a file.
    func text(_ file: StateFile) -> String? { files[file].map { String(decoding: $0, as: UTF8.self) } }

    mutating func carryOut(_ effects: P.Effects) {
        for effect in effects {
            switch effect {
            case .publish(let message, let token): published.append((message, token))
            case .subscribe(let filter, _, _): subscriptions.append(filter)
            case .unsubscribe(let filter): subscriptions.removeAll { $0 == filter }
            case .write(let file, let content):
                files[file] = content
                writes += 1
            case .log(_, let text): lines.append(text)
            case .request(let request): requests.append(request)
            }
        }
    }
}

extension Array where Element == UInt8 {
    /// A payload as text.
    var text: String { String(decoding: self, as: UTF8.self) }
}
