import Testing

@testable import MosquittoClient

/// The connection logic without a network: which broker is tried, how and when. Only `stop` ends the attempts.
@Suite struct ConnectionStateMachineTests {
    typealias Machine = ConnectionStateMachine<FixedGenerator>

    /// A generator that always returns the same number. All zeros and all ones give the limits of every random range.
    struct FixedGenerator: RandomNumberGenerator {
        var value: UInt64
        mutating func next() -> UInt64 { value }
    }

    static let now = ContinuousClock.now
    static let reset = MQTTFailure.network(code: 104)

    static func machine(
        brokers: Int = 1, versions: MQTTOptions.Versions = .automatic, random: UInt64 = .max
    ) -> Machine {
        Machine(
            brokerCount: brokers, versions: versions, backoff: MQTTBackoff(),
            generator: FixedGenerator(value: random))
    }

    static func attempt(
        _ broker: Int = 0, _ version: MQTTVersion = .v5, ipv4: Bool = false
    ) -> Machine.Action {
        .connect(Machine.Attempt(broker: broker, version: version, forcesIPv4: ipv4))
    }

    /// The delay in an action, seconds; `nil` for another action.
    static func wait(_ action: Machine.Action, from start: ContinuousClock.Instant = now) -> Double? {
        guard case .wait(let until) = action else { return nil }
        return start.duration(to: until) / .seconds(1)
    }

    @Test("The first attempt is immediate and uses MQTT 5")
    func start() {
        var machine = Self.machine()
        #expect(machine.start() == Self.attempt())
    }

    @Test("The bound of the delay doubles from 1 s to the cap of 60 s")
    func backoffDoubles() throws {
        var machine = Self.machine()
        _ = machine.start()
        var now = Self.now
        for bound in [1.0, 2, 4, 8, 16, 32, 60, 60, 60] {
            let action = machine.failed(Self.reset, now: now)
            let seconds = try #require(Self.wait(action, from: now))
            #expect(abs(seconds - bound) < 0.001)
            now += .seconds(100)
            #expect(machine.timerFired(now: now) == Self.attempt())
        }
    }

    @Test("With full jitter the delay may be zero and is spread over the whole range")
    func jitter() throws {
        var machine = Self.machine(random: 0)
        _ = machine.start()
        #expect(Self.wait(machine.failed(Self.reset, now: Self.now)) == 0)

        var generator = SystemRandomNumberGenerator()
        var counts = [0, 0, 0, 0]
        for _ in 0..<4000 {
            let delay = MQTTBackoff().delay(afterRounds: 4, using: &generator)
            let quarter = Int(delay / .seconds(4))
            try #require((0...4).contains(quarter))
            counts[min(quarter, 3)] += 1
        }
        // 1,000 ± 27: ten standard deviations.
        #expect(counts.allSatisfy { (730...1270).contains($0) })
    }

    @Test("A huge number of failures neither overflows nor exceeds the cap")
    func manyFailures() {
        var generator = FixedGenerator(value: .max)
        let delay = MQTTBackoff().delay(afterRounds: .max, using: &generator)
        #expect(delay > .seconds(59) && delay <= .seconds(60))
    }

    @Test("A timer that fires early returns the same deadline again")
    func earlyTimer() {
        var machine = Self.machine()
        _ = machine.start()
        let action = machine.failed(Self.reset, now: Self.now)
        #expect(machine.timerFired(now: Self.now) == action)
        #expect(machine.timerFired(now: Self.now + .seconds(2)) == Self.attempt())
    }

    @Test("Only a stable connection resets the backoff")
    func backoffIsReset() throws {
        var machine = Self.machine()
        _ = machine.start()
        for _ in 0..<5 {
            _ = machine.failed(Self.reset, now: Self.now)
            _ = machine.timerFired(now: Self.now + .seconds(100))
        }
        machine.accepted(now: Self.now)
        let short = try #require(Self.wait(machine.failed(.closed, now: Self.now)))
        #expect(abs(short - 32) < 0.001)

        _ = machine.timerFired(now: Self.now + .seconds(100))
        machine.accepted(now: Self.now)
        let later = Self.now + .seconds(11)
        let long = try #require(Self.wait(machine.failed(.closed, now: later), from: later))
        #expect(abs(long - 1) < 0.001)
    }

