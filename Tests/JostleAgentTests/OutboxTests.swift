import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: events reach the broker in order and at least once; what waits is bounded, and what is lost is counted.
@Suite struct OutboxTests {
    private static func clocks(_ seconds: Double) -> ClockReading {
        ClockReading(
            boot: "a", monotonic: Timestamp(seconds: seconds), wall: 1_795_000_000_000 + Int64(seconds * 1000),
            isSet: true)
    }

    private func message(_ number: Int, lifetime: Double? = nil, qos: MQTTQoS = .atLeastOnce) -> OutgoingMessage {
        OutgoingMessage(
            topic: "t", content: .fixed(Array("\(number)".utf8)), qos: qos,
            time: EventTime(Timestamp(seconds: 0), Self.clocks(0)), lifetime: lifetime)
    }

    private func outbox(count: Int = 10, bytes: Int = 1000, _ numbers: ClosedRange<Int>) -> Outbox {
        var limits = OutboxLimits()
        limits.count = count
        limits.bytes = bytes
        limits.age = 1000
        var outbox = Outbox(limits: limits)
        for number in numbers { outbox.append(message(number)) }
        return outbox
    }

    /// Sends at most `limit` and tells what was sent, with its tokens.
    private func sent(
        _ outbox: inout Outbox, at seconds: Double = 0, limit: Int = .max
    ) -> [(text: String, token: UInt64)] {
        var sent: [(String, UInt64)] = []
        outbox.dropExpired(at: Self.clocks(seconds))
        outbox.send(at: Self.clocks(seconds)) { message, token in
            guard sent.count < limit else { return false }
            sent.append((String(decoding: message.payload, as: UTF8.self), token.rawValue))
            return true
        }
        return sent
    }

    @Test func everythingIsSentOnceInOrderAndWaitsForItsAcknowledgement() {
        var outbox = outbox(1...3)
        let first = sent(&outbox)
        #expect(first.map(\.text) == ["1", "2", "3"])
        #expect(first.map(\.token) == [1, 2, 3])
        #expect(sent(&outbox).isEmpty)
        #expect(outbox.count == 3 && outbox.bytes == 6)
        outbox.acknowledge(2)
        outbox.acknowledge(2)
        outbox.acknowledge(99)
        #expect(outbox.count == 2 && outbox.bytes == 4 && outbox.dropped == 0)
        #expect(outbox.takeDeparted() == [2])
        #expect(outbox.takeDeparted().isEmpty)
        #expect(outbox.messages.map(\.token) == [1, 3])
    }

    @Test func whatCouldNotBeSentIsSentNextInTheSameOrder() {
        var outbox = outbox(1...5)
        #expect(sent(&outbox, limit: 2).map(\.text) == ["1", "2"])
        outbox.append(message(6))
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5", "6"])
    }

    @Test func whatCameBackIsSentAgainInOrderUnderTheSameToken() {
        var outbox = outbox(1...4)
        let first = sent(&outbox, limit: 3)
        outbox.acknowledge(first[1].token)
        outbox.takeBack([3, 1, 77])
        let again = sent(&outbox)
        #expect(again.map(\.text) == ["1", "3", "4"])
        #expect(again.map(\.token) == [1, 3, 4])
    }

    @Test func whereItIsFullTheOldestGoesAndIsCounted() {
        var outbox = outbox(count: 3, 1...5)
        #expect(outbox.count == 3 && outbox.dropped == 2)
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5"])
        outbox.append(message(6))
        #expect(outbox.count == 3 && outbox.dropped == 3)
        #expect(sent(&outbox).map(\.text) == ["6"])
        outbox.acknowledge(1)
        #expect(outbox.count == 3)
    }

    @Test func bytesAreBoundedToo() {
        var outbox = outbox(bytes: 7, 1...5)
        #expect(outbox.count == 3 && outbox.bytes == 6 && outbox.dropped == 2)
        outbox.append(
            OutgoingMessage(
                topic: "t", content: .fixed([UInt8](repeating: 48, count: 50)),
                time: EventTime(Timestamp(seconds: 0), Self.clocks(0))))
        #expect(outbox.count == 1 && outbox.bytes == 51, "one that is too large for all goes alone")
    }

