import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: events reach the broker in order and at least once; memory is bounded, and what is lost is counted.
@Suite struct OutboxTests {
    private func message(_ number: Int) -> MQTTMessage { MQTTMessage(topic: "t", text: "\(number)", qos: .atLeastOnce) }

    private func outbox(capacity: Int = 10, _ numbers: ClosedRange<Int>) -> Outbox {
        var outbox = Outbox(capacity: capacity)
        for number in numbers { outbox.append(message(number)) }
        return outbox
    }

    /// Sends at most `limit` and tells what was sent, with its tokens.
    private func sent(
        _ outbox: inout Outbox, at seconds: Double = 0, limit: Int = .max
    ) -> [(text: String, token: UInt64)] {
        var sent: [(String, UInt64)] = []
        outbox.send(at: Timestamp(seconds: seconds)) { message, token in
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
        #expect(outbox.count == 3)
        outbox.acknowledge(MQTTToken(rawValue: 2))
        outbox.acknowledge(MQTTToken(rawValue: 2))
        outbox.acknowledge(MQTTToken(rawValue: 99))
        #expect(outbox.count == 2 && outbox.dropped == 0)
    }

    @Test func whatCouldNotBeSentIsSentNextInTheSameOrder() {
        var outbox = outbox(1...5)
        #expect(sent(&outbox, limit: 2).map(\.text) == ["1", "2"])
        outbox.append(message(6))
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5", "6"])
    }

    @Test func afterALostConnectionWhatWasUnderWayIsSentAgainInOrderUnderTheSameToken() {
        var outbox = outbox(1...4)
        let first = sent(&outbox, limit: 3)
        outbox.acknowledge(MQTTToken(rawValue: first[1].token))
        outbox.connectionLost()
        let again = sent(&outbox)
        #expect(again.map(\.text) == ["1", "3", "4"])
        #expect(again.map(\.token) == [1, 3, 4])
    }

    @Test func whereItIsFullTheOldestGoesAndIsCounted() {
        var outbox = outbox(capacity: 3, 1...5)
        #expect(outbox.count == 3 && outbox.dropped == 2)
        #expect(sent(&outbox).map(\.text) == ["3", "4", "5"])
        outbox.append(message(6))
        #expect(outbox.count == 3 && outbox.dropped == 3)
        #expect(sent(&outbox).map(\.text) == ["6"])
    }

    @Test func theAcknowledgementOfOneThatWasDroppedTouchesNoOther() {
        var outbox = outbox(capacity: 2, 1...2)
        _ = sent(&outbox)
        outbox.append(message(3))
        outbox.acknowledge(MQTTToken(rawValue: 1))
        #expect(outbox.count == 2)
    }

    @Test func whatTheBrokerWillNeverTakeIsCountedAsDropped() {
        var outbox = outbox(1...3)
        _ = sent(&outbox)
        outbox.giveUp(MQTTToken(rawValue: 2))
        outbox.giveUp(MQTTToken(rawValue: 2))
        #expect(outbox.count == 2 && outbox.dropped == 1)
        outbox.connectionLost()
        #expect(sent(&outbox).map(\.text) == ["1", "3"])
    }

    @Test func aCapacityOfNothingStillHoldsOne() {
        var outbox = outbox(capacity: 0, 1...2)
        #expect(sent(&outbox).map(\.text) == ["2"])
    }

    @Test func tokensStartWhereTheyAreTold() {
        var outbox = Outbox(capacity: 2, firstToken: 40)
        outbox.append(message(1))
        #expect(sent(&outbox).map(\.token) == [40])
    }

    /// An event without an age limit, a message until 30 s, an event, a message until 60 s.
    private var mixed: Outbox {
        var outbox = outbox(1...1)
        outbox.append(message(2), expiry: Timestamp(seconds: 30))
        outbox.append(message(3))
        outbox.append(message(4), expiry: Timestamp(seconds: 60))
        return outbox
    }

    @Test func whatGrewTooOldIsDroppedAndTheRestKeepsItsOrder() {
        var outbox = mixed
        #expect(sent(&outbox, at: 30).map(\.text) == ["1", "3", "4"])
        #expect(outbox.expired == 1 && outbox.dropped == 0 && outbox.count == 3)
        outbox.connectionLost()
        #expect(sent(&outbox, at: 59.9).map(\.text) == ["1", "3", "4"])
        outbox.connectionLost()
        #expect(sent(&outbox, at: 60).map(\.text) == ["1", "3"])
        #expect(outbox.expired == 2)
    }

    @Test func whatIsUnderWayMayBeAcknowledgedHoweverOldItIs() {
        var outbox = mixed
        let tokens = sent(&outbox, at: 29).map(\.token)
        outbox.dropExpired(at: Timestamp(seconds: 3600))
        #expect(outbox.count == 4 && outbox.expired == 0)
        for token in tokens { outbox.acknowledge(MQTTToken(rawValue: token)) }
        #expect(outbox.count == 0)
    }

    @Test func theBrokerIsToldWhatIsLeftOfTheTime() {
        var outbox = mixed
        var left: [UInt32?] = []
        outbox.send(at: Timestamp(seconds: 28.5)) { message, _ in
            left.append(message.properties.messageExpiry)
            return true
        }
        #expect(left == [nil, 2, nil, 32])
    }

    @Test func whatIsSentOnceAtMostIsNotSentAgain() {
        var outbox = Outbox(capacity: 9)
        outbox.append(MQTTMessage(topic: "t", text: "once", qos: .atMostOnce))
        outbox.append(MQTTMessage(topic: "t", text: "waits", qos: .atMostOnce))
        #expect(sent(&outbox, limit: 1).map(\.text) == ["once"])
        outbox.connectionLost()
        #expect(sent(&outbox).map(\.text) == ["waits"])
    }
}
