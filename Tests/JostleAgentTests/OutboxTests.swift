import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a message is stored before it is sent; a failing or slow disk costs no gesture and is reported. These
/// tests use no threads, disk or broker.
@Suite struct OutboxTests {
    /// An outbox whose batches stay in progress until the test provides their outcome.
    private struct Bench {
        var outbox = Outbox(OutboxFile.Opened(), limits: OutboxLimits(), eventExpiry: 3600)
        var clocks = ClockReading(
            boot: "a", monotonic: Timestamp(seconds: 100), sinceBoot: BootTime(nanoseconds: 100_000_000_000),
            wall: 1_795_000_000_000, isSet: true)
        var batches: [OutboxBatch] = []
        var sent: [Int64] = []
        var lines: [String] = []
        var reportsHealth = false

        mutating func pass(_ seconds: Double) {
            clocks.monotonic = clocks.monotonic.advanced(bySeconds: seconds)
            clocks.sinceBoot.nanoseconds += Int64(seconds * 1e9)
            clocks.wall += Int64(seconds * 1000)
            carryOut(outbox.handleDeadline(at: clocks))
        }

        mutating func add(_ count: Int = 1, qos: MQTTQoS = .atLeastOnce, topic: String = "t") {
            let message = OutgoingMessage(
                topic: topic, content: .fixed([1]), qos: qos, time: EventTime(clocks.monotonic, clocks))
            carryOut(outbox.apply(Array(repeating: .add(message), count: count), at: clocks))
        }

        mutating func deliver(_ event: ParticipantEvent<OutboxToken>) { carryOut(outbox.handle(event, at: clocks)) }

        mutating func refuse(_ row: Int64, _ reason: MQTTReason = .quotaExceeded, topic: String = "t") {
            deliver(.rejected(OutboxToken(row: row), topic: topic, .refused(reason)))
        }

        mutating func acknowledge(_ rows: Int64...) {
            for row in rows { deliver(.acknowledged(OutboxToken(row: row))) }
        }

        /// Provides the outcome of the oldest batch.
        mutating func answer(_ outcome: OutboxFile.Outcome) {
            batches.removeFirst()
            carryOut(outbox.handle(outcome, at: clocks))
        }

        mutating func takeSent() -> [Int64] {
            defer { sent = [] }
            return sent
        }

        private mutating func carryOut(_ effects: Outbox.Effects) {
            for effect in effects {
                switch effect {
                case .publish(_, let token): sent.append(token?.row ?? 0)
                case .log(_, let text): lines.append(text)
                case .request(.write(let batch)): batches.append(batch)
                case .request(.reportHealth): reportsHealth = true
                case .request(.checkpoint), .subscribe, .unsubscribe, .write: break
                }
            }
        }
    }

    private static let written = OutboxFile.Outcome.written(isCheckpointDue: false)

