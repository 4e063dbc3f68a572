import BrokerTestSupport
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a device that was renamed leaves no retained message behind, and never touches another device's.
@Suite struct FormerNamesTests {
    private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: 100).advanced(bySeconds: seconds) }

    private let retained = ["availability", "state", "health", "config/reported"].map { "jostle/old/\($0)" }

    /// Connected, and told that the broker tells of who is online.
    private func names(_ roots: Set<String> = ["jostle/old"]) -> FormerNames {
        var names = FormerNames(roots)
        #expect(names.connected(at: at(0)) == roots.sorted().map { "\($0)/availability" })
        for root in roots { names.answered("\(root)/availability", at: at(0.1)) }
        return names
    }

    /// Does what is due, with a client that takes so many messages.
    private func work(_ names: inout FormerNames, _ seconds: Double, taking limit: Int = 10) -> FormerNames.Work {
        let work = names.work(at: at(seconds))
        for (message, token) in work.messages.prefix(limit) {
            #expect(message.retain && message.payload.isEmpty && message.qos == .atLeastOnce)
            names.sent(message, token)
        }
        return work
    }

    private func hear(_ names: inout FormerNames, _ text: String, _ seconds: Double) -> FormerNames.Finding {
        names.take(MQTTMessage(topic: "jostle/old/availability", text: text, retain: true), at: at(seconds))
    }

    @Test func whatWasRetainedIsTakenAwayOnce() {
        var names = names()
        #expect(work(&names, 0.2).messages.isEmpty)
        let due = work(&names, 0.5)
        #expect(due.messages.map(\.message.topic) == retained && due.unsubscriptions == [retained[0]])
        #expect(work(&names, 1).messages.isEmpty && names.nextWork == nil)
        var cleared: [String?] = []
        for (_, token) in due.messages {
            let answer = names.acknowledged(token)
            #expect(answer.isOurs)
            cleared.append(answer.root)
        }
        #expect(cleared == [nil, nil, nil, "jostle/old"] && names.roots.isEmpty)
        #expect(names.connected(at: at(2)).isEmpty)
    }

    @Test func aDeviceThatIsOnlineUnderTheNameIsLeftAlone() {
        var names = names()
        #expect(hear(&names, "online", 0.2) == .inUse("jostle/old"))
        #expect(hear(&names, "online", 0.3) == .nothing)
        #expect(work(&names, 60).messages.isEmpty && names.roots == ["jostle/old"])
        // The broker had not noticed yet that it was this device itself, which lost its power.
        #expect(hear(&names, "offline", 61) == .nothing)
        #expect(work(&names, 61).messages.count == 4)
        // Its own empty message comes back.
        #expect(hear(&names, "", 62) == .nothing)
        #expect(names.take(MQTTMessage(topic: "jostle/new/availability", text: "online"), at: at(63)) == .unrelated)
    }

    @Test func whatALostConnectionLeftUndoneIsDoneOnTheNext() {
        var names = names()
        let first = work(&names, 0.5, taking: 2)
        #expect(work(&names, 0.6).messages.map(\.message.topic) == Array(retained.suffix(2)))
        names.disconnected()
        #expect(work(&names, 1).messages.isEmpty)
        #expect(names.connected(at: at(2)) == [retained[0]])
        // No answer to the subscription.
        #expect(work(&names, 3.9).messages.isEmpty)
        let second = work(&names, 4.1)
        #expect(second.messages.map(\.message.topic) == retained)
        #expect(Set(first.messages.map(\.token)).isDisjoint(with: second.messages.map(\.token)))
        // An answer of the first connection counts for nothing.
        #expect(names.acknowledged(first.messages[0].token) == FormerNames.Answer(isOurs: true))
    }

    @Test func whatTheBrokerForbidsIsToldOnceAndNotTriedAgain() {
        var names = names()
        let due = work(&names, 0.5)
        var refused: [String?] = []
        for (_, token) in due.messages { refused.append(names.rejected(token).root) }
        #expect(refused == ["jostle/old", nil, nil, nil])
        #expect(names.connected(at: at(5)).isEmpty && work(&names, 60).messages.isEmpty)
        #expect(names.roots == ["jostle/old"], "the next start tries again")
        let event = MQTTToken(rawValue: 1)
        let announcement = MQTTToken(rawValue: (1 << 62) + 1)
        #expect(!names.rejected(event).isOurs && !names.acknowledged(announcement).isOurs)
    }
}
