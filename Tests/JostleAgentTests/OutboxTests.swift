import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a message is stored before it is sent; a disk that fails or does not answer costs no gesture, and whoever
/// looks after the device learns of it. Without threads, disk and broker.
@Suite struct OutboxTests {
    /// An outbox whose batches stay under way until the test says what came of them.
    private struct Bench {
        var outbox = Outbox(Outbox.Opened(), limits: OutboxLimits(), eventExpiry: 3600)
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

        mutating func add(_ count: Int = 1, qos: MQTTQoS = .atLeastOnce) {
            let message = OutgoingMessage(
                topic: "t", content: .fixed([1]), qos: qos, time: EventTime(clocks.monotonic, clocks))
            carryOut(outbox.apply(Array(repeating: .add(message), count: count), at: clocks))
        }

        mutating func tell(_ event: ParticipantEvent<OutboxToken>) { carryOut(outbox.handle(event, at: clocks)) }

        mutating func acknowledge(_ rows: Int64...) {
            for row in rows { tell(.acknowledged(OutboxToken(row: row))) }
        }

        /// What came of the oldest batch.
        mutating func answer(_ outcome: OutboxFile.Outcome) {
            batches.removeFirst()
            carryOut(outbox.handle(outcome, at: clocks))
        }

        mutating func news() -> [Int64] {
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

    @Test func aMessageIsSentWhenItIsStored() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(2)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.added.count == 2 && bench.news().isEmpty)
        bench.add()
        #expect(bench.batches.count == 1, "one batch at a time")
        bench.answer(Self.written)
        #expect(bench.news() == [1, 2] && bench.batches.count == 1)
        bench.answer(Self.written)
        #expect(bench.news() == [3] && bench.outbox.figures.unstored == 0)
    }

