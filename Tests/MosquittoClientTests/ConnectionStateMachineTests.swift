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
        brokers: Int = 1, versions: MQTTOptions.Versions = .automatic, hasTrials: Bool = false,
        random: UInt64 = .max
    ) -> Machine {
        Machine(
            brokerCount: brokers, versions: versions, hasTrials: hasTrials, backoff: MQTTBackoff(),
            generator: FixedGenerator(value: random))
    }

    static func attempt(
        _ broker: Int = 0, _ version: MQTTVersion = .v5, ipv4: Bool = false, limits: MQTTLimits = .none,
        isTrial: Bool = false, withoutV5: MQTTFailure? = nil
    ) -> Machine.Action {
        .connect(
            Machine.Attempt(
                broker: broker, version: version, forcesIPv4: ipv4, limits: limits, isTrial: isTrial,
                withoutV5: withoutV5))
    }

    /// A failure of an attempt that reached the broker, which cost it something.
    static func costly(
        _ machine: inout Machine, _ failure: MQTTFailure = reset, overIPv6: Bool = false,
        at now: ContinuousClock.Instant = now
    ) -> Machine.Action {
        machine.failed(failure, hasReached: true, overIPv6: overIPv6, now: now)
    }

    /// A failure of an attempt that nobody answered.
    static func cheap(
        _ machine: inout Machine, _ failure: MQTTFailure = .network(code: 111),
        at now: ContinuousClock.Instant = now
    ) -> Machine.Action {
        machine.failed(failure, hasReached: false, now: now)
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

    @Test("The bound of the delay doubles from the base to the cap of 60 s if attempts reach the broker")
    func backoffDoubles() throws {
        var machine = Self.machine()
        _ = machine.start()
        var now = Self.now
        for bound in [1.7, 3.4, 6.8, 13.6, 27.2, 54.4, 60, 60, 60] {
            let action = Self.costly(&machine, Self.reset, at: now)
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
        #expect(Self.wait(Self.costly(&machine, Self.reset, at: Self.now)) == 0)

        var generator = SystemRandomNumberGenerator()
        var counts = [0, 0, 0, 0]
        for _ in 0..<4000 {
            let delay = MQTTBackoff().delay(afterRounds: 4, using: &generator)
            let quarter = Int(delay / .milliseconds(6800))
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
        let action = Self.costly(&machine, Self.reset, at: Self.now)
        #expect(machine.timerFired(now: Self.now) == action)
        #expect(machine.timerFired(now: Self.now + .seconds(2)) == Self.attempt())
    }

    @Test("Only a stable connection resets the backoff")
    func backoffIsReset() throws {
        var machine = Self.machine()
        _ = machine.start()
        for _ in 0..<5 {
            _ = Self.costly(&machine, Self.reset, at: Self.now)
            _ = machine.timerFired(now: Self.now + .seconds(100))
        }
        machine.accepted(now: Self.now)
        let short = try #require(Self.wait(Self.costly(&machine, .closed, at: Self.now)))
        #expect(abs(short - 54.4) < 0.001)

        _ = machine.timerFired(now: Self.now + .seconds(100))
        machine.accepted(now: Self.now)
        let later = Self.now + .seconds(11)
        let long = try #require(Self.wait(Self.costly(&machine, .closed, at: later), from: later))
        #expect(abs(long - 1.7) < 0.001)
    }

    /// How long the client waits after each of these connections, s.
    private static func delays(
        _ failure: MQTTFailure, after duration: Duration = .seconds(1), count: Int, wasIdle: Bool = true,
        factor: Int = 1
    ) -> [Double] {
        var backoff = MQTTBackoff()
        backoff.cap = .seconds(15)
        backoff.takeoverFactor = factor
        var machine = Machine(
            brokerCount: 1, versions: .automatic, backoff: backoff, generator: FixedGenerator(value: 0))
        _ = machine.start()
        var now = Self.now
        return (0..<count).map { _ in
            machine.accepted(now: now)
            now += duration
            let action = machine.failed(failure, hasReached: true, wasIdle: wasIdle, now: now)
            let delay = wait(action, from: now) ?? -1
            now += .seconds(1000)
            _ = machine.timerFired(now: now)
            return delay
        }
    }

    @Test("Clients that take over one another's session wait longer each time, without any luck")
    func takeover() {
        let taken = MQTTFailure.closedByBroker(.sessionTakenOver)
        #expect(Self.delays(taken, count: 7) == [0, 0.85, 1.7, 3.4, 6.8, 7.5, 7.5])
        // Brokers that give no reason.
        #expect(Self.delays(.closed, count: 7) == Self.delays(taken, count: 7))
        #expect(Self.delays(taken, count: 12, factor: 20).last == 150)
        // The pauses of the other client lengthen the connections: that is no reason to hurry.
        var machine = Self.machine()
        _ = machine.start()
        var now = Self.now
        for seconds in [1, 1, 1, 13, 13, 13] {
            machine.accepted(now: now)
            now += .seconds(seconds)
            _ = machine.failed(.closed, hasReached: true, now: now)
            now += .seconds(1000)
            _ = machine.timerFired(now: now)
        }
        #expect(machine.takeovers == 6)
        // A long connection, another reason, and a broker that closes instead of answering are no takeovers.
        #expect(Self.delays(taken, after: .seconds(61), count: 4) == [0, 0, 0, 0])
        #expect(Self.delays(.closed, after: .seconds(11), count: 4) == [0, 0, 0, 0])
        #expect(Self.delays(.silent, count: 4) == [0, 0, 0, 0])
        #expect(Self.delays(.closed, count: 4, wasIdle: false) == [0, 0, 0, 0])
    }

    @Test("Only what the client does not try in another way says something about the broker")
    func triesMore() {
        for (versions, isOpen) in [(MQTTOptions.Versions.automatic, true), (.only(.v5), false)] {
            var machine = Self.machine(versions: versions)
            _ = machine.start()
            for _ in 0..<2 {
                _ = Self.costly(&machine, .closed, at: Self.now)
                #expect(machine.triesMore == isOpen)
                _ = machine.timerFired(now: Self.now + .seconds(100))
            }
            // With 3.1.1, it has tried everything.
            _ = Self.costly(&machine, .closed, at: Self.now)
            #expect(!machine.triesMore)
        }
    }

    @Test("Brokers are tried in turn; a round of failures doubles the bound once; success returns to the first")
    func brokersInTurn() throws {
        var machine = Self.machine(brokers: 3)
        #expect(machine.start() == Self.attempt(0))
        for (broker, bound) in [(1, 1.7), (2, 1.7), (0, 1.7), (1, 3.4), (2, 3.4), (0, 3.4), (1, 6.8)] {
            let seconds = try #require(Self.wait(Self.costly(&machine, Self.reset, at: Self.now)))
            #expect(abs(seconds - bound) < 0.001)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(broker))
        }
        machine.accepted(now: Self.now)
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(60))
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0))
    }

    @Test(
        "A broker that does not support MQTT 5 is tried with 3.1.1 at once, and for a day only with that",
        arguments: [MQTTFailure.refused(.unsupportedProtocolVersion), .protocolError])
    func fallback(failure: MQTTFailure) {
        var machine = Self.machine(brokers: 2)
        _ = machine.start()
        let older = Self.attempt(0, .v311, withoutV5: failure)
        #expect(Self.costly(&machine, failure, at: Self.now) == older)
        machine.accepted(now: Self.now)
        let day = 86_400
        for time in [60, 40_000, day - 100] {
            _ = Self.costly(&machine, .closed, at: Self.now + .seconds(time))
            #expect(machine.timerFired(now: Self.now + .seconds(time + 40)) == older)
            machine.accepted(now: Self.now + .seconds(time + 40))
        }
        // It may have been upgraded.
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(day))
        #expect(machine.timerFired(now: Self.now + .seconds(day + 100)) == Self.attempt(0, .v5))
        #expect(Self.costly(&machine, failure, at: Self.now + .seconds(day + 100)) == older)
        // The other broker is unaffected.
        _ = Self.costly(&machine, Self.reset, at: Self.now + .seconds(day + 100))
        #expect(machine.timerFired(now: Self.now + .seconds(day + 200)) == Self.attempt(1, .v5))
    }

    @Test("A broker that was upgraded to MQTT 5 is not asked for 3.1.1 again")
    func upgraded() {
        var machine = Self.machine()
        _ = machine.start()
        _ = Self.costly(&machine, .protocolError, at: Self.now)
        machine.accepted(now: Self.now)
        let later = Self.now + .seconds(90_000)
        _ = Self.costly(&machine, .closed, at: later)
        #expect(machine.timerFired(now: later + .seconds(100)) == Self.attempt())
        machine.accepted(now: later + .seconds(100))
        _ = Self.costly(&machine, .closed, at: later + .seconds(200))
        #expect(machine.timerFired(now: later + .seconds(300)) == Self.attempt())
    }

    @Test("A broker that now takes MQTT 5 only is asked for it at once")
    func onlyV5() {
        var machine = Self.machine()
        _ = machine.start()
        _ = Self.costly(&machine, .protocolError, at: Self.now)
        machine.accepted(now: Self.now)
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(60))
        let older = Self.attempt(0, .v311, withoutV5: .protocolError)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == older)
        #expect(Self.wait(Self.costly(&machine, .refused(.unsupportedProtocolVersion), at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt())
    }

    @Test("A broker that twice leaves an MQTT 5 CONNECT unanswered is tried with 3.1.1 at once")
    func silence() {
        var machine = Self.machine()
        _ = machine.start()
        #expect(Self.wait(Self.costly(&machine, .timedOut, at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
        #expect(Self.costly(&machine, .timedOut, at: Self.now) == Self.attempt(0, .v311, withoutV5: .timedOut))
        // A frozen broker is silent whatever the version.
        #expect(Self.wait(Self.costly(&machine, .timedOut, at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
        // An address where nobody answers says nothing of the version.
        for _ in 0..<3 {
            #expect(Self.wait(Self.cheap(&machine, .timedOut, at: Self.now)) != nil)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
        }
    }

    @Test("A broker that is silent over IPv6 and has no IPv4 address is tried with 3.1.1 after the second time")
    func silenceOverIPv6() {
        var machine = Self.machine()
        _ = machine.start()
        for _ in 0..<2 {
            #expect(Self.costly(&machine, .timedOut, overIPv6: true) == Self.attempt(ipv4: true))
            #expect(Self.wait(Self.cheap(&machine)) != nil && machine.triesMore)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())
            let older = Self.attempt(0, .v311, withoutV5: .timedOut)
            #expect(Self.costly(&machine, .timedOut, overIPv6: true) == older)
            // A frozen broker is silent whatever the version: then all that begins again.
            let overIPv4 = Self.attempt(0, .v311, ipv4: true, withoutV5: .timedOut)
            #expect(Self.costly(&machine, .timedOut, overIPv6: true) == overIPv4)
            #expect(Self.wait(Self.cheap(&machine)) != nil && !machine.triesMore)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())
        }
        // With both addresses, the second time is over IPv4.
        #expect(Self.costly(&machine, .timedOut, overIPv6: true) == Self.attempt(ipv4: true))
        #expect(Self.costly(&machine, .timedOut) == Self.attempt(0, .v311, ipv4: true, withoutV5: .timedOut))
        _ = Self.cheap(&machine)
        // A broker that is away says nothing of the version.
        _ = machine.timerFired(now: Self.now + .seconds(100))
        #expect(Self.costly(&machine, .timedOut, overIPv6: true) == Self.attempt(ipv4: true))
        _ = Self.cheap(&machine)
        _ = machine.timerFired(now: Self.now + .seconds(100))
        let away = machine.failed(Self.reset, hasReached: false, overIPv6: true, now: Self.now)
        #expect(away == Self.attempt(ipv4: true))
        #expect(Self.wait(Self.cheap(&machine)) != nil && !machine.triesMore)
        // With one version there is nothing else to try.
        var fixed = Self.machine(versions: .only(.v5))
        _ = fixed.start()
        for _ in 0..<2 {
            #expect(Self.costly(&fixed, .timedOut, overIPv6: true) == Self.attempt(ipv4: true))
            #expect(Self.wait(Self.cheap(&fixed)) != nil && !fixed.triesMore)
            _ = fixed.timerFired(now: Self.now + .seconds(100))
        }
    }

    @Test(
        "While a person waits, one silence is enough, unless the broker has accepted MQTT 5 or the version is fixed",
        arguments: [false, true])
    func silenceOfATrial(overIPv6: Bool) {
        var machine = Self.machine(hasTrials: true)
        #expect(machine.start() == Self.attempt(isTrial: true))
        // A closed connection has another reason most of the time.
        #expect(Self.wait(Self.costly(&machine, .closed)) != nil)
        _ = Self.cheap(&machine)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(isTrial: true))
        _ = Self.cheap(&machine)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(isTrial: true))
        let older = Self.attempt(0, .v311, withoutV5: .timedOut)
        #expect(Self.costly(&machine, .timedOut, overIPv6: overIPv6) == older)
        #expect(machine.triesMore)
        #expect(Self.wait(Self.costly(&machine, .timedOut)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(isTrial: true))
        machine.accepted(now: Self.now)
        _ = Self.costly(&machine, .silent)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())
        for version in [MQTTVersion.v5, .v311] {
            var fixed = Self.machine(versions: .only(version), hasTrials: true)
            #expect(fixed.start() == Self.attempt(0, version))
        }
    }

    @Test("A broker that has accepted MQTT 5 is frozen if it is silent, and not too old")
    func frozen() {
        var machine = Self.machine()
        _ = machine.start()
        machine.accepted(now: Self.now)
        _ = Self.costly(&machine, .silent, at: Self.now + .seconds(60))
        for failure in [MQTTFailure.timedOut, .closed, .timedOut] {
            #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt(0, .v5))
            #expect(Self.wait(Self.costly(&machine, failure, at: Self.now + .seconds(100))) != nil)
            #expect(!machine.triesMore)
        }
        // But if it says that it does not speak it any more, that counts.
        let refusal = MQTTFailure.refused(.unsupportedProtocolVersion)
        _ = machine.timerFired(now: Self.now + .seconds(200))
        #expect(
            Self.costly(&machine, refusal, at: Self.now + .seconds(200)) == Self.attempt(0, .v311, withoutV5: refusal))
    }

    @Test("After a day, one silence or closed connection is enough to know that the broker was not upgraded")
    func silenceAfterADay() {
        var machine = Self.machine()
        _ = machine.start()
        _ = Self.costly(&machine, .timedOut, at: Self.now)
        _ = machine.timerFired(now: Self.now + .seconds(100))
        _ = Self.costly(&machine, .timedOut, at: Self.now + .seconds(100))
        machine.accepted(now: Self.now + .seconds(100))
        let later = Self.now + .seconds(90_000)
        _ = Self.costly(&machine, .silent, at: later)
        #expect(machine.timerFired(now: later + .seconds(100)) == Self.attempt())
        #expect(Self.costly(&machine, .timedOut, at: later) == Self.attempt(0, .v311, withoutV5: .timedOut))
    }

    @Test("A broker without retained messages or QoS 1 is asked at once for a will that it takes")
    func limits() {
        var machine = Self.machine()
        _ = machine.start()
        let noRetain = MQTTLimits(retains: false)
        let none = MQTTLimits(retains: false, maximumQoS: .atMostOnce)
        #expect(Self.costly(&machine, .refused(.retainNotSupported)) == Self.attempt(limits: noRetain))
        #expect(Self.costly(&machine, .refused(.qosNotSupported)) == Self.attempt(limits: none))
        // One that refuses even that is not asked without delays.
        #expect(Self.wait(Self.costly(&machine, .refused(.retainNotSupported))) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())
        _ = Self.costly(&machine, .refused(.retainNotSupported))
        machine.accepted(limits: none, now: Self.now)
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(60))
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(limits: none))
        // What it says last counts: its configuration may change.
        machine.accepted(limits: .none, now: Self.now + .seconds(100))
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(160))
        #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt())
    }

    @Test("A broker that takes more of the will than before is connected to again once, and not again and again")
    func willOutdated() {
        var machine = Self.machine()
        let will = MQTTMessage(topic: "t", text: "offline", qos: .atLeastOnce, retain: true)
        let noRetain = MQTTLimits(retains: false)
        let accepted = { (machine: inout Machine, limits: MQTTLimits) in
            machine.accepted(limits: limits, will: will, now: Self.now)
        }
        _ = machine.start()
        _ = Self.costly(&machine, .refused(.retainNotSupported))
        // Of two brokers behind one address, one retains messages.
        #expect(accepted(&machine, .none))
        _ = Self.costly(&machine, .closed)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())
        _ = Self.costly(&machine, .refused(.retainNotSupported))
        #expect(accepted(&machine, noRetain))
        _ = Self.costly(&machine, .closed)
        #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt(limits: noRetain))
        // Now it retains messages.
        #expect(!accepted(&machine, .none))
        #expect(Self.costly(&machine, .willOutdated) == Self.attempt())
        // The other broker again.
        #expect(Self.costly(&machine, .refused(.retainNotSupported)) == Self.attempt(limits: noRetain))
        #expect(accepted(&machine, .none))
        // A will that was taken whole is not sent again, whatever the broker says.
        _ = Self.costly(&machine, .closed)
        #expect(machine.timerFired(now: Self.now + .seconds(300)) == Self.attempt())
        #expect(accepted(&machine, noRetain))
    }

    @Test("A broker that refuses 3.1.1 too is not retried without delays")
    func fallbackRefused() {
        var machine = Self.machine()
        _ = machine.start()
        let refusal = MQTTFailure.refused(.unsupportedProtocolVersion)
        #expect(Self.costly(&machine, refusal, at: Self.now) == Self.attempt(0, .v311, withoutV5: refusal))
        #expect(Self.wait(Self.costly(&machine, refusal, at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
    }

    @Test("A broker that twice closes the connection on an MQTT 5 CONNECT is tried with 3.1.1 at once")
    func hangUp() {
        var machine = Self.machine()
        _ = machine.start()
        // One that closes whatever the version.
        for _ in 0..<2 {
            #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
            #expect(Self.costly(&machine, .closed, at: Self.now) == Self.attempt(0, .v311, withoutV5: .closed))
            #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
        }
        // One that accepts 3.1.1. Later connections begin with that.
        #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
        #expect(Self.costly(&machine, .closed, at: Self.now) == Self.attempt(0, .v311, withoutV5: .closed))
        for _ in 0..<2 {
            machine.accepted(now: Self.now)
            _ = Self.costly(&machine, .closed, at: Self.now)
            #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt(0, .v311, withoutV5: .closed))
        }
    }

    @Test("A broker of MQTT 5 that closes one connection, as when it starts, is never tried with 3.1.1")
    func closedOnce() {
        var machine = Self.machine()
        _ = machine.start()
        for _ in 0..<3 {
            #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
            #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
            machine.accepted(now: Self.now)
            _ = Self.costly(&machine, .closed, at: Self.now)
            #expect(machine.timerFired(now: Self.now + .seconds(200)) == Self.attempt(0, .v5))
        }
        // Another failure in between also shows that the closed connection said nothing of the version.
        #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
        _ = machine.timerFired(now: Self.now + .seconds(100))
        #expect(Self.wait(Self.costly(&machine, Self.reset, at: Self.now)) != nil)
        _ = machine.timerFired(now: Self.now + .seconds(100))
        #expect(Self.wait(Self.costly(&machine, .closed, at: Self.now)) != nil)
    }

    @Test("A fixed version never changes")
    func fixedVersion() {
        var machine = Self.machine(versions: .only(.v5))
        _ = machine.start()
        #expect(Self.wait(Self.costly(&machine, .refused(.unsupportedProtocolVersion), at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt(0, .v5))
    }

    @Test("A name whose IPv6 address does not answer is tried over IPv4 at once, and only once")
    func ipv4() {
        var machine = Self.machine()
        _ = machine.start()
        let unanswered = machine.failed(.timedOut, hasReached: false, overIPv6: true, now: Self.now)
        #expect(unanswered == Self.attempt(0, .v5, ipv4: true))
        #expect(Self.wait(Self.costly(&machine, .timedOut, overIPv6: false, at: Self.now)) != nil)
        #expect(machine.timerFired(now: Self.now + .seconds(100)) == Self.attempt())

        #expect(Self.costly(&machine, Self.reset, overIPv6: true, at: Self.now) == Self.attempt(0, .v5, ipv4: true))
        machine.accepted(now: Self.now)
        _ = Self.costly(&machine, .closed, at: Self.now + .seconds(60))
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
            action = Self.costly(&machine, failure, at: now)
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
        for bound in [1.7, 3.4, 6.8, 13.6, 27.2, 54.4, 108.8, 217.6, 435.2, 870.4, 1740.8, 3481.6, 3600, 3600] {
            machine.accepted(now: now)
            now += .seconds(30)
            let wait = try #require(Self.wait(Self.costly(&machine, .unreadable, at: now), from: now))
            #expect(abs(wait - bound) < 0.001)
            now += .seconds(3600)
            #expect(machine.timerFired(now: now) == Self.attempt())
            // A connection in between changes nothing.
            machine.accepted(now: now)
            now += .seconds(30)
            let usual = try #require(Self.wait(Self.costly(&machine, .closed, at: now), from: now))
            #expect(abs(usual - 1.7) < 0.001)
            _ = machine.timerFired(now: now + .seconds(2))
        }
        machine.accepted(now: now)
        now += .seconds(3600)
        let wait = try #require(Self.wait(Self.costly(&machine, .unreadable, at: now), from: now))
        #expect(abs(wait - 1.7) < 0.001)
    }

    @Test("After stop, no event starts another attempt")
    func stop() {
        var machine = Self.machine()
        _ = machine.start()
        #expect(machine.stop() == .finish)
        #expect(machine.timerFired(now: Self.now) == .finish)
        #expect(Self.costly(&machine, .closed, at: Self.now) == .finish)
        #expect(machine.start() == .finish)
    }
}
