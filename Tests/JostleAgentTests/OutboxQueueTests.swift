import JostleConfiguration
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: events reach the broker in order and at least once; the queue is bounded, and lost events are counted.
@Suite struct OutboxQueueTests {
    private static func clocks(_ seconds: Double) -> ClockReading {
        ClockReading(
            boot: "a", monotonic: Timestamp(seconds: seconds),
            wall: 1_795_000_000_000 + Int64(seconds * 1000), isSet: true)
    }

    private func message(_ number: Int, lifetime: Double? = nil, qos: MQTTQoS = .atLeastOnce) -> OutgoingMessage {
        OutgoingMessage(
            topic: "t", content: .fixed(Array("\(number)".utf8)), qos: qos,
            time: EventTime(Timestamp(seconds: 0), Self.clocks(0)), lifetime: lifetime)
    }

    private func outbox(count: Int = 10, bytes: Int = 1000, _ numbers: ClosedRange<Int>) -> OutboxQueue {
        var limits = JostleSettings.Outbox()
        limits.maximumCount = count
        limits.maximumBytes = bytes
        limits.maximumAge = 1000
        var outbox = OutboxQueue(limits: limits)
        for number in numbers { outbox.append(message(number)) }
        return outbox
    }

    /// The rows of a queue's messages, none of which is stored yet.
    private func rows(_ outbox: OutboxQueue) -> [Int64] {
        var outbox = outbox
        return outbox.takeChanges().added.map(\.row)
    }

    /// Sends at most `limit` messages and returns their texts and tokens.
    private func sent(
        _ outbox: inout OutboxQueue, at seconds: Double = 0, limit: Int = .max
    ) -> [(text: String, token: Int64)] {
        var sent: [(String, Int64)] = []
        outbox.dropExpired(at: Self.clocks(seconds))
        while sent.count < limit, let place = outbox.nextWaiting(from: 0) {
            let message = outbox[place].message.message(at: Self.clocks(seconds), eventExpiry: nil)
            sent.append((String(decoding: message.payload, as: UTF8.self), outbox[place].token.number))
            outbox.wasSent(place)
        }
        return sent
    }

    @Test func sendsOnceInOrderAndKeepsUntilAcknowledged() {
        var outbox = outbox(1...3)
        let first = sent(&outbox)
        #expect(first.map(\.text) == ["1", "2", "3"])
        #expect(first.map(\.token) == [1, 2, 3])
        #expect(sent(&outbox).isEmpty)
        #expect(outbox.count == 3 && outbox.bytes == 6)
        outbox.acknowledge(DeliveryToken(number: 2))
        outbox.acknowledge(DeliveryToken(number: 2))
        outbox.acknowledge(DeliveryToken(number: 99))
        #expect(outbox.count == 2 && outbox.bytes == 4 && outbox.dropped == 0)
        #expect(rows(outbox) == [1, 3])
    }

    @Test func sendsRemainingMessagesInOrder() {
        var outbox = outbox(1...5)
        #expect(sent(&outbox, limit: 2).map(\.text) == ["1", "2"])
        outbox.append(message(6))
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5", "6"])
    }

    @Test func resendsReturnedMessagesInOrder() {
        var outbox = outbox(1...4)
        let first = sent(&outbox, limit: 3)
        outbox.acknowledge(DeliveryToken(number: first[1].token))
        outbox.requeue([3, 1, 77].map { DeliveryToken(number: $0) }, wereSent: true)
        let again = sent(&outbox)
        #expect(again.map(\.text) == ["1", "3", "4"])
        #expect(again.map(\.token) == [1, 3, 4])
    }

    @Test func dropsOldestWhenFull() {
        var outbox = outbox(count: 3, 1...5)
        #expect(outbox.count == 3 && outbox.dropped == 2)
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5"])
        outbox.append(message(6))
        #expect(outbox.count == 3 && outbox.dropped == 3)
        #expect(sent(&outbox).map(\.text) == ["6"])
        outbox.acknowledge(DeliveryToken(number: 1))
        #expect(outbox.count == 3)
    }