    @Test func whatIsSentOnceAtMostNeedsNoFile() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(qos: .atMostOnce)
        #expect(bench.news() == [1] && bench.batches.isEmpty)
    }

    @Test func deletionsAreGathered() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(3)
        bench.answer(Self.written)
        bench.acknowledge(1, 2)
        #expect(bench.batches.isEmpty)
        bench.pass(0.3)
        #expect(bench.batches.first?.changes.removed == [1, 2])
    }

    /// The disk does not answer for 45 s: each event leaves within a quarter of a second, and then at once.
    @Test func aDiskThatStallsCostsNoEvent() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add()
        bench.pass(0.2)
        #expect(bench.news().isEmpty)
        #expect(bench.outbox.nextDeadline == bench.clocks.monotonic.advanced(bySeconds: 0.05))
        bench.pass(0.06)
        #expect(bench.news() == [1] && bench.reportsHealth)
        #expect(bench.outbox.figures.failure == "the disk does not answer" && bench.outbox.figures.unstored == 1)
        for row: Int64 in 2...40 {
            bench.add()
            #expect(bench.news() == [row], "the disk is not waited for")
            bench.acknowledge(row)
            bench.pass(1)
        }
        #expect(bench.batches.count == 1 && bench.lines.count == 1, "\(bench.lines)")
        let stalled = bench.outbox.figures
        #expect(stalled.count == 1 && stalled.sentUnstored == 40 && stalled.dropped == 0)
        bench.reportsHealth = false
        bench.answer(Self.written)
        #expect(bench.outbox.figures.failure == nil && bench.reportsHealth)
        #expect(bench.lines.last == "the outbox is written again")
        #expect(bench.outbox.figures.unstored == 0 && bench.outbox.figures.sentUnstored == 40)
        // What was acknowledged meanwhile and never stored needs no row, and is not deleted.
        bench.acknowledge(1)
        bench.pass(0.3)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.added.isEmpty)
        #expect(bench.batches[0].changes.removed == [1])
    }

    @Test func withoutAConnectionAStallOnlyDelaysTheFile() {
        var bench = Bench()
        bench.add(3)
        bench.pass(10)
        bench.add(2)
        #expect(bench.news().isEmpty && bench.batches.count == 1)
        bench.answer(Self.written)
        #expect(bench.batches.first?.changes.added.map(\.row) == [4, 5])
    }

    @Test func aFailedWriteIsTriedAgainWithAllThatCameSince() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        #expect(bench.news() == [1] && bench.outbox.figures.failure == "no room" && bench.reportsHealth)
        bench.add()
        #expect(bench.news() == [2] && bench.batches.isEmpty)
        bench.pass(2.1)
        #expect(bench.batches.first?.changes.added.map(\.row) == [1, 2])
        bench.answer(.failed("no room"))
        bench.pass(2.1)
        bench.answer(Self.written)
        #expect(bench.lines.count == 2 && bench.outbox.figures.failure == nil && bench.outbox.figures.unstored == 0)
    }

    /// The broker has all that could not be written: nothing is left to write, and that it can be is noticed all the same.
    @Test func thatTheFileCanBeWrittenAgainIsNoticedWithoutAMessage() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.acknowledge(1)
        bench.pass(2.1)
        #expect(bench.batches.count == 1 && bench.batches[0].changes.totals != nil)
        bench.answer(Self.written)
        #expect(bench.outbox.figures.failure == nil && bench.outbox.nextDeadline == nil)
    }

    @Test func aFileThatIsReplacedGetsEverything() {
        var bench = Bench()
        bench.tell(.connected)
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        _ = bench.outbox.apply([.setGesture(shake, isOpen: true)], at: bench.clocks)
        _ = bench.outbox.handle(Self.written, at: bench.clocks)
        bench.add(2)
        bench.answer(Self.written)
        bench.add()
        bench.answer(.replaced(OutboxFile.SetAside(name: "x", reason: "torn", saved: 3)))
        let whole = bench.batches.first
        #expect(whole?.isComplete == true && whole?.changes.added.map(\.row) == [1, 2, 3])
        #expect(whole?.changes.gestures.map(\.gesture) == [shake] && whole?.changes.totals != nil)
        #expect(bench.lines.count == 1)
        bench.answer(Self.written)
        bench.add()
        #expect(bench.batches.first?.isComplete == false)
    }

    @Test func theClientGetsNoMoreThanItsShareAndTheRestInOrder() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(500)
        bench.answer(Self.written)
        let first = bench.news()
        #expect(first == Array(1...200))
        bench.acknowledge(1, 2)
        #expect(bench.news() == [201, 202])
        // The client had no room for the last two.
        bench.tell(.notSent([OutboxToken(row: 201), OutboxToken(row: 202)]))
        bench.acknowledge(3)
        #expect(bench.news().isEmpty)
        bench.pass(0.3)
        #expect(bench.news() == [201, 202, 203])
    }

    @Test func whatComesBackIsSentAgainAfterTheNextConnection() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(3)
        bench.answer(Self.written)
        bench.acknowledge(2)
        bench.tell(.disconnected(undelivered: [OutboxToken(row: 1), OutboxToken(row: 3)]))
        _ = bench.news()
        bench.add()
        bench.answer(Self.written)
        #expect(bench.news().isEmpty)
        bench.tell(.connected)
        #expect(bench.news() == [1, 3, 4])
    }

    @Test func whatTheBrokerRefusesIsGivenUpAndCounted() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add(2)
        bench.answer(Self.written)
        bench.tell(.rejected(OutboxToken(row: 1), topic: "t", .refused(.notAuthorised)))
        #expect(bench.outbox.figures.count == 1 && bench.outbox.figures.dropped == 1 && bench.lines.count == 1)
    }

    /// A card wears out by writes: nothing is written without a message.
    @Test func connectionsAloneWriteNothing() {
        var bench = Bench()
        for _ in 0..<50 {
            bench.tell(.connected)
            bench.pass(60)
            bench.tell(.disconnected(undelivered: []))
        }
        #expect(bench.batches.isEmpty && bench.outbox.nextDeadline == nil)
    }

    @Test func theOutboxIsSettledWhenAllIsWrittenAndSent() {
        var bench = Bench()
        #expect(bench.outbox.isSettled)
        bench.tell(.connected)
        bench.add()
        #expect(!bench.outbox.isSettled)
        bench.answer(Self.written)
        #expect(bench.outbox.isSettled)
    }

    /// What left from memory counts once, however often it is tried.
    @Test func whatLeftFromMemoryCountsOnce() {
        var bench = Bench()
        bench.tell(.connected)
        bench.add()
        bench.answer(.failed("no room"))
        bench.tell(.notSent([OutboxToken(row: 1)]))
        #expect(bench.outbox.figures.unstored == 1 && bench.outbox.figures.sentUnstored == 0)
        for _ in 0..<3 {
            bench.pass(0.3)
            bench.tell(.disconnected(undelivered: [OutboxToken(row: 1)]))
            bench.tell(.connected)
        }
        #expect(bench.outbox.figures.unstored == 1 && bench.outbox.figures.sentUnstored == 1)
    }
}