    @Test("Brokers are tried in turn; a round of failures doubles the bound once; success returns to the first")
    func brokersInTurn() throws {
        var machine = Self.machine(brokers: 3)
        #expect(machine.start() == Self.attempt(0))
        for (broker, bound) in [(1, 1.0), (2, 1), (0, 1), (1, 2), (2, 2), (0, 2), (1, 4)] {
            let seconds = try #require(Self.wait(machine.failed(Self.reset, now: Self.now)))
            #expect(abs(seconds - bound) < 0.001)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(broker))
        }
        machine.accepted(now: Self.now)
        _ = machine.failed(.closed, now: Self.now + .seconds(60))
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0))
    }

    @Test(
        "A broker that does not support MQTT 5 is tried with 3.1.1 at once, and the version is remembered",
        arguments: [MQTTFailure.refused(.unsupportedProtocolVersion), .protocolError])
    func fallback(failure: MQTTFailure) {
        var machine = Self.machine(brokers: 2)
        _ = machine.start()
        #expect(machine.failed(failure, now: Self.now) == Self.attempt(0, .v311))
        machine.accepted(now: Self.now)
        _ = machine.failed(.closed, now: Self.now + .seconds(60))
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v311))
        // The other broker is unaffected.
        _ = machine.failed(Self.reset, now: Self.now)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(1, .v5))
    }

    @Test("A broker that refuses 3.1.1 too is not retried without delays")
    func fallbackRefused() {
        var machine = Self.machine()
        _ = machine.start()
        let refusal = MQTTFailure.refused(.unsupportedProtocolVersion)
        #expect(machine.failed(refusal, now: Self.now) == Self.attempt(0, .v311))
        #expect(Self.wait(machine.failed(refusal, now: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
    }

    @Test("A broker that closes the connection on an MQTT 5 CONNECT is tried with both versions alternately")
    func hangUp() {
        var machine = Self.machine()
        _ = machine.start()
        for version in [MQTTVersion.v311, .v5, .v311] {
            #expect(Self.wait(machine.failed(.closed, now: Self.now)) != nil)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, version))
        }
        machine.accepted(now: Self.now)
        // Now the version is known, and a closed connection does not change it.
        _ = machine.failed(.closed, now: Self.now)
        _ = machine.timerFired(now: Self.now + .seconds(100))
        _ = machine.failed(.closed, now: Self.now)
        #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt(0, .v311))
    }

    @Test("A fixed version never changes")
    func fixedVersion() {
        var machine = Self.machine(versions: .only(.v5))
        _ = machine.start()
        #expect(Self.wait(machine.failed(.refused(.unsupportedProtocolVersion), now: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
    }

    @Test("A name whose IPv6 address does not answer is tried over IPv4 at once, and only once")
    func ipv4() {
        var machine = Self.machine()
        _ = machine.start()
        #expect(machine.failed(.timedOut, overIPv6: true, now: Self.now) == Self.attempt(0, .v5, ipv4: true))
        #expect(Self.wait(machine.failed(.timedOut, overIPv6: false, now: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())

        #expect(machine.failed(Self.reset, overIPv6: true, now: Self.now) == Self.attempt(0, .v5, ipv4: true))
        machine.accepted(now: Self.now)
        _ = machine.failed(.closed, now: Self.now + .seconds(60))
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5, ipv4: true))
    }

    @Test(
        "No failure ends the attempts",
        arguments: [
            MQTTFailure.hostNotFound("broker", code: -2), .network(code: 111), .timedOut, .tls(.notYetValid),
            .tls(.other("x")), .refused(.badUserNameOrPassword), .refused(.notAuthorised), .refused(.banned),
            .closedByBroker(.sessionTakenOver), .closed, .protocolError, .silent, .file("/x", code: 2),
            .library(code: 13),
        ])
    func nothingIsFinal(failure: MQTTFailure) {
        var machine = Self.machine()
        var action = machine.start()
        var now = Self.now
        for round in 0..<10 {
            guard case .connect = action else {
                Issue.record("\(action) in round \(round)")
                return
            }
            if round % 2 == 1 { machine.accepted(now: now) }
            action = machine.failed(failure, now: now)
            now += .seconds(100)
            if case .wait = action { action = machine.timerFired(now: now) }
        }
        #expect(machine.stop() == .finish)
    }

    @Test(
        "Failures that leak memory are retried ever less often, up to once an hour, however long the connections last")
    func unreadable() throws {
        var machine = Self.machine()
        _ = machine.start()
        var now = Self.now
        for bound in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600] {
            machine.accepted(now: now)
            now += .seconds(30)
            let wait = try #require(Self.wait(machine.failed(.unreadable, now: now), from: now))
            #expect(abs(wait - bound) < 0.001)
            now += .seconds(3600)
            #expect(machine.timerFired(now: now) == Self.attempt())
            // A connection in between changes nothing.
            machine.accepted(now: now)
            now += .seconds(30)
            let usual = try #require(Self.wait(machine.failed(.closed, now: now), from: now))
            #expect(abs(usual - 1) < 0.001)
            _ = machine.timerFired(now: now + .seconds(1))
        }
        machine.accepted(now: now)
        now += .seconds(3600)
        let wait = try #require(Self.wait(machine.failed(.unreadable, now: now), from: now))
        #expect(abs(wait - 1) < 0.001)
    }

    @Test("After stop, no event starts another attempt")
    func stop() {
        var machine = Self.machine()
        _ = machine.start()
        #expect(machine.stop() == .finish)
        #expect(machine.timerFired(now: Self.now) == .finish)
        #expect(machine.failed(.closed, now: Self.now) == .finish)
        #expect(machine.start() == .finish)
    }
}