    @Test func whatTheBrokerWillNeverTakeIsCountedAsDropped() {
        var outbox = outbox(1...3)
        _ = sent(&outbox)
        outbox.giveUp(2)
        outbox.giveUp(2)
        #expect(outbox.count == 2 && outbox.dropped == 1)
        outbox.takeBack([1, 2, 3])
        #expect(sent(&outbox).map(\.text) == ["1", "3"])
    }

    @Test func anEarlierRunsMessagesKeepTheirTokensAndGoFirst() {
        var outbox = Outbox(limits: OutboxLimits(), dropped: 5, expired: 2)
        outbox.restore(message(1), token: 40)
        outbox.restore(message(2), token: 47)
        outbox.append(message(3))
        #expect(sent(&outbox).map(\.token) == [40, 47, 48])
        #expect(outbox.dropped == 5 && outbox.expired == 2)
    }

    /// Many come and go, in an order of their own: each is found, and places are given back.
    @Test func itStaysWhatItIsOverThousandsOfMessages() {
        var outbox = outbox(count: 300, bytes: 1 << 20, 1...1)
        var waiting: [UInt64] = [1]
        var random = SystemRandomNumberGenerator()
        for number in 2...5000 {
            waiting.append(outbox.append(message(number)))
            _ = sent(&outbox)
            if waiting.count > 200 || Bool.random(using: &random), let token = waiting.randomElement(using: &random) {
                outbox.acknowledge(token)
                waiting.removeAll { $0 == token }
            }
            if number.isMultiple(of: 97) {
                outbox.takeBack(waiting)
                #expect(sent(&outbox).map(\.token) == waiting)
            }
        }
        #expect(outbox.count == waiting.count && outbox.messages.map(\.token) == waiting && outbox.dropped == 0)
    }

    // MARK: Age

    /// A message without an age limit, one for 30 s, one without, one for 60 s; all of second 0.
    private var mixed: Outbox {
        var outbox = outbox(1...1)
        outbox.append(message(2, lifetime: 30))
        outbox.append(message(3))
        outbox.append(message(4, lifetime: 60))
        return outbox
    }

    @Test func whatGrewTooOldIsDroppedAndTheRestKeepsItsOrder() {
        var outbox = mixed
        #expect(sent(&outbox, at: 30).map(\.text) == ["1", "3", "4"])
        #expect(outbox.expired == 1 && outbox.dropped == 0 && outbox.count == 3)
        outbox.takeBack([1, 3, 4])
        #expect(sent(&outbox, at: 59.9).map(\.text) == ["1", "3", "4"])
        outbox.takeBack([1, 3, 4])
        #expect(sent(&outbox, at: 60).map(\.text) == ["1", "3"])
        #expect(outbox.expired == 2)
    }

    @Test func nothingGrowsOlderThanTheLimitForAll() {
        var outbox = mixed
        #expect(sent(&outbox, at: 1000).isEmpty)
        #expect(outbox.expired == 4 && outbox.count == 0)
    }

    @Test func whatIsUnderWayMayBeAcknowledgedHoweverOldItIs() {
        var outbox = mixed
        let tokens = sent(&outbox, at: 29).map(\.token)
        outbox.dropExpired(at: Self.clocks(3600))
        #expect(outbox.count == 4 && outbox.expired == 0)
        for token in tokens { outbox.acknowledge(token) }
        #expect(outbox.count == 0)
    }

    @Test func theBrokerIsToldWhatIsLeftOfTheTime() {
        var outbox = mixed
        var left: [UInt32?] = []
        outbox.send(at: Self.clocks(28.5), eventExpiry: 3600) { message, _ in
            left.append(message.properties.messageExpiry)
            return true
        }
        #expect(left == [nil, 2, nil, 32], "a limit of its own; actions without one have none")
    }