    @Test func limitsBytes() {
        var outbox = outbox(bytes: 7, 1...5)
        #expect(outbox.count == 3 && outbox.bytes == 6 && outbox.dropped == 2)
        outbox.append(
            OutgoingMessage(
                topic: "t", content: .fixed([UInt8](repeating: 48, count: 50)),
                time: EventTime(Timestamp(seconds: 0), Self.clocks(0))))
        #expect(outbox.count == 1 && outbox.bytes == 51, "a message above the limit is accepted on its own")
    }

    @Test func countsRejectedAsDropped() {
        var outbox = outbox(1...3)
        _ = sent(&outbox)
        outbox.drop(DeliveryToken(number: 2))
        outbox.drop(DeliveryToken(number: 2))
        #expect(outbox.count == 2 && outbox.dropped == 1)
        outbox.requeue([1, 2, 3].map { DeliveryToken(number: $0) }, wereSent: true)
        #expect(sent(&outbox).map(\.text) == ["1", "3"])
    }

    @Test func restoredMessagesGoFirst() {
        var outbox = OutboxQueue(limits: JostleSettings.Outbox(), dropped: 5, expired: 2)
        outbox.restore(message(1), row: 40)
        outbox.restore(message(2), row: 47)
        outbox.append(message(3))
        #expect(sent(&outbox).map(\.token) == [40, 47, 48])
        #expect(outbox.dropped == 5 && outbox.expired == 2)
    }

    /// Thousands are added and acknowledged out of order: each is found, and memory is released.
    @Test func staysConsistentOverThousandsOfMessages() {
        var outbox = outbox(count: 300, bytes: 1 << 20, 1...1)
        var waiting: [Int64] = [1]
        var random = SystemRandomNumberGenerator()
        for number in 2...5000 {
            waiting.append(outbox.append(message(number)).number)
            _ = sent(&outbox)
            if waiting.count > 200 || Bool.random(using: &random), let token = waiting.randomElement(using: &random) {
                outbox.acknowledge(DeliveryToken(number: token))
                waiting.removeAll { $0 == token }
            }
            if number.isMultiple(of: 97) {
                outbox.requeue(waiting.map { DeliveryToken(number: $0) }, wereSent: true)
                #expect(sent(&outbox).map(\.token) == waiting)
            }
        }
        #expect(outbox.count == waiting.count && rows(outbox) == waiting && outbox.dropped == 0)
    }

    /// A message that the broker refuses waits for days, and thousands of later ones are delivered and deleted.
    @Test func releasesMemoryBehindAMessageThatWaits() {
        var outbox = outbox(count: 300, bytes: 1 << 20, 1...1)
        let first = outbox.takeChanges()
        outbox.changesWereWritten(first)
        for number in 2...5000 {
            let token = outbox.append(message(number))
            let written = outbox.takeChanges()
            outbox.changesWereWritten(written)
            if let place = outbox.nextWaiting(from: 1) { outbox.wasSent(place) }
            outbox.acknowledge(token)
            #expect(outbox.memoryCount < 300)
        }
        #expect(outbox.count == 1 && outbox.bytes == 2 && outbox.dropped == 0)
        outbox.changesWereWritten(outbox.takeChanges())
        #expect(outbox.rowsToDelete.isEmpty)
        #expect(sent(&outbox).map(\.token) == [1])
    }

    // MARK: Age

    /// Messages of second 0: without an age limit, for 30 s, without one, for 60 s.
    private var mixed: OutboxQueue {
        var outbox = outbox(1...1)
        outbox.append(message(2, lifetime: 30))
        outbox.append(message(3))
        outbox.append(message(4, lifetime: 60))
        return outbox
    }

    @Test func dropsExpiredAndKeepsOrder() {
        var outbox = mixed
        #expect(sent(&outbox, at: 30).map(\.text) == ["1", "3", "4"])
        #expect(outbox.expired == 1 && outbox.dropped == 0 && outbox.count == 3)
        outbox.requeue([1, 3, 4].map { DeliveryToken(number: $0) }, wereSent: true)
        #expect(sent(&outbox, at: 59.9).map(\.text) == ["1", "3", "4"])
        outbox.requeue([1, 3, 4].map { DeliveryToken(number: $0) }, wereSent: true)
        #expect(sent(&outbox, at: 60).map(\.text) == ["1", "3"])
        #expect(outbox.expired == 2)
    }

