import Glibc
import JostleConfiguration
import MosquittoClient
import Testing

@testable import JostleAgent

private func tokens(_ rows: Int64...) -> [DeliveryToken] { rows.map { DeliveryToken(number: $0) } }

private let written = OutboxFile.Outcome.written(isCheckpointDue: false)

/// Requirement: a message is stored before it is sent; a failing or slow disk costs no gesture and is reported. These
/// tests use no threads, disk or broker.
@Suite struct OutboxTests {
    /// An outbox whose batches stay in progress until the test provides their outcome.
    private final class Bench {
        var outbox = Outbox(OutboxFile.OpenResult(), limits: JostleSettings.Outbox(), eventExpiry: 3600)
        var clocks = ClockReading.start
        var batches: [OutboxBatch] = []
        var sent: [Int64] = []
        var lines: [String] = []
        var reportsHealth = false
        var interrupted: [OpenGesture] = []
        /// The number of messages sent that are marked as delayed.
        var delayed = 0

        func pass(_ seconds: Double) {
            clocks.pass(seconds)
            carryOut(outbox.handleDeadline(at: clocks))
        }

        func add(_ count: Int = 1, qos: MQTTQoS = .atLeastOnce, topic: String = "t") {
            let message = OutgoingMessage(
                topic: topic, content: .fixed([1]), qos: qos, time: EventTime(clocks.monotonic, clocks))
            apply(Array(repeating: .add(message), count: count))
        }

        func apply(_ updates: [Outbox.Update]) { carryOut(outbox.apply(updates, at: clocks)) }

        /// Begins again with a file that holds so many messages.
        func limit(to count: Int) {
            var limits = JostleSettings.Outbox()
            limits.maximumCount = count
            outbox = Outbox(OutboxFile.OpenResult(), limits: limits, eventExpiry: 3600)
        }

        /// Adds messages that are written at once.
        func store(_ count: Int = 1, topic: String = "t") {
            add(count, topic: topic)
            answer(written)
        }

        /// Is connected, and then stores messages.
        func connectAndStore(_ count: Int = 1) {
            deliver(.connected)
            store(count)
        }

        func deliver(_ event: ParticipantEvent) { carryOut(outbox.handle(event, at: clocks)) }

        func refuse(_ row: Int64, _ reason: MQTTReason = .quotaExceeded, topic: String = "t") {
            deliver(.rejected(DeliveryToken(number: row), topic: topic, .refused(reason)))
        }

        func acknowledge(_ rows: Int64...) {
            for row in rows { deliver(.acknowledged(DeliveryToken(number: row))) }
        }

        /// Provides the outcome of the oldest batch.
        func answer(_ outcome: OutboxFile.Outcome) {
            batches.removeFirst()
            carryOut(outbox.handle(outcome, at: clocks))
        }

        func takeSent() -> [Int64] {
            defer { sent = [] }
            return sent
        }

        private func carryOut(_ effects: Outbox.Effects) {
            for effect in effects {
                switch effect {
                case .publish(let message, let token):
                    sent.append(token?.number ?? 0)
                    if String(decoding: message.payload, as: UTF8.self).contains(#""delayed":true"#) { delayed += 1 }
                case .log(_, let text): lines.append(text)
                case .request(.write(let batch)): batches.append(batch)
                case .request(.reportHealth): reportsHealth = true
                case .request(.endInterrupted(let gestures)): interrupted += gestures
                case .request(.checkpoint), .subscribe, .unsubscribe, .write: break
                }
            }
        }
    }

    private let bench = Bench()

    @Test func sendsMessagesOnceStored() {
        bench.deliver(.connected)
        bench.add(2)
        #expect(bench.batches.count == 1 && bench.batches[0].added.count == 2 && bench.takeSent().isEmpty)
        bench.add()
        #expect(bench.batches.count == 1, "one batch at a time")
        bench.answer(written)
        #expect(bench.takeSent() == [1, 2] && bench.batches.count == 1)
        bench.answer(written)
        #expect(bench.takeSent() == [3] && bench.outbox.statistics.unstored == 0)
    }

    @Test func atMostOnceMessagesAreNotStored() {
        bench.deliver(.connected)
        bench.add(qos: .atMostOnce)
        #expect(bench.takeSent() == [1] && bench.batches.isEmpty)
    }

