/// Decides which broker to connect to, how and when. A value type that takes events and returns actions.
///
/// It neither reads a clock nor accesses the network, so every kind of broker failure can be unit-tested.
///
/// If the version is automatic, MQTT 5 is asked for first, and 3.1.1 only if the broker refuses that, or twice closes the
/// connection or stays silent instead; with `MQTTOptions.trialTimeout`, once silent. A broker that then takes 3.1.1 is
/// asked for it for a day; after that for MQTT 5 once more, because it may have been upgraded.
struct ConnectionStateMachine<Generator: RandomNumberGenerator> {
    typealias Instant = ContinuousClock.Instant

    /// One connection attempt.
    struct Attempt: Equatable {
        /// Index into the list of brokers.
        var broker: Int
        var version: MQTTVersion
        /// Whether to skip IPv6, because the host name's first address was an IPv6 address and did not answer.
        var forcesIPv4: Bool
        /// What the will must not ask for.
        var limits = MQTTLimits.none
        /// Whether 3.1.1 is next if the broker is silent: then `MQTTOptions.trialTimeout` applies.
        var isTrial = false
        /// Why it is not MQTT 5, although the version is automatic.
        var withoutV5: MQTTFailure?
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

    /// What earlier attempts revealed about a broker.
    private struct BrokerKnowledge {
        /// How the attempt with MQTT 5 failed that was the last one, if its version may be the reason.
        var failureOfV5: MQTTFailure?
        /// Whether it has accepted MQTT 5: then silence has another reason than the version.
        var speaksV5 = false
        /// Why 3.1.1 is used, and until when.
        var older: (reason: MQTTFailure, until: Instant)?
        var forcesIPv4 = false
        var limits = MQTTLimits.none

        /// Whether the next attempt tries 3.1.1 if MQTT 5 fails in the same way again.
        var mayFallBack: Bool { failureOfV5 != nil }
    }

    /// How long a broker that has taken 3.1.1 is not asked for MQTT 5.
    private static var timeWithoutV5: Duration { .seconds(24 * 3600) }

    private(set) var state: State = .idle
    private let versions: MQTTOptions.Versions
    private let hasTrials: Bool
    private let backoff: MQTTBackoff
    private var generator: Generator
    private var brokers: [BrokerKnowledge]

    /// The broker to try next, and the number of failures since the last stable connection that cost a broker something.
    private var next = 0
    private(set) var failures = 0

    /// Whether a delay since the last stable connection was random over the base or more. From then on the period keeps
    /// this client apart from others.
    private var isSpread = false

    /// Why the last attempt or connection ended.
    private var lastFailure: MQTTFailure?

    /// Whether the last failure says nothing about its broker yet: see `MQTTDisconnection.triesMore`.
    private(set) var triesMore = false

    /// Connections in a row that another client may have ended by taking over the session.
    private(set) var takeovers = 0

    /// After a connection that lasted longer, they are counted from zero.
    private static var takeoverMemory: Duration { .seconds(60) }

    /// `unreadable` failures since the last connection that outlasted the longest delay after such a failure.
    private var unreadable = 0

    /// The shortest delay after a connection ends, if another client uses the same id: see `MQTTClient.giveWay`.
    var givingWay: Duration?

    /// The earliest next attempt for that reason.
    private var earliest: Instant?

    /// Creates a state machine for `brokerCount` brokers. `hasTrials`: there is a `MQTTOptions.trialTimeout`.
    init(
        brokerCount: Int, versions: MQTTOptions.Versions, hasTrials: Bool = false, backoff: MQTTBackoff,
        generator: Generator
    ) {
        self.versions = versions
        self.hasTrials = if case .automatic = versions { hasTrials } else { false }
        self.backoff = backoff
        self.generator = generator
        brokers = Array(repeating: BrokerKnowledge(), count: max(brokerCount, 1))
    }

    /// Starts with an immediate first attempt.
    mutating func start() -> Action {
        guard state == .idle else { return .finish }
        return connect(to: 0, version: preferredVersion)
    }

    /// The delay has passed.
    mutating func timerFired(now: Instant) -> Action {
        guard case .backingOff(let until) = state else { return .finish }
        if now < until { return .wait(until: until) }
        guard let older = brokers[next].older, now < older.until else {
            return connect(to: next, version: preferredVersion)
        }
        return connect(to: next, version: .v311, withoutV5: older.reason)
    }

