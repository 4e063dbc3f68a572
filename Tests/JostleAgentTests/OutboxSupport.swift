import JostleConfiguration
import MotionCore

@testable import JostleAgent

/// An outbox with a stand-in for the loop: batches are written at once, and messages are collected.
final class OutboxRig {
    /// An input of the outbox.
    enum Step {
        case add(OutgoingMessage)
        case setGesture(OpenGesture, isOpen: Bool)
        case connected
        case disconnected(undelivered: [Int64])
        case acknowledged(Int64)
        case rejected(Int64)
    }

    var clocks = ClockReading.start
    private(set) var sent: [(text: String, row: Int64)] = []
    private(set) var lines: [String] = []
    var outbox: Outbox
    let file: OutboxFile

    /// Creates an outbox with a file in a directory.
    init(directory: String, count: Int = 10_000, maximumBytes: Int = 1 << 24) {
        var limits = JostleSettings.Outbox()
        limits.maximumCount = count
        file = OutboxFile(directory: directory, maximumBytes: maximumBytes)
        let opened = file.open()
        var lines: [String] = []
        opened.log { lines.append($1) }
        self.lines = lines
        outbox = Outbox(opened, limits: limits, eventExpiry: 3600, window: 10_000)
        carryOut(outbox.start(at: self.clocks))
    }

    var now: Timestamp { clocks.monotonic }
    var statistics: Outbox.Statistics { outbox.statistics }
    var interrupted: [OpenGesture] { outbox.interrupted }

    func pass(_ seconds: Double) { clocks.pass(seconds) }

    /// The messages sent since the last call.
    func takeSent() -> [String] {
        defer { sent = [] }
        return sent.map(\.text)
    }

    func forgetLines() { lines = [] }

    /// A message measured now.
    func message(_ text: String) -> OutgoingMessage {
        OutgoingMessage(topic: "t", content: .fixed(Array(text.utf8)), time: EventTime(now, clocks))
    }

    /// Passes the steps to the outbox and handles the deadline that is due.
    ///
    /// - Returns: the next deadline.
    @discardableResult
    func process(_ steps: [Step] = []) -> Timestamp? {
        var updates: [Outbox.Update] = []
        for step in steps {
            switch step {
            case .add(let message): updates.append(.add(message))
            case .setGesture(let gesture, let isOpen): updates.append(.setGesture(gesture, isOpen: isOpen))
            case .connected: deliver(.connected, &updates)
            case .disconnected(let rows):
                deliver(.disconnected(undelivered: rows.map { DeliveryToken(number: $0) }), &updates)
            case .acknowledged(let row): deliver(.acknowledged(DeliveryToken(number: row)), &updates)
            case .rejected(let row):
                deliver(.rejected(DeliveryToken(number: row), topic: "t", .refused(.payloadFormatInvalid)), &updates)
            }
        }
        take(&updates)
        carryOut(outbox.handleDeadline(at: clocks))
        return outbox.nextDeadline
    }

    private func deliver(_ event: ParticipantEvent, _ updates: inout [Outbox.Update]) {
        take(&updates)
        carryOut(outbox.handle(event, at: clocks))
    }

    private func take(_ updates: inout [Outbox.Update]) {
        guard !updates.isEmpty else { return }
        carryOut(outbox.apply(updates, at: clocks))
        updates = []
    }

    private func carryOut(_ effects: Outbox.Effects) {
        for effect in effects {
            switch effect {
            case .publish(let message, let token):
                sent.append((String(decoding: message.payload, as: UTF8.self), token?.number ?? 0))
            case .log(_, let text): lines.append(text)
            case .request(.write(let batch)): carryOut(outbox.handle(file.write(batch), at: clocks))
            case .request(.checkpoint): file.checkpoint()
            case .request(.reportHealth), .request(.endInterrupted), .subscribe, .unsubscribe, .write: break
            }
        }
    }

    /// What is in a file, and what is damaged.
    static func contents(of path: String) throws -> (OutboxContent, damage: String?) {
        try OutboxStore(path: path, maximumBytes: 1 << 24).read()
    }

    /// Writes what is left and closes the file.
    func close() {
        carryOut(outbox.flush(at: clocks))
        file.close()
    }
}