    @Test func sendsMessagesOnceStored() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(2)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.added.count == 2 && bench.takeSent().isEmpty)
        bench.add()
        #expect(bench.batches.count == 1, "one batch at a time")
        bench.answer(Self.written)
        #expect(bench.takeSent() == [1, 2] && bench.batches.count == 1)
        bench.answer(Self.written)
        #expect(bench.takeSent() == [3] && bench.outbox.statistics.unstored == 0)
    }

    @Test func atMostOnceMessagesAreNotStored() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(qos: .atMostOnce)
        #expect(bench.takeSent() == [1] && bench.batches.isEmpty)
    }

    @Test func collectsDeletions() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(3)
        bench.answer(Self.written)
        bench.acknowledge(1, 2)
        #expect(bench.batches.isEmpty)
        bench.pass(0.3)
        #expect(bench.batches.first?.changes.removed == [1, 2])
    }

    /// The disk stalls for 45 s: the first event is sent within a quarter of a second, later ones at once.
    @Test func sendsFromMemoryWhileDiskStalls() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add()
        bench.pass(0.2)
        #expect(bench.takeSent().isEmpty)
        #expect(bench.outbox.nextDeadline == bench.clocks.monotonic.advanced(bySeconds: 0.05))
        bench.pass(0.06)
        #expect(bench.takeSent() == [1] && bench.reportsHealth)
        #expect(bench.outbox.statistics.failure == "the disk does not respond" && bench.outbox.statistics.unstored == 1)
        for row: Int64 in 2...40 {
            bench.add()
            #expect(bench.takeSent() == [row], "the outbox no longer waits for the disk")
            bench.acknowledge(row)
            bench.pass(1)
        }
        #expect(bench.batches.count == 1 && bench.lines.count == 1, "\(bench.lines)")
        let stalled = bench.outbox.statistics
        #expect(stalled.count == 1 && stalled.sentUnstored == 40 && stalled.dropped == 0)
        bench.reportsHealth = false
        bench.answer(Self.written)
        #expect(bench.outbox.statistics.failure == nil && bench.reportsHealth)
        #expect(bench.lines.last == "the outbox can be written again")
        #expect(bench.outbox.statistics.unstored == 0 && bench.outbox.statistics.sentUnstored == 40)
        // Messages that were acknowledged meanwhile and never stored have no row to delete.
        bench.acknowledge(1)
        bench.pass(0.3)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.added.isEmpty)
        #expect(bench.batches[0].changes.removed == [1])
    }

    @Test func stallWithoutConnectionOnlyDelaysWrite() {
        var bench = Bench()
        bench.add(3)
        bench.pass(10)
        bench.add(2)
        #expect(bench.takeSent().isEmpty && bench.batches.count == 1)
        bench.answer(Self.written)
        #expect(bench.batches.first?.changes.added.map(\.row) == [4, 5])
    }

    @Test func retriesFailedWriteWithNewMessages() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.failure == "no room" && bench.reportsHealth)
        bench.add()
        #expect(bench.takeSent() == [2] && bench.batches.isEmpty)
        bench.pass(2.1)
        #expect(bench.batches.first?.changes.added.map(\.row) == [1, 2])
        bench.answer(.failed("no room"))
        bench.pass(2.1)
        bench.answer(Self.written)
        #expect(
            bench.lines.count == 2 && bench.outbox.statistics.failure == nil && bench.outbox.statistics.unstored == 0)
    }

    /// The broker has every message that could not be written. Nothing is left to write, but the recovery is noticed.
    @Test func noticesRecoveryWithoutMessages() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.acknowledge(1)
        bench.pass(2.1)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.totals != nil)
        bench.answer(Self.written)
        #expect(bench.outbox.statistics.failure == nil && bench.outbox.nextDeadline == nil)
    }

    @Test func replacedFileGetsEverything() {
        var bench = Bench()
        bench.deliver(.connected)
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        _ = bench.outbox.apply([.setGesture(shake, isOpen: true)], at: bench.clocks)
        _ = bench.outbox.handle(Self.written, at: bench.clocks)
        bench.add(2)
        bench.answer(Self.written)
        bench.add()
        bench.answer(.replaced(OutboxFile.SetAside(name: "x", reason: .damaged("torn", saved: 3))))
        let whole = bench.batches.first
        #expect(whole?.isComplete == true && whole?.changes.added.map(\.row) == [1, 2, 3])
        #expect(whole?.changes.gestures.map(\.gesture) == [shake] && whole?.changes.totals != nil)
        #expect(bench.lines.count == 1)
        bench.answer(Self.written)
        bench.add()
        #expect(bench.batches.first?.isComplete == false)
    }

    @Test func limitsMessagesAtClient() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(500)
        bench.answer(Self.written)
        let first = bench.takeSent()
        #expect(first == Array(1...200))
        bench.acknowledge(1, 2)
        #expect(bench.takeSent() == [201, 202])
        // The client had no room for the last two.
        bench.deliver(.notSent([OutboxToken(row: 201), OutboxToken(row: 202)]))
        bench.acknowledge(3)
        #expect(bench.takeSent().isEmpty)
        bench.pass(0.3)
        #expect(bench.takeSent() == [201, 202, 203])
    }

    @Test func resendsAfterReconnection() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(3)
        bench.answer(Self.written)
        bench.acknowledge(2)
        bench.deliver(.disconnected(undelivered: [OutboxToken(row: 1), OutboxToken(row: 3)]))
        _ = bench.takeSent()
        bench.add()
        bench.answer(Self.written)
        #expect(bench.takeSent().isEmpty)
        bench.deliver(.connected)
        #expect(bench.takeSent() == [1, 3, 4])
    }

    @Test(
        "Drops and counts a message that can never be accepted",
        arguments: [
            .refused(.topicNameInvalid), .refused(.payloadFormatInvalid), .refused(.packetTooLarge),
            .library(code: 25),  // MOSQ_ERR_OVERSIZE_PACKET
        ] as [MQTTFailure])
    func dropsImpossibleMessages(failure: MQTTFailure) {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(2)
        bench.answer(Self.written)
        bench.deliver(.rejected(OutboxToken(row: 1), topic: "t", failure))
        #expect(bench.outbox.statistics.count == 1 && bench.outbox.statistics.dropped == 1)
        #expect(bench.lines.count == 1 && bench.lines[0].hasPrefix("dropped a message to t: "), "\(bench.lines)")
        #expect(bench.outbox.statistics.refusals.isEmpty)
    }

    /// An access list in the making, or a quota: the reason may pass.
    @Test(
        "Keeps messages that the broker refuses, and tries the oldest one ever later",
        arguments: [.notAuthorised, .quotaExceeded, .unspecified, MQTTReason(rawValue: 0x83)] as [MQTTReason])
    func keepsRefusedMessages(reason: MQTTReason) {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(3)
        bench.answer(Self.written)
        #expect(bench.takeSent() == [1, 2, 3])
        bench.reportsHealth = false
        for row in 1...3 as ClosedRange<Int64> { bench.refuse(row, reason) }
        #expect(bench.outbox.statistics.count == 3 && bench.outbox.statistics.dropped == 0)
        #expect(bench.outbox.statistics.refusals == ["the broker refuses messages to t: \(reason)"])
        #expect(bench.lines.count == 1 && bench.lines[0].contains("to t") && bench.reportsHealth)
        #expect(bench.outbox.isSettled, "a shutdown does not wait for the broker to change its mind")

        // Others are not affected, and those to the same topic wait.
        bench.add(topic: "other")
        bench.answer(Self.written)
        bench.add(topic: "t")
        bench.answer(Self.written)
        #expect(bench.takeSent() == [4])

        for pause in [10.0, 20, 40, 80, 160, 320, 600, 600] {
            bench.pass(pause - 0.1)
            #expect(bench.takeSent().isEmpty)
            bench.pass(0.1)
            #expect(bench.takeSent() == [1], "one at a time")
            bench.refuse(1, reason)
        }
        #expect(bench.lines.count == 1, "\(bench.lines)")

        bench.pass(600)
        #expect(bench.takeSent() == [1])
        bench.reportsHealth = false
        bench.acknowledge(1)
        #expect(bench.takeSent() == [2, 3, 5] && bench.outbox.statistics.refusals.isEmpty)
        #expect(bench.lines.count == 2 && bench.lines[1].contains("again") && bench.reportsHealth)
        bench.acknowledge(2, 3, 4, 5)
        #expect(bench.outbox.statistics.count == 0)
    }

    @Test func triesRefusedMessagesOnANewConnection() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add(2)
        bench.answer(Self.written)
        for row in 1...2 as ClosedRange<Int64> { bench.refuse(row) }
        _ = bench.takeSent()
        bench.deliver(.disconnected(undelivered: []))
        bench.pass(3600)
        #expect(bench.takeSent().isEmpty)
        bench.deliver(.connected)
        #expect(bench.takeSent() == [1])
        // It is lost with the connection.
        bench.deliver(.disconnected(undelivered: [OutboxToken(row: 1)]))
        bench.deliver(.connected)
        #expect(bench.takeSent() == [1])
        // The client has no room for it.
        bench.deliver(.notSent([OutboxToken(row: 1)]))
        bench.pass(0.3)
        #expect(bench.takeSent() == [1])
        bench.acknowledge(1)
        #expect(bench.takeSent() == [2])
    }

    /// Refused messages count against the limits, like all others.
    @Test func forgetsRefusalsWithTheirMessages() {
        var bench = Bench()
        var limits = OutboxLimits()
        limits.count = 2
        bench.outbox = Outbox(OutboxFile.Opened(), limits: limits, eventExpiry: 3600)
        bench.deliver(.connected)
        bench.add()
        bench.answer(Self.written)
        bench.refuse(1)
        bench.add(2, topic: "other")
        bench.answer(Self.written)
        #expect(bench.outbox.statistics.dropped == 1 && bench.takeSent() == [1, 2, 3])
        bench.pass(10)
        #expect(bench.outbox.statistics.refusals.isEmpty)
        #expect(bench.outbox.nextDeadline.map { $0 > bench.clocks.monotonic } ?? true)
    }

    /// The client rejects messages whose connection ended before it could take them.
    @Test func resendsWhatTheConnectionRejected() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add()
        bench.answer(Self.written)
        _ = bench.takeSent()
        bench.deliver(.rejected(OutboxToken(row: 1), topic: "t", .closed))
        #expect(bench.outbox.statistics.refusals.isEmpty && bench.lines.isEmpty)
        bench.pass(0.3)
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.dropped == 0)
    }

    /// Writes wear out a memory card: nothing is written without a message.
    @Test func connectionsCauseNoWrites() {
        var bench = Bench()
        for _ in 0..<50 {
            bench.deliver(.connected)
            bench.pass(60)
            bench.deliver(.disconnected(undelivered: []))
        }
        #expect(bench.batches.isEmpty && bench.outbox.nextDeadline == nil)
    }

    @Test func isSettledWhenWrittenAndSent() {
        var bench = Bench()
        #expect(bench.outbox.isSettled)
        bench.deliver(.connected)
        bench.add()
        #expect(!bench.outbox.isSettled)
        bench.answer(Self.written)
        #expect(bench.outbox.isSettled)
    }

    /// A message sent from memory is counted once, however often it is sent.
    @Test func countsMessagesSentFromMemoryOnce() {
        var bench = Bench()
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.deliver(.notSent([OutboxToken(row: 1)]))
        #expect(bench.outbox.statistics.unstored == 1 && bench.outbox.statistics.sentUnstored == 0)
        for _ in 0..<3 {
            bench.pass(0.3)
            bench.deliver(.disconnected(undelivered: [OutboxToken(row: 1)]))
            bench.deliver(.connected)
        }
        #expect(bench.outbox.statistics.unstored == 1 && bench.outbox.statistics.sentUnstored == 1)
    }
}