    @Test func appliesGeneralAgeLimit() {
        var outbox = mixed
        #expect(sent(&outbox, at: 1000).isEmpty)
        #expect(outbox.expired == 4 && outbox.count == 0)
    }

    @Test func keepsExpiredMessagesInFlight() {
        var outbox = mixed
        let tokens = sent(&outbox, at: 29).map(\.token)
        outbox.dropExpired(at: Self.clocks(3600))
        #expect(outbox.count == 4 && outbox.expired == 0)
        for token in tokens { outbox.acknowledge(DeliveryToken(number: token)) }
        #expect(outbox.count == 0)
    }

    @Test func setsRemainingExpiry() {
        var outbox = mixed
        var left: [UInt32?] = []
        outbox.dropExpired(at: Self.clocks(28.5))
        while let place = outbox.nextWaiting(from: left.count) {
            let message = outbox[place].message.message(at: Self.clocks(28.5), eventExpiry: 3600)
            left.append(message.properties.messageExpiry)
        }
        #expect(left == [nil, 2, nil, 32], "only messages with a lifetime expire")
    }

    @Test func doesNotResendAtMostOnceMessages() {
        var outbox = outbox(1...1)
        outbox.append(message(2, qos: .atMostOnce))
        outbox.append(message(3, qos: .atMostOnce))
        #expect(sent(&outbox, limit: 2).map(\.text) == ["1", "2"])
        outbox.requeue([1, 2].map { DeliveryToken(number: $0) }, wereSent: true)
        #expect(sent(&outbox).map(\.text) == ["1", "3"])
    }

    // MARK: Storage

    @Test func storesOnceAndDeletesFinishedRows() {
        var outbox = outbox(1...3)
        #expect(outbox.hasMessageToWrite && outbox.inMemoryOnly == 3)
        let first = outbox.takeChanges()
        #expect(first.added.map(\.row) == [1, 2, 3] && !outbox.hasMessageToWrite && outbox.inMemoryOnly == 3)
        _ = sent(&outbox)
        // Finished before it was on disk: its row must be deleted afterwards.
        outbox.acknowledge(DeliveryToken(number: 2))
        #expect(outbox.rowsToDelete.isEmpty)
        outbox.changesWereWritten(first)
        #expect(outbox.inMemoryOnly == 0 && outbox.rowsToDelete == [2])
        outbox.acknowledge(DeliveryToken(number: 1))
        let second = outbox.takeChanges()
        #expect(Set(second.removed) == [1, 2] && second.added.isEmpty)
        outbox.changesWereWritten(second)
        #expect(outbox.rowsToDelete.isEmpty && outbox.count == 1)
    }

    @Test func failedWritesAreDueAgain() {
        var outbox = outbox(1...3)
        let first = outbox.takeChanges()
        _ = sent(&outbox)
        outbox.acknowledge(DeliveryToken(number: 1))
        outbox.changesWereNotWritten(first)
        // The first message is finished and not stored, so nothing is left of it.
        let second = outbox.takeChanges()
        #expect(second.added.map(\.row) == [2, 3] && second.removed.isEmpty)
        outbox.changesWereWritten(second)
        outbox.acknowledge(DeliveryToken(number: 2))
        let removal = outbox.takeChanges()
        outbox.changesWereNotWritten(removal)
        #expect(outbox.rowsToDelete == [2] && outbox.takeChanges().removed == [2])
    }

    @Test func newFileGetsAllUnfinishedMessages() {
        var outbox = outbox(1...4)
        let first = outbox.takeChanges()
        outbox.changesWereWritten(first)
        _ = sent(&outbox)
        outbox.acknowledge(DeliveryToken(number: 3))
        outbox.fileWasReplaced()
        #expect(outbox.rowsToDelete.isEmpty)
        let whole = outbox.takeChanges()
        #expect(whole.added.map(\.row) == [1, 2, 4] && whole.removed.isEmpty)
    }
}