    @Test func collectsDeletions() {
        bench.connectAndStore(3)
        bench.acknowledge(1, 2)
        #expect(bench.batches.isEmpty)
        bench.pass(Outbox.deletionDelay - 0.1)
        #expect(bench.batches.isEmpty)
        bench.pass(0.2)
        #expect(bench.batches.first?.removed == [1, 2])
    }

    /// A transaction of its own would write the same pages a second time.
    @Test func deletesTogetherWithNextMessage() {
        bench.connectAndStore()
        bench.acknowledge(1)
        bench.pass(Outbox.deletionDelay / 2)
        #expect(bench.batches.isEmpty)
        bench.add()
        #expect(bench.batches.count == 1)
        #expect(bench.batches.first?.added.map(\.row) == [2] && bench.batches.first?.removed == [1])
    }

    /// The disk stalls for 45 s: the first event is sent within a quarter of a second, later ones at once.
    @Test func sendsFromMemoryWhileDiskStalls() {
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
        bench.answer(written)
        #expect(bench.outbox.statistics.failure == nil && bench.reportsHealth)
        #expect(bench.lines.last == "the outbox can be written again")
        #expect(bench.outbox.statistics.unstored == 0 && bench.outbox.statistics.sentUnstored == 40)
        // Messages that were acknowledged meanwhile and never stored have no row to delete.
        bench.acknowledge(1)
        bench.pass(Outbox.deletionDelay + 0.1)
        #expect(bench.batches.count == 1 && bench.batches[0].added.isEmpty)
        #expect(bench.batches[0].removed == [1])
    }

    /// The writer waits for a processor for 8 s, and then for the disk.
    @Test func aBusyProcessorIsNoStall() {
        bench.deliver(.connected)
        bench.add()
        for _ in 0..<200 {
            bench.pass(0.04)
            #expect(!bench.outbox.isStallDue(at: bench.clocks.monotonic))
            bench.outbox.extendWait(at: bench.clocks.monotonic)
        }
        #expect(bench.takeSent().isEmpty && bench.outbox.statistics.failure == nil && bench.lines.isEmpty)
        bench.pass(Outbox.diskTimeout)
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.failure == "the disk does not respond")
    }

    @Test func stallWithoutConnectionOnlyDelaysWrite() {
        bench.add(3)
        bench.pass(10)
        bench.add(2)
        #expect(bench.takeSent().isEmpty && bench.batches.count == 1)
        bench.answer(written)
        #expect(bench.batches.first?.added.map(\.row) == [4, 5])
    }

