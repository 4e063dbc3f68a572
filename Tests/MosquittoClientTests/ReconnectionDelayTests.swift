import BrokerTestSupport
import Glibc
import Testing

@testable import MosquittoClient

/// Requirement: one client is back within 2 s of its broker, however long that was away, and a thousand clients do not
/// come back within a second.
@Suite struct ReconnectionDelayTests {
    /// A repeatable sequence of numbers (SplitMix64).
    struct Sequence: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    typealias Machine = ConnectionStateMachine<Sequence>
    typealias Instant = ContinuousClock.Instant

    private static let refused = MQTTFailure.network(code: ECONNREFUSED)
    private static let noRoute = MQTTFailure.network(code: ENETUNREACH)
    private let start = ContinuousClock.now

    private func machine(_ seed: UInt64, brokers: Int = 1) -> Machine {
        Machine(
            brokerCount: brokers, versions: .automatic, backoff: MQTTBackoff(), generator: Sequence(state: seed &* 977))
    }

    /// A machine whose connection has lasted a minute at `start`.
    private func connected(_ seed: UInt64, brokers: Int = 1) -> Machine {
        var machine = machine(seed, brokers: brokers)
        _ = machine.start()
        machine.accepted(now: start - .seconds(60))
        return machine
    }

    /// The delay in an action, seconds; `nil` for another action.
    private func wait(_ action: Machine.Action, from start: Instant) -> Double? {
        guard case .wait(let until) = action else { return nil }
        return start.duration(to: until) / .seconds(1)
    }

    /// The seconds from the return of a broker to the attempt that reaches it, if it was away from `start` on.
    private func absence(of machine: Machine, outage: Double, returning broker: Int = 0) -> Double {
        var machine = machine
        var action = machine.failed(.closed, hasReached: true, now: start)
        while true {
            guard case .wait(let until) = action else {
                Issue.record("\(action)")
                return 0
            }
            let time = start.duration(to: until) / .seconds(1)
            guard case .connect(let attempt) = machine.timerFired(now: until) else {
                Issue.record("no attempt")
                return 0
            }
            if time >= outage, attempt.broker == broker { return time - outage }
            action = machine.failed(Self.refused, hasReached: false, now: until + .milliseconds(1))
        }
    }

    @Test(arguments: [0.2, 3, 60, 600])
    func spreadsClientsWithoutDelayingOne(outage: Double) throws {
        let absences = (1...1000).map { absence(of: connected(UInt64($0)), outage: outage) }.sorted()
        #expect(try #require(absences.last) < 1.75)
        // The most that fall into any one second.
        let busiest = absences.indices.map { first in
            absences[first...].prefix { $0 < absences[first] + 1 }.count
        }.max()
        // An even spread has 588, and chance adds some.
        #expect(try #require(busiest) < 700)
    }

    @Test(arguments: [0, 1])
    func triesEveryBrokerInEachPeriod(broker: Int) {
        for seed in 1...200 {
            let seconds = absence(of: connected(UInt64(seed), brokers: 2), outage: 30, returning: broker)
            #expect(seconds < 1.75)
        }
    }

    @Test("A start without a broker spreads clients too: those of a power failure start together")
    func spreadsAfterStart() {
        let delays = (1...100).compactMap { seed in
            var machine = machine(UInt64(seed))
            _ = machine.start()
            return wait(
                machine.failed(Self.refused, hasReached: false, now: start), from: start)
        }
        #expect(delays.count == 100 && delays.allSatisfy { $0 < 1.7 })
        #expect(delays.contains { $0 < 0.4 } && delays.contains { $0 > 1.3 })
    }

