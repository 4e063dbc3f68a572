/// Whom to connect to next, how, and when: a value that is told what happened and answers with what to do.
///
/// It neither reads a clock nor touches the network, so that every way a broker can fail is a unit test.
struct ConnectionStateMachine<Generator: RandomNumberGenerator> {
    typealias Instant = ContinuousClock.Instant

    /// One try to connect.
    struct Attempt: Equatable {
        /// Index into the list of brokers.
        var broker: Int
        var version: MQTTVersion
        /// Leaves IPv6 out: the name's first address did not answer, and was one.
        var forcesIPv4: Bool
    }

    /// What to do.
    enum Action: Equatable {
        case connect(Attempt)
        case wait(until: Instant)
        case finish
    }

    enum State: Equatable {
        case idle
        case connecting(Attempt)
        case connected(Attempt, since: Instant)
        case backingOff(until: Instant)
        case stopped
    }

    /// What was learnt about a broker.
    private struct Knowledge {
        var version: MQTTVersion
        var versionIsKnown = false
        var forcesIPv4 = false
    }

    private(set) var state: State = .idle
    private let versions: MQTTOptions.Versions
    private let backoff: MQTTBackoff
    private var generator: Generator
    private var brokers: [Knowledge]

    /// The broker to try next, and the failures since a connection lasted.
    private var next = 0
    private(set) var failures = 0

    /// Connections in which libmosquitto failed over what it read, since one lasted longer than the longest wait after it.
    private var unreadable = 0

    /// Makes a machine for a list of `brokerCount` brokers.
    init(brokerCount: Int, versions: MQTTOptions.Versions, backoff: MQTTBackoff, generator: Generator) {
        self.versions = versions
        self.backoff = backoff
        self.generator = generator
        let version: MQTTVersion =
            switch versions {
            case .automatic: .v5
            case .only(let version): version
            }
        brokers = Array(repeating: Knowledge(version: version), count: max(brokerCount, 1))
    }

    /// Begins: the first connection is tried at once.
    mutating func start() -> Action {
        guard state == .idle else { return .finish }
        return connect(to: 0)
    }

    /// The wait is over.
    mutating func timerFired(now: Instant) -> Action {
        guard case .backingOff(let until) = state else { return .finish }
        return now < until ? .wait(until: until) : connect(to: next)
    }

    /// The broker accepted.
    mutating func accepted(now: Instant) {
        guard case .connecting(let attempt) = state else { return }
        brokers[attempt.broker].versionIsKnown = true
        brokers[attempt.broker].forcesIPv4 = attempt.forcesIPv4
        state = .connected(attempt, since: now)
    }

    /// A connection was not made, or ended; `overIPv6` where an IPv6 address was tried for a name.
    mutating func failed(_ failure: MQTTFailure, overIPv6: Bool = false, now: Instant) -> Action {
        switch state {
        case .connecting(let attempt):
            if let other = attempt.alternative(after: failure, overIPv6: overIPv6, versions: versions) {
                brokers[attempt.broker].version = other.version
                state = .connecting(other)
                return .connect(other)
            }
            reconsider(attempt, after: failure)
            failures += 1
            next = (attempt.broker + 1) % brokers.count
        case .connected(let attempt, let since):
            let duration = since.duration(to: now)
            if duration >= backoff.cap * backoff.unreadableFactor { unreadable = 0 }
            if duration >= backoff.stableAfter, failure != .unreadable {
                failures = 0
                next = 0
            } else {
                failures += 1
                next = (attempt.broker + 1) % brokers.count
            }
        case .idle, .backingOff, .stopped:
            return .finish
        }
        // The first failure waits within the base, a whole round later within twice that.
        var rounds = max(failures - 1, 0) / brokers.count
        var capFactor = 1
        if failure == .unreadable {
            // It cost memory that is lost: a broker that keeps doing it must not have all of it.
            rounds = max(rounds, unreadable)
            capFactor = backoff.unreadableFactor
            unreadable += 1
        }
        let until = now + backoff.delay(afterRounds: rounds, capFactor: capFactor, using: &generator)
        state = .backingOff(until: until)
        return .wait(until: until)
    }

    /// The owner wants no more of it.
    mutating func stop() -> Action {
        state = .stopped
        return .finish
    }

    private mutating func connect(to broker: Int) -> Action {
        let knowledge = brokers[broker]
        let attempt = Attempt(broker: broker, version: knowledge.version, forcesIPv4: knowledge.forcesIPv4)
        state = .connecting(attempt)
        return .connect(attempt)
    }

    /// Changes what to try next time with the same broker.
    private mutating func reconsider(_ attempt: Attempt, after failure: MQTTFailure) {
        brokers[attempt.broker].forcesIPv4 = false
        guard case .automatic = versions else { return }
        switch (attempt.version, failure) {
        case (.v5, .closed) where !brokers[attempt.broker].versionIsKnown:
            // Some brokers of MQTT 3 hang up on a CONNECT they do not understand.
            brokers[attempt.broker].version = .v311
        case (.v311, .closed) where !brokers[attempt.broker].versionIsKnown,
            (.v311, .refused(.unsupportedProtocolVersion)), (.v311, .protocolError):
            brokers[attempt.broker].version = .v5
            brokers[attempt.broker].versionIsKnown = false
        default: break
        }
    }
}

extension ConnectionStateMachine.Attempt {
    /// What to try at once with the same broker, if anything.
    fileprivate func alternative(
        after failure: MQTTFailure, overIPv6: Bool, versions: MQTTOptions.Versions
    ) -> Self? {
        switch failure {
        case .refused(.unsupportedProtocolVersion), .protocolError:
            // libmosquitto 2.0.21 cannot read an MQTT 3 refusal of an MQTT 5 CONNECT: a protocol error means the same.
            guard case .automatic = versions, version == .v5 else { return nil }
            return Self(broker: broker, version: .v311, forcesIPv4: forcesIPv4)
        case .network, .timedOut:
            guard overIPv6, !forcesIPv4 else { return nil }
            return Self(broker: broker, version: version, forcesIPv4: true)
        default:
            return nil
        }
    }
}