    @Test func retriesFailedWriteWithNewMessages() {
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.failure == "no room" && bench.reportsHealth)
        bench.add()
        #expect(bench.takeSent() == [2] && bench.batches.isEmpty)
        bench.pass(2.1)
        #expect(bench.batches.first?.added.map(\.row) == [1, 2])
        bench.answer(.failed("no room"))
        bench.pass(2.1)
        bench.answer(written)
        #expect(
            bench.lines.count == 2 && bench.outbox.statistics.failure == nil && bench.outbox.statistics.unstored == 0)
    }

    /// The broker has every message that could not be written. Nothing is left to write, but the recovery is noticed.
    @Test func noticesRecoveryWithoutMessages() {
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.acknowledge(1)
        bench.pass(2.1)
        #expect(bench.batches.count == 1 && bench.batches[0].totals != nil)
        bench.answer(written)
        #expect(bench.outbox.statistics.failure == nil && bench.outbox.nextDeadline == nil)
    }

    /// The file could not be opened at the start, and has what an earlier run left.
    @Test func fileThatIsOpenedLateIsMerged() {
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        let turn = OpenGesture(gesture: .turn, isSimulated: false)
        bench.outbox = Outbox(
            OutboxFile.OpenResult(failure: "locked"), limits: JostleSettings.Outbox(), eventExpiry: 3600)
        bench.apply([.setGesture(turn, isOpen: true)])
        var opened = OutboxFile.OpenResult()
        opened.content.dropped = 7
        opened.content.expired = 3
        opened.content.gestures = [shake, turn]
        bench.answer(.opened(opened))
        #expect(bench.outbox.statistics.dropped == 7 && bench.outbox.statistics.expired == 3)
        #expect(bench.interrupted == [shake], "turn has begun again")
        while !bench.batches.isEmpty { bench.answer(written) }
        #expect(bench.lines == ["the outbox can be written again"], "\(bench.lines)")
    }

    @Test func replacedFileGetsEverything() {
        bench.deliver(.connected)
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        _ = bench.outbox.apply([.setGesture(shake, isOpen: true)], at: bench.clocks)
        _ = bench.outbox.handle(written, at: bench.clocks)
        bench.store(2)
        bench.add()
        bench.answer(.replaced("torn"))
        let whole = bench.batches.first
        #expect(whole?.isComplete == true && whole?.added.map(\.row) == [1, 2, 3])
        #expect(whole?.gestures.map(\.gesture) == [shake] && whole?.totals != nil)
        #expect(bench.lines.count == 1)
        bench.answer(written)
        bench.add()
        #expect(bench.batches.first?.isComplete == false)
    }

    @Test func limitsMessagesAtClient() {
        bench.connectAndStore(500)
        let first = bench.takeSent()
        #expect(first == Array(1...200))
        bench.acknowledge(1, 2)
        #expect(bench.takeSent() == [201, 202])
        // The client had no room for the last two.
        bench.deliver(.notSent(tokens(201, 202)))
        bench.acknowledge(3)
        #expect(bench.takeSent().isEmpty)
        bench.pass(0.3)
        #expect(bench.takeSent() == [201, 202, 203])
    }

    @Test func resendsAfterReconnection() {
        bench.connectAndStore(3)
        bench.acknowledge(2)
        bench.deliver(.disconnected(undelivered: tokens(1, 3)))
        _ = bench.takeSent()
        bench.store()
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
        bench.connectAndStore(2)
        bench.deliver(.rejected(DeliveryToken(number: 1), topic: "t", failure))
        #expect(bench.outbox.statistics.count == 1 && bench.outbox.statistics.dropped == 1)
        #expect(bench.lines.count == 1 && bench.lines[0].hasPrefix("dropped a message to t: "), "\(bench.lines)")
        #expect(bench.outbox.statistics.refusals.isEmpty)
    }

    /// An access list in the making, or a quota: the reason may pass.
    @Test(
        "Keeps messages that the broker refuses, and tries the oldest one ever later",
        arguments: [.notAuthorised, .quotaExceeded, .unspecified, MQTTReason(rawValue: 0x83)] as [MQTTReason])
    func keepsRefusedMessages(reason: MQTTReason) {
        bench.connectAndStore(3)
        #expect(bench.takeSent() == [1, 2, 3])
        bench.reportsHealth = false
        for row in 1...3 as ClosedRange<Int64> { bench.refuse(row, reason) }
        #expect(bench.outbox.statistics.count == 3 && bench.outbox.statistics.dropped == 0)
        #expect(bench.outbox.statistics.refusals == ["the broker refuses messages to t: \(reason)"])
        #expect(bench.lines.count == 1 && bench.lines[0].contains("to t") && bench.reportsHealth)
        #expect(bench.outbox.isSettled, "a shutdown does not wait for the broker to change its mind")

        // Others are not affected, and those to the same topic wait.
        bench.store(topic: "other")
        bench.store(topic: "t")
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
        #expect(bench.takeSent() == [2] && bench.outbox.statistics.refusals.isEmpty)
        #expect(bench.lines.count == 2 && bench.lines[1].contains("again") && bench.reportsHealth)
        #expect(!bench.outbox.isSettled, "the others are sent before a shutdown")
        bench.acknowledge(4, 2)
        #expect(bench.takeSent() == [3], "one at a time: a quota may be used up again soon")
        bench.pass(60)
        bench.acknowledge(3)
        #expect(bench.takeSent() == [5])
        bench.acknowledge(5)
        bench.add(2)
        while !bench.batches.isEmpty { bench.answer(written) }
        #expect(bench.takeSent() == [6, 7], "after a minute, several at once")
        bench.acknowledge(6, 7)
        #expect(bench.outbox.statistics.count == 0)
    }

    /// A quota that frees and is used up again and again: the topic stays known, and the log is not filled.
    @Test func staysCarefulWithARateQuota() {
        bench.connectAndStore(100)
        _ = bench.takeSent()
        for row in 1...100 as ClosedRange<Int64> { bench.refuse(row) }
        for row in 1...20 as ClosedRange<Int64> {
            bench.pass(10)
            #expect(bench.takeSent() == [row])
            bench.acknowledge(row)
            #expect(bench.takeSent() == [row + 1])
            bench.refuse(row + 1)
            #expect(bench.outbox.statistics.refusals.count == 1)
        }
        #expect(bench.lines.count < 12, "\(bench.lines)")
        #expect(bench.outbox.statistics.count == 80)
    }

    /// The topic of each event is another one, and none may be published to.
    @Test func limitsLinesAboutManyTopics() {
        bench.deliver(.connected)
        for number in 1...50 {
            bench.store(topic: "t/\(number)")
            bench.refuse(Int64(number), .notAuthorised, topic: "t/\(number)")
        }
        #expect(bench.lines.count <= 7 && bench.outbox.statistics.refusals.count == 50, "\(bench.lines)")
    }

    /// A quota refuses the beginning of a gesture and accepts its end, because both were on their way.
    @Test func marksWhatALaterMessageHasOvertaken() throws {
        bench.deliver(.connected)
        let fields = OutgoingMessage.Content.event(id: "1", fields: #""phase":"began""#)
        let began = OutgoingMessage(topic: "t", content: fields, time: EventTime(bench.clocks.monotonic, bench.clocks))
        bench.apply([.add(began)])
        bench.store()
        bench.answer(written)
        #expect(bench.takeSent() == [1, 2] && bench.delayed == 0)
        bench.refuse(1)
        bench.acknowledge(2)
        #expect(bench.takeSent() == [1] && bench.delayed == 1, "no automation acts on it")
    }

    @Test(
        "Tries the next message when the one that was tried can never be accepted, or has left",
        arguments: ["rejected", "dropped", "not sent"])
    func goesOnAfterATry(outcome: String) {
        bench.limit(to: 3)
        bench.connectAndStore(3)
        for row in 1...3 as ClosedRange<Int64> { bench.refuse(row) }
        _ = bench.takeSent()
        bench.pass(10)
        #expect(bench.takeSent() == [1])
        switch outcome {
        case "rejected":
            bench.refuse(1, .packetTooLarge)
            #expect(bench.takeSent() == [2])
            bench.acknowledge(2)
        case "dropped":
            // A new event takes its place while it is on its way.
            bench.store()
            bench.acknowledge(1)
            #expect(bench.takeSent() == [2])
        default:
            bench.store()
            bench.deliver(.notSent(tokens(1)))
            bench.pass(0.3)
            #expect(bench.takeSent() == [2])
            bench.acknowledge(2)
        }
        #expect(bench.outbox.statistics.refusals.isEmpty)
    }

    /// A deadline that has passed and changes nothing would keep the processor busy.
    @Test func waitsForRoomBeforeATry() throws {
        bench.connectAndStore()
        bench.refuse(1)
        bench.store(200, topic: "other")
        _ = bench.takeSent()
        bench.pass(10)
        #expect(bench.takeSent().isEmpty)
        let full = try #require(bench.outbox.nextDeadline)
        #expect(full > bench.clocks.monotonic)
        bench.acknowledge(2)
        #expect(bench.takeSent() == [1])
        // The client has no room after all.
        bench.deliver(.notSent(tokens(1)))
        let later = try #require(bench.outbox.nextDeadline)
        #expect(later > bench.clocks.monotonic)
        bench.pass(0.3)
        #expect(bench.takeSent() == [1])
    }

    // MARK: Brokers that end the connection

    @Test(
        "Finds the message because of which the broker ends each connection, and delivers the others",
        arguments: [
            .closed, .closedByBroker(.notAuthorised), .network(code: ECONNRESET),
        ] as [MQTTFailure])
    func findsWhatEndsConnections(failure: MQTTFailure) {
        bench.store(topic: "forbidden")
        bench.store(2, topic: "other")
        func reconnect() -> [Int64] {
            bench.pass(2)
            bench.deliver(.connected)
            let sent = bench.takeSent()
            if sent.contains(1) {
                bench.deliver(.disconnected(undelivered: sent.map { DeliveryToken(number: $0) }, failure))
            }
            return sent
        }
        #expect((1...2).map { _ in reconnect() } == [[1, 2, 3], [1, 2, 3]])
        #expect((1...3).map { _ in reconnect() } == [[1], [1], [1]])
        #expect(reconnect() == [2, 3])
        #expect(
            bench.outbox.statistics.refusals
                == ["each time a message to forbidden is sent, the connection ends: \(failure)"])
        bench.acknowledge(2, 3)
        // Each further try costs a connection. It is ever later.
        bench.pass(10)
        #expect(bench.takeSent() == [1])
        bench.deliver(.disconnected(undelivered: tokens(1), failure))
        #expect(reconnect() == [])
        bench.pass(17)
        #expect(bench.takeSent() == [])
        bench.pass(1)
        #expect(bench.takeSent() == [1])
        bench.acknowledge(1)
        #expect(bench.outbox.statistics.refusals.isEmpty && bench.outbox.statistics.count == 0)
    }

    /// A bad network, or a broker that restarts and answers in between, is not for a message.
    @Test func blamesNoMessageForABadNetwork() {
        bench.store(2)
        for failure in [.silent, .timedOut, .network(code: ETIMEDOUT), .closedByBroker(.sessionTakenOver)]
            as [MQTTFailure]
        {
            for _ in 0..<10 {
                bench.deliver(.connected)
                #expect(bench.takeSent() == [1, 2])
                bench.deliver(.disconnected(undelivered: tokens(1, 2), failure))
            }
        }
        for row in 2...20 as ClosedRange<Int64> {
            bench.deliver(.connected)
            #expect(bench.takeSent().count == 2)
            bench.acknowledge(row)
            bench.deliver(.disconnected(undelivered: tokens(1), .closed))
            bench.store()
        }
        #expect(bench.outbox.statistics.refusals.isEmpty)
    }

    @Test func triesRefusedMessagesOnANewConnection() {
        bench.connectAndStore(2)
        for row in 1...2 as ClosedRange<Int64> { bench.refuse(row) }
        _ = bench.takeSent()
        bench.deliver(.disconnected(undelivered: []))
        bench.pass(3600)
        #expect(bench.takeSent().isEmpty)
        bench.deliver(.connected)
        #expect(bench.takeSent() == [1])
        // It is lost with the connection.
        bench.deliver(.disconnected(undelivered: tokens(1)))
        bench.deliver(.connected)
        #expect(bench.takeSent() == [1])
        // The client has no room for it.
        bench.deliver(.notSent(tokens(1)))
        bench.pass(0.3)
        #expect(bench.takeSent() == [1])
        bench.acknowledge(1)
        #expect(bench.takeSent() == [2])
    }

    /// Refused messages count against the limits, like all others.
    @Test func forgetsRefusalsWithTheirMessages() {
        bench.limit(to: 2)
        bench.connectAndStore()
        bench.refuse(1)
        bench.store(2, topic: "other")
        #expect(bench.outbox.statistics.dropped == 1 && bench.takeSent() == [1, 2, 3])
        bench.pass(10)
        #expect(bench.outbox.statistics.refusals.isEmpty)
        #expect(bench.outbox.nextDeadline.map { $0 > bench.clocks.monotonic } ?? true)
    }

    /// The client rejects messages whose connection ended before it could take them.
    @Test func resendsWhatTheConnectionRejected() {
        bench.connectAndStore()
        _ = bench.takeSent()
        bench.deliver(.rejected(DeliveryToken(number: 1), topic: "t", .closed))
        #expect(bench.outbox.statistics.refusals.isEmpty && bench.lines.isEmpty)
        bench.pass(0.3)
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.dropped == 0)
    }

    /// Writes wear out a memory card: nothing is written without a message.
    @Test func connectionsCauseNoWrites() {
        for _ in 0..<50 {
            bench.deliver(.connected)
            bench.pass(60)
            bench.deliver(.disconnected(undelivered: []))
        }
        #expect(bench.batches.isEmpty && bench.outbox.nextDeadline == nil)
    }

    @Test func isSettledWhenWrittenAndSent() {
        #expect(bench.outbox.isSettled)
        bench.deliver(.connected)
        bench.add()
        #expect(!bench.outbox.isSettled)
        bench.answer(written)
        #expect(bench.outbox.isSettled)
    }

    /// A message sent from memory is counted once, however often it is sent.
    @Test func countsMessagesSentFromMemoryOnce() {
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.deliver(.notSent(tokens(1)))
        #expect(bench.outbox.statistics.unstored == 1 && bench.outbox.statistics.sentUnstored == 0)
        for _ in 0..<3 {
            bench.pass(0.3)
            bench.deliver(.disconnected(undelivered: tokens(1)))
            bench.deliver(.connected)
        }
        #expect(bench.outbox.statistics.unstored == 1 && bench.outbox.statistics.sentUnstored == 1)
    }

    /// The broker refuses a message that was sent from memory, after the file could be written again.
    @Test func refusalAfterOutageCountsAsNoSend() {
        bench.deliver(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.pass(2.1)
        bench.answer(written)
        #expect(bench.takeSent() == [1] && bench.outbox.statistics.sentUnstored == 1)
        bench.refuse(1)
        #expect(bench.outbox.statistics.unstored == 0 && bench.outbox.statistics.count == 1)
    }
}