    @Test func whatIsSentOnceAtMostIsNotSentAgain() {
        var outbox = outbox(1...1)
        outbox.append(message(2, qos: .atMostOnce))
        outbox.append(message(3, qos: .atMostOnce))
        #expect(sent(&outbox, limit: 2).map(\.text) == ["1", "2"])
        outbox.takeBack([1, 2])
        #expect(sent(&outbox).map(\.text) == ["1", "3"])
    }
}

/// Requirement: an event tells when it happened as well as anybody can know it by now, and says where nobody can, or where
/// it comes too late to act on.
@Suite struct EventTimeTests {
    private func clocks(_ seconds: Double, boot: String = "a", wall: Int64, isSet: Bool = true) -> ClockReading {
        ClockReading(boot: boot, monotonic: Timestamp(seconds: seconds), wall: wall, isSet: isSet)
    }

    private func payload(of time: EventTime, at clocks: ClockReading) -> String {
        let message = OutgoingMessage(
            topic: "t", content: .event(id: "r-1", fields: #""gesture":"tap","phase":"recognized""#), time: time)
        return String(decoding: message.message(at: clocks, eventExpiry: nil).payload, as: UTF8.self)
    }

    @Test func anEventIsToldInTheOrderOfTheContract() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5.5, wall: 1000))
        #expect(
            payload(of: time, at: clocks(5.5, wall: 1000))
                == #"{"id":"r-1","t":500,"gesture":"tap","phase":"recognized"}"#)
    }

    /// Measured at second 5, before the clock was set; sent when it was.
    @Test func withinABootTheTimeIsCorrectedWhenTheClockIsSet() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        #expect(payload(of: time, at: clocks(8, wall: 3777, isSet: false)).contains(#""t":777,"clock":"unset""#))
        let later = payload(of: time, at: clocks(9, wall: 1_795_000_009_000))
        #expect(later.contains(#""t":1795000005000,"gesture""#))
    }

    @Test func ofAnotherBootTheTimeIsAsItWasWrittenDown() {
        let unset = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        let now = clocks(3, boot: "b", wall: 1_795_000_000_000)
        #expect(payload(of: unset, at: now).contains(#""t":777,"clock":"unset","delayed":true,"gesture""#))
        #expect(unset.age(at: now) == nil)
        let known = EventTime(Timestamp(seconds: 5), clocks(5, wall: 1_794_999_990_000))
        #expect(payload(of: known, at: now).contains(#""t":1794999990000,"delayed":true,"gesture""#))
        #expect(known.age(at: now) == 10)
        #expect(known.age(at: clocks(3, boot: "b", wall: 5, isSet: false)) == nil)
    }

    @Test func whatComesTooLateToActOnSaysSo() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5, wall: 1_795_000_000_000))
        #expect(!payload(of: time, at: clocks(15, wall: 1_795_000_010_000)).contains("delayed"))
        #expect(payload(of: time, at: clocks(15.1, wall: 1_795_000_010_100)).contains(#""delayed":true"#))
    }

    /// The outbox tells its owner whose time it knows better now, once.
    @Test func correctedTimesAreToldOnce() {
        var outbox = Outbox(limits: OutboxLimits())
        let unset = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        let foreign = EventTime(Timestamp(seconds: 5), clocks(5, boot: "z", wall: 777, isSet: false))
        outbox.append(OutgoingMessage(topic: "t", content: .fixed([]), time: foreign))
        outbox.append(OutgoingMessage(topic: "t", content: .fixed([]), time: unset))
        #expect(outbox.correctTimes(clocks(6, wall: 1777, isSet: false)).isEmpty)
        #expect(outbox.correctTimes(clocks(6, wall: 1_795_000_006_000)) == [2])
        #expect(outbox.message(of: 2)?.time.wall == 1_795_000_005_000)
        #expect(outbox.correctTimes(clocks(7, wall: 1_795_000_007_000)).isEmpty)
    }
}