    @Test("Attempts that reach a broker and fail are spread further and further; those that nobody answers are not")
    func cheapFailuresDoNotCount() throws {
        var machine = connected(1)
        var now = start
        _ = machine.failed(.closed, hasReached: true, now: now)
        for _ in 0..<1000 {
            now += .seconds(5)
            _ = machine.timerFired(now: now)
            _ = machine.failed(Self.refused, hasReached: false, now: now)
        }
        #expect(machine.failures == 0)
        var delays: [Double] = []
        for _ in 0..<40 {
            now += .seconds(100)
            _ = machine.timerFired(now: now)
            var action = machine.failed(.timedOut, hasReached: true, now: now)
            // After the second silence, 3.1.1 is tried at once.
            if case .connect = action { action = machine.failed(.timedOut, hasReached: true, now: now) }
            delays.append(try #require(wait(action, from: now)))
        }
        #expect(machine.failures == 40)
        #expect(delays.contains { $0 > 10 } && delays.allSatisfy { $0 <= 60 })
    }

    @Test("A subscription without an answer leads to the next broker, however long the connection lasted")
    func unansweredSubscription() {
        var machine = connected(1, brokers: 2)
        _ = machine.failed(.subscriptionUnanswered("a"), hasReached: true, now: start)
        let attempt = Machine.Attempt(broker: 1, version: .v5, forcesIPv4: false)
        #expect(machine.timerFired(now: start + .seconds(2)) == .connect(attempt))
    }

    // MARK: The host's own network

    @Test(
        "Tries again within 100 ms when the host's network came back",
        arguments: [
            MQTTFailure.network(code: ENETUNREACH), .network(code: EHOSTUNREACH), .network(code: ENETDOWN),
            .network(code: ETIMEDOUT), .hostNotFound("broker", code: -3), .timedOut, .silent,
        ])
    func networkReturns(failure: MQTTFailure) throws {
        for seed in 1...50 {
            var machine = connected(UInt64(seed))
            let early = machine.networkReturned(now: start)
            #expect(early == nil && !machine.awaitsNetwork)
            guard case .wait(let usual) = machine.failed(failure, hasReached: true, now: start) else {
                throw Unexpected("no delay")
            }
            #expect(machine.awaitsNetwork)
            let returned = machine.networkReturned(now: start)
            let until = try #require(returned)
            #expect(until <= start + .milliseconds(100) && until <= usual)
            // A second report moves it by no more than that.
            let again = machine.networkReturned(now: start + .milliseconds(1))
            #expect(again.map { $0 <= until } == true)
            guard case .connect = machine.timerFired(now: until) else { throw Unexpected("no attempt") }
            let late = machine.networkReturned(now: until)
            #expect(late == nil && machine.awaitsNetwork, "the attempt is under way")
            machine.accepted(now: until)
            #expect(!machine.awaitsNetwork)
        }
    }

    @Test("Leaves the connection to another client with the same id, also when the network comes and goes")
    func networkReturnsWhileGivingWay() {
        for seed in 1...50 {
            var machine = connected(UInt64(seed))
            machine.givingWay = .seconds(60)
            _ = machine.failed(.silent, hasReached: true, now: start)
            let returned = machine.networkReturned(now: start + .seconds(1))
            #expect(returned.map { $0 >= start + .seconds(60) } == true)
            // The next connection may come soon if there is no such client any more.
            machine = connected(UInt64(seed))
            machine.givingWay = nil
            _ = machine.failed(.silent, hasReached: true, now: start)
            let soon = machine.networkReturned(now: start + .milliseconds(1))
            #expect(soon.map { $0 <= start + .milliseconds(101) } == true)
        }
    }

    @Test(
        "Does not wait for the network if the broker was reached",
        arguments: [
            MQTTFailure.network(code: ECONNREFUSED), .network(code: ECONNRESET), .closed, .unreadable,
            .refused(.notAuthorised), .tls(.expired), .subscriptionUnanswered("a"),
        ])
    func networkIsNotTheReason(failure: MQTTFailure) {
        var machine = connected(1)
        _ = machine.failed(failure, hasReached: true, now: start)
        let returned = machine.networkReturned(now: start)
        #expect(returned == nil && !machine.awaitsNetwork)
    }
}