    /// The broker accepted the connection; `limits` is what it said that it does not do.
    ///
    /// - Returns: whether the connection is to be used. If not, it is to fail with `willOutdated`, because the broker was
    ///   told less of the will than it takes now. That happens once for what was known before the attempt, so that brokers
    ///   behind one address that differ do not cause it again and again.
    @discardableResult
    mutating func accepted(limits: MQTTLimits = .none, will: MQTTMessage? = nil, now: Instant) -> Bool {
        guard case .connecting(let attempt) = state else { return true }
        let isRemembered = attempt.limits == brokers[attempt.broker].limits
        // An older broker cannot say so: then what it takes is known from the will.
        brokers[attempt.broker].limits = attempt.version == .v5 ? limits : attempt.limits
        if isRemembered, let will, limits.takesMore(of: will, than: attempt.limits) { return false }
        if let reason = attempt.withoutV5 {
            // From the first time on, so that it is asked for MQTT 5 again however often it is connected to.
            let until = brokers[attempt.broker].older?.until ?? now
            brokers[attempt.broker].older = (reason, until > now ? until : now + Self.timeWithoutV5)
        } else {
            brokers[attempt.broker].older = nil
        }
        brokers[attempt.broker].speaksV5 = attempt.version == .v5
        brokers[attempt.broker].failureOfV5 = nil
        brokers[attempt.broker].forcesIPv4 = attempt.forcesIPv4
        lastFailure = nil
        state = .connected(attempt, since: now)
        return true
    }

    /// When the present connection has lasted, or will have lasted, for a multiple of the time after which it is stable.
    func time(ofLasting multiple: Int) -> Instant? {
        guard case .connected(_, let since) = state else { return nil }
        return since + backoff.stableAfter * multiple
    }

    /// Whether the present connection has lasted long enough for the delays to start over.
    func isStable(at now: Instant) -> Bool { time(ofLasting: 1).map { now >= $0 } ?? false }

    /// Whether this host's network may be the reason why there is no connection.
    var awaitsNetwork: Bool {
        switch state {
        case .connecting, .backingOff: lastFailure?.mayBeOwnNetwork ?? false
        case .idle, .connected, .stopped: false
        }
    }

    /// This host's network came back. Returns when to try again; `nil` if that is not waited for.
    mutating func networkReturned(now: Instant) -> Instant? {
        // After failures that leak memory, the delay is kept.
        guard awaitsNetwork, case .backingOff(let until) = state else { return nil }
        let earlier = min(until, max(now + backoff.returnDelay(using: &generator), earliest ?? now))
        state = .backingOff(until: earlier)
        return earlier
    }

    /// A connection ended or could not be established. `hasReached`: the attempt established a TCP connection.
    /// `overIPv6`: a host name was resolved to an IPv6 address. `wasIdle`: the broker owed no answer.
    mutating func failed(
        _ failure: MQTTFailure, hasReached: Bool, overIPv6: Bool = false, wasIdle: Bool = true, now: Instant
    ) -> Action {
        let wasStable = isStable(at: now)
        var isCheap = false
        lastFailure = failure
        triesMore = false
        switch state {
        case .connecting(let attempt):
            if let other = alternative(to: attempt, after: failure, hasReached: hasReached, overIPv6: overIPv6) {
                state = .connecting(other)
                triesMore = true
                return .connect(other)
            }
            let isV5 = attempt.version == .v5
            // A broker that was silent over IPv6 may have no IPv4 address.
            if !isV5 || hasReached || !attempt.forcesIPv4 {
                let isForV5 = mayBeForV5(failure, of: attempt, hasReached: hasReached)
                brokers[attempt.broker].failureOfV5 = isForV5 ? failure : nil
            }
            if !isV5, failure == .refused(.unsupportedProtocolVersion) { brokers[attempt.broker].older = nil }
            brokers[attempt.broker].forcesIPv4 = false
            triesMore = brokers[attempt.broker].mayFallBack
            // A broker that is away is another reason.
            if !triesMore { takeovers = 0 }
            isCheap = !hasReached && failure != .unreadable
            if !isCheap { failures += 1 }
            next = (attempt.broker + 1) % brokers.count
        case .connected(let attempt, let since):
            let duration = since.duration(to: now)
            countTakeovers(failure, after: duration, wasIdle: wasIdle)
            earliest = [givingWay, takeoverDelay].compactMap { $0 }.max()
                .map { now + backoff.delay(of: $0, using: &generator) }
            if duration >= backoff.cap * backoff.unreadableFactor { unreadable = 0 }
            isSpread = false
            if wasStable, failure.allowsStableConnection {
                failures = 0
                next = 0
            } else {
                failures += 1
                next = (attempt.broker + 1) % brokers.count
            }
        case .idle, .backingOff, .stopped:
            return .finish
        }
        let until = max(earliest ?? now, now + delay(after: failure, isCheap: isCheap))
        state = .backingOff(until: until)
        return .wait(until: until)
    }

    /// Stops for good.
    mutating func stop() -> Action {
        state = .stopped
        return .finish
    }

    /// The delay before the next attempt.
    private mutating func delay(after failure: MQTTFailure, isCheap: Bool) -> Duration {
        if isCheap, isSpread { return backoff.period(brokers: brokers.count, using: &generator) }
        isSpread = true
        if isCheap { return backoff.delay(afterRounds: 0, using: &generator) }
        // The first failures wait within the base; after a whole round of brokers the bound doubles.
        var rounds = max(failures - 1, 0) / brokers.count
        var capFactor = 1
        if failure == .unreadable {
            // Each such failure leaks memory, so the delays must limit how much one broker can cost.
            rounds = max(rounds, unreadable)
            capFactor = backoff.unreadableFactor
            unreadable += 1
        }
        return backoff.delay(afterRounds: rounds, capFactor: capFactor, using: &generator)
    }

    /// Counts the connections that another client may have ended: the broker says so, or closed one without a reason and
    /// without anything to answer, soon after it was made.
    private mutating func countTakeovers(_ failure: MQTTFailure, after duration: Duration, wasIdle: Bool) {
        if duration >= Self.takeoverMemory { takeovers = 0 }
        switch failure {
        case .closedByBroker(.sessionTakenOver): takeovers += 1
        // The other client waits longer each time, too.
        case .closed where wasIdle:
            if duration < (takeovers > 1 ? Self.takeoverMemory : backoff.stableAfter) { takeovers += 1 }
        default: takeovers = 0
        }
    }

    /// The shortest delay after another client took over the session again: it doubles up to the cap.
    private var takeoverDelay: Duration? {
        guard takeovers > 1 else { return nil }
        return min(backoff.cap * backoff.takeoverFactor, backoff.base * (1 << min(takeovers - 2, 30))) / 2
    }

    private var preferredVersion: MQTTVersion {
        switch versions {
        case .automatic: .v5
        case .only(let version): version
        }
    }

    private mutating func connect(to broker: Int, version: MQTTVersion, withoutV5: MQTTFailure? = nil) -> Action {
        let attempt = Attempt(
            broker: broker, version: version, forcesIPv4: brokers[broker].forcesIPv4, limits: brokers[broker].limits,
            isTrial: hasTrials && version == .v5 && !brokers[broker].speaksV5, withoutV5: withoutV5)
        state = .connecting(attempt)
        return .connect(attempt)
    }

    /// The attempt to make immediately with the same broker; `nil` if there is none.
    private mutating func alternative(
        to attempt: Attempt, after failure: MQTTFailure, hasReached: Bool, overIPv6: Bool
    ) -> Attempt? {
        var other = attempt
        switch failure {
        case .refused(.retainNotSupported):
            other.limits.retains = false
            return other == attempt ? nil : other
        case .refused(.qosNotSupported):
            other.limits.maximumQoS = .atMostOnce
            return other == attempt ? nil : other
        case .willOutdated:
            other.limits = brokers[attempt.broker].limits
            return other
        case .network, .timedOut:
            guard overIPv6, !attempt.forcesIPv4 else { break }
            let isForV5 = mayBeForV5(failure, of: attempt, hasReached: hasReached)
            // The address answers, so 3.1.1 comes before another address.
            if isForV5, attempt.isTrial || brokers[attempt.broker].failureOfV5 != nil { break }
            brokers[attempt.broker].failureOfV5 = isForV5 ? failure : nil
            other.forcesIPv4 = true
            return other
        default: break
        }
        guard case .automatic = versions, attempt.version == .v5 else { return nil }
        if failure.mayBeForV5(hasReached) {
            // The first such failure has another reason most of the time, so the second one counts.
            let knowledge = brokers[attempt.broker]
            let isEnough = attempt.isTrial && failure == .timedOut || knowledge.older != nil
            if knowledge.failureOfV5 == nil, !isEnough { return nil }
        } else if failure != .refused(.unsupportedProtocolVersion), failure != .protocolError {
            // libmosquitto 2.0.21 cannot parse an MQTT 3 refusal of an MQTT 5 CONNECT; a protocol error means the same.
            return nil
        }
        other.version = .v311
        other.isTrial = false
        other.withoutV5 = failure
        return other
    }

    /// Whether an attempt with MQTT 5 may have failed in this way because of the version, which may be another one.
    private func mayBeForV5(_ failure: MQTTFailure, of attempt: Attempt, hasReached: Bool) -> Bool {
        guard case .automatic = versions else { return false }
        return attempt.version == .v5 && !brokers[attempt.broker].speaksV5 && failure.mayBeForV5(hasReached)
    }
}

extension MQTTFailure {
    /// Whether this may be how a broker of MQTT 3 answers a CONNECT that it does not understand: it closes the connection,
    /// or stays silent.
    fileprivate func mayBeForV5(_ hasReached: Bool) -> Bool { self == .closed || self == .timedOut && hasReached }

    /// Whether a connection that ended in this way can have been of use, however long it lasted.
    fileprivate var allowsStableConnection: Bool {
        switch self {
        case .unreadable, .subscriptionUnanswered: false
        default: true
        }
    }
}
