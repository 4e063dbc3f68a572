internal import CMosquitto
internal import CMosquittoGuard
internal import Glibc

/// One connection to a broker, from the attempt to its end. It is driven step by step and never waits.
///
/// A step is `receive`, then any `publish` calls, then `transmit`. `takeReports` returns the results.
final class Session {
    typealias Instant = ContinuousClock.Instant

    /// A result of a step.
    enum Report {
        case accepted(sessionPresent: Bool, MQTTLimits)
        case subscribed(filter: String, MQTTQoS)
        case subscriptionRefused(filter: String, MQTTReason)
        case message(MQTTMessage)
        /// `isUnmatched`: the broker says that nobody subscribes to the topic.
        case acknowledged(MQTTToken?, isUnmatched: Bool)
        case rejected(MQTTToken?, topic: String, MQTTFailure)
        /// The last report.
        case ended(MQTTFailure)
    }

    private struct InFlight {
        var sequence: UInt64
        var token: MQTTToken?
        var topic: String
    }

    private struct Subscribing {
        var filter: String
        var since: Instant
    }

    private let options: MQTTOptions
    private let handle: MosquittoHandle
    private let broker: BrokerAddress
    private let version: MQTTVersion
    /// How long the broker may be silent before it accepts the connection; `nil` for no limit of its own.
    private let trialTimeout: Duration?
    private let start: Instant

    private var tcpIsUp = false
    private var hasMoreToRead = false
    private var lastStep: Instant
    private var lastReceived: Instant
    private var silenceLimit: Duration
    /// The keep-alive time in force, and when something was last sent; the library measures the keep-alive time from
    /// there.
    private var keepAlive: Duration
    private var lastSent: Instant
    private var closingReason: MQTTReason?
    private var end: MQTTFailure?
    private var reports: [Report] = []

    private var inFlight: [Int32: InFlight] = [:]
    private var sequence: UInt64 = 0
    private var unsent: [Outgoing] = []
    /// The filters of unanswered SUBSCRIBE packets, and when they were requested.
    private var subscribing: [Int32: Subscribing] = [:]
    private var gracefulDisconnect: GracefulDisconnect?
    /// Why it disconnects gracefully.
    private var goodbye = MQTTFailure.stopped

    /// Whether the TLS handshake is complete.
    private var isEncrypted = false

    /// Whether the broker has accepted the connection.
    private(set) var isAccepted = false

    /// What the broker does not do.
    private var limits: MQTTLimits

    /// Whether a TCP connection to the broker was established.
    var hasReached: Bool { tcpIsUp }

    /// Whether an IPv6 address was tried for a host name, which may have other addresses.
    let isOverIPv6: Bool

    /// Starts to connect. Blocks for the DNS query.
    static func begin(
        options: MQTTOptions, broker: BrokerAddress, version: MQTTVersion, forcesIPv4: Bool, limits: MQTTLimits,
        isTrial: Bool, cleanStart: Bool
    ) throws(MQTTFailure) -> Session {
        let start = ContinuousClock.now
        let cleanSession = options.sessionExpiry < .seconds(1) || cleanStart
        let handle = try MosquittoHandle(clientID: options.clientID, cleanSession: cleanSession)
        try handle.configure(options, broker: broker, version: version, limits: limits)
        var properties = PropertyList()
        if version == .v5 {
            try properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: options.maximumPacketSize))
            let expiry = options.sessionExpiry.wholeSeconds
            if expiry > 0 { try properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, expiry) }
        }
        try handle.connect(
            to: broker, keepAlive: options.keepAlive, forcesIPv4: forcesIPv4, properties: properties)
        return Session(
            options: options, handle: handle, broker: broker, version: version, limits: limits, isTrial: isTrial,
            start: start)
    }

    /// Takes over a connecting handle. Does not throw: Swift 6.0.3 crashes on an initialiser that throws when
    /// properties are already set.
    private init(
        options: MQTTOptions, handle: consuming MosquittoHandle, broker: BrokerAddress, version: MQTTVersion,
        limits: MQTTLimits, isTrial: Bool, start: Instant
    ) {
        isOverIPv6 = !broker.host.contains(":") && socketOption(handle.socket, SO_DOMAIN) == AF_INET6
        self.handle = handle
        self.options = options
        self.broker = broker
        self.version = version
        self.limits = limits
        trialTimeout = isTrial ? options.trialTimeout : nil
        self.start = start
        lastStep = start
        lastReceived = start
        lastSent = start
        keepAlive = options.keepAlive
        silenceLimit = Self.silenceLimit(keepAlive: options.keepAlive, options)
    }

    // MARK: Readiness and deadline

    /// The socket and the readiness to wait for; `nil` once it is closed.
    var interest: MQTTInterest? {
        if let gracefulDisconnect { return gracefulDisconnect.interest }
        let socket = handle.socket
        if end != nil || socket < 0 { return nil }
        let mustWrite = handle.wantsWrite || !tcpIsUp
        return MQTTInterest(descriptor: socket, readiness: mustWrite ? [.readable, .writable] : .readable)
    }

    /// When the next step is due even if the socket is not ready.
    var deadline: Instant {
        if let gracefulDisconnect { return gracefulDisconnect.deadline }
        if end != nil || hasMoreToRead { return lastStep }
        if !isAccepted { return connectDeadline }
        // The library does not report when it will ping, which is after nothing was sent, or nothing received, for the
        // keep-alive time. It counts whole seconds, so the first check may be one second early.
        let ping = max(min(lastReceived, lastSent) + keepAlive, lastStep + .seconds(1))
        let silence = min(ping, lastReceived + silenceLimit)
        guard let oldest = unansweredSubscription else { return silence }
        return min(oldest.since + options.subscribeTimeout, silence)
    }

    /// How many more messages may be sent now.
    var window: Int {
        isAccepted && end == nil && gracefulDisconnect == nil
            ? max(Int(options.maximumInFlight) - inFlight.count, 0) : 0
    }

    /// Messages that were sent but not acknowledged.
    var inFlightCount: Int { inFlight.count }

    /// Whether a graceful disconnect has started.
    var isDisconnecting: Bool { gracefulDisconnect != nil }

    /// Whether the broker owes no answer.
    var isIdle: Bool { inFlight.isEmpty && subscribing.isEmpty }

    /// Whether everything has been written and acknowledged.
    var isDrained: Bool { inFlight.isEmpty && !handle.wantsWrite }

    /// The tokens and the number of messages that were accepted but not acknowledged, in order.
    var open: (tokens: [MQTTToken], count: Int) {
        let sent = inFlight.values.sorted { $0.sequence < $1.sequence }
        return (sent.compactMap(\.token) + unsent.compactMap(\.token), sent.count + unsent.count)
    }

    // MARK: Steps

    /// Reads received data.
    func receive(_ readiness: MQTTReadiness, now: Instant) {
        lastStep = now
        guard end == nil else { return }
        if let disconnecting = gracefulDisconnect {
            disconnecting.step(now: now)
            if disconnecting.isOver { finish(goodbye) }
            return
        }
        if let failure = timeoutFailure(now) { return finish(failure) }
        guard !readiness.isEmpty || hasMoreToRead else { return }
        if !tcpIsUp {
            if let failure = establish() { return finish(failure) }
            guard tcpIsUp else { return }
            lastReceived = now
        }
        if readiness.contains(.readable) || hasMoreToRead { lastReceived = now }
        read()
    }

    /// Finds out whether the TCP connection is established. Returns the failure if it never will be.
    private func establish() -> MQTTFailure? {
        tcpIsUp = mosquitto_was_connected(handle.socket)
        let code = socketOption(handle.socket, SO_ERROR)
        if code != 0 { return explained(.network(code: code)) }
        if tcpIsUp || peek() == EAGAIN { return nil }
        // On the same machine the refusal comes so soon that the first step of the TLS handshake, which the library takes
        // before it returns, has already consumed the error.
        return .network(code: ECONNREFUSED)
    }

    /// Reads received data, up to a limited number of packets and bytes.
    private func read() {
        hasMoreToRead = false
        let start = handle.bytesRead
        for _ in 0..<64 where handle.bytesRead - start < options.maximumPacketSize {
            let result = handle.read()
            if let failure = brokenHandshake() { return finish(failure) }
            if result.code == MOSQ_ERR_SUCCESS.rawValue, !result.isDrained, handle.socket >= 0 { continue }
            return handleRecords(result.code, errno: result.cause)
        }
        hasMoreToRead = true
        handleRecords(MOSQ_ERR_SUCCESS.rawValue, errno: 0)
    }

    /// Why a handshake can never be completed; `nil` if it can. When the connection is reset during the handshake, the
    /// library reports success, and would read without end.
    private func brokenHandshake() -> MQTTFailure? {
        guard broker.usesTLS, !isEncrypted, handle.socket >= 0, !handle.isEncrypted else { return nil }
        return switch peek() {
        case nil, EAGAIN, EINTR: nil
        case 0, ENOTCONN: explained(.closed)
        case let code?: explained(.network(code: code))
        }
    }

    /// Looks for received data: the errno of the failure, 0 at the end of the data; `nil` if there is data.
    private func peek() -> Int32? {
        var byte: UInt8 = 0
        let count = recv(handle.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count > 0 ? nil : count == 0 ? 0 : errno
    }

    /// Writes pending data, and a ping if one is due.
    func transmit(now: Instant) {
        guard end == nil, tcpIsUp else { return }
        if gracefulDisconnect != nil { return write(now: now) }
        // Before the write below, so that a ping that this queues is sent too.
        let code = handle.maintain()
        if code != MOSQ_ERR_SUCCESS.rawValue || handle.socket < 0 { return handleRecords(code, errno: errno) }
        write(now: now)
    }

    private func write(now: Instant) {
        guard handle.socket >= 0, handle.wantsWrite else { return }
        lastSent = now
        let code = handle.write()
        let cause = errno
        if gracefulDisconnect == nil {
            handleRecords(code, errno: cause)
        } else if code != MOSQ_ERR_SUCCESS.rawValue {
            finish(goodbye)
        } else if handle.socket < 0 {
            gracefulDisconnect?.disconnectIsWritten()
        }
    }

    /// Takes the results since the last call.
    func takeReports() -> [Report] {
        defer { reports.removeAll() }
        return reports
    }

    // MARK: Timeouts

    private static func silenceLimit(keepAlive: Duration, _ options: MQTTOptions) -> Duration {
        // libmosquitto counts whole seconds, so its ping may be one second late.
        keepAlive + .seconds(1) + options.responseTimeout
    }

    /// When the broker must have accepted the connection.
    private var connectDeadline: Instant {
        let last = start + options.connectTimeout
        // A TLS handshake takes as long with any version.
        guard tcpIsUp, !broker.usesTLS || isEncrypted, let trialTimeout else { return last }
        return min(last, lastReceived + trialTimeout)
    }

    private func timeoutFailure(_ now: Instant) -> MQTTFailure? {
        if !isAccepted { return now >= connectDeadline ? .timedOut : nil }
        if let oldest = unansweredSubscription, oldest.since.duration(to: now) >= options.subscribeTimeout {
            return .subscriptionUnanswered(oldest.filter)
        }
        return lastReceived.duration(to: now) >= silenceLimit ? .silent : nil
    }

    /// Whether no TCP connection has been established for this long.
    func isUnanswered(for limit: Duration, at now: Instant) -> Bool {
        end == nil && !tcpIsUp && start.duration(to: now) >= limit
    }

    /// The subscription that has waited longest for the broker's answer.
    private var unansweredSubscription: Subscribing? {
        // Most of the time there is none.
        subscribing.isEmpty ? nil : subscribing.values.min { $0.since < $1.since }
    }

    // MARK: Sending

    /// Passes a message to libmosquitto, which writes it in `transmit`.
    ///
    /// - Returns: its packet id; `nil` if it was not accepted. In that case a report has the reason, or `open` includes
    ///   the message.
    @discardableResult
    func publish(_ outgoing: Outgoing) -> Int32? {
        guard end == nil else {
            unsent.append(outgoing)
            return nil
        }
        do {
            let id = try handle.publish(limits.applied(to: outgoing.message), version: version)
            inFlight[id] = InFlight(sequence: sequence, token: outgoing.token, topic: outgoing.message.topic)
            sequence += 1
            return id
        } catch .library(code: MOSQ_ERR_NO_CONN.rawValue) {
            unsent.append(outgoing)
        } catch .unreadable {
            unsent.append(outgoing)
            finish(.unreadable)
        } catch {
            reports.append(.rejected(outgoing.token, topic: outgoing.message.topic, error))
        }
        return nil
    }

    /// Requests a change of the subscriptions.
    func change(_ change: SubscriptionChange) {
        guard end == nil else { return }
        do {
            switch change {
            case .subscribe(let filter, let subscription):
                subscribing[try handle.subscribe(filter, subscription)] = Subscribing(filter: filter, since: lastStep)
            case .unsubscribe(let filter):
                try handle.unsubscribe(filter)
            }
        } catch .library(code: MOSQ_ERR_NO_CONN.rawValue) {
            // The next connection subscribes again.
        } catch .unreadable {
            finish(.unreadable)
        } catch {
            // A failed unsubscribe is ignored: the subscription ends with the connection.
            guard case .subscribe(let filter, _) = change else { return }
            reports.append(.subscriptionRefused(filter: filter, .unspecified))
        }
    }

    /// Disconnects gracefully, so that the broker does not publish the will. `ended(reason)` follows.
    func disconnect(_ reason: MQTTFailure = .stopped, now: Instant) {
        guard gracefulDisconnect == nil, end == nil else { return }
        goodbye = reason
        let socket = handle.socket
        guard socket >= 0, let graceful = GracefulDisconnect(socket: socket, now: now) else { return finish(reason) }
        gracefulDisconnect = graceful
        handle.disconnect()
        if handle.socket < 0 { gracefulDisconnect?.disconnectIsWritten() }
    }

    /// Ends immediately without a DISCONNECT.
    func finish(_ failure: MQTTFailure) {
        guard end == nil else { return }
        end = failure
        reports.append(.ended(failure))
    }

    // MARK: Receiving

    /// Processes the recorded callbacks, then the code that the library returned. Data read before a failure still
    /// counts, such as acknowledgements or the reason of a refusal.
    private func handleRecords(_ code: Int32, errno cause: Int32) {
        for record in handle.recorder.take() where end == nil {
            switch record {
            case .connack(let code, let sessionPresent, let keepAlive, let limits):
                handleConnack(code, sessionPresent: sessionPresent, keepAlive: keepAlive, limits)
            case .disconnected(let code):
                // The library's own codes are small; MQTT's failure reasons start at 128.
                if code >= 0x80, closingReason == nil { closingReason = MQTTReason(rawValue: UInt8(clamping: code)) }
            case .published(let id, let reason):
                published(id, reason)
            case .subscribed(let id, let granted):
                subscribed(id, granted)
            case .message(let message):
                reports.append(.message(message))
            }
        }
        if let closingReason {
            finish(.closedByBroker(closingReason))
        } else if code != MOSQ_ERR_SUCCESS.rawValue {
            finish(failure(code, errno: cause))
        } else if handle.socket < 0 {
            finish(.closed)
        } else if !isEncrypted, broker.usesTLS {
            isEncrypted = handle.isEncrypted
        }
    }

    /// The failure for a return code of the library.
    private func failure(_ code: Int32, errno cause: Int32) -> MQTTFailure {
        // What is not MQTT looks like a packet of any length.
        if let oversized = handle.oversizedPacket { return isAccepted ? oversized : .protocolError }
        return explained(MQTTFailure(code, errno: cause, host: broker.host, tlsFault: handle.tlsFault))
    }

    /// The failure of a connection over TLS depends on whether the handshake was complete.
    private func explained(_ failure: MQTTFailure) -> MQTTFailure {
        // libmosquitto 2.0.21 reports the end of the connection within TLS as EPROTO.
        let isEnd = failure == .tls(.interrupted) || failure == .network(code: EPROTO)
        guard broker.usesTLS, isEnd || failure.isByBroker else { return failure }
        if !isEncrypted { return .tls(.interrupted) }
        return isEnd ? .closed : failure
    }

    private func handleConnack(_ code: Int32, sessionPresent: Bool, keepAlive: UInt16?, _ said: MQTTLimits) {
        guard code == 0 else {
            let reason =
                version == .v311 ? MQTTReason(connack311: code) : MQTTReason(rawValue: UInt8(truncatingIfNeeded: code))
            return finish(.refused(reason))
        }
        // A second CONNACK is ignored.
        guard !isAccepted else { return }
        isAccepted = true
        if let keepAlive, keepAlive > 0 {
            self.keepAlive = .seconds(Int64(keepAlive))
            silenceLimit = Self.silenceLimit(keepAlive: self.keepAlive, options)
        }
        if version == .v5 { limits = said }
        reports.append(.accepted(sessionPresent: sessionPresent, limits))
    }

    private func published(_ id: Int32, _ reason: Int32) {
        guard let entry = inFlight.removeValue(forKey: id) else { return }
        if reason >= 0x80 {
            let failure = MQTTFailure.refused(MQTTReason(rawValue: UInt8(truncatingIfNeeded: reason)))
            reports.append(.rejected(entry.token, topic: entry.topic, failure))
        } else {
            reports.append(.acknowledged(entry.token, isUnmatched: reason == MQTTReason.noMatchingSubscribers))
        }
    }

    private func subscribed(_ id: Int32, _ granted: Int32) {
        guard let filter = subscribing.removeValue(forKey: id)?.filter else { return }
        if granted < 0x80 {
            reports.append(.subscribed(filter: filter, granted == 0 ? .atMostOnce : .atLeastOnce))
        } else {
            let reason = MQTTReason(rawValue: UInt8(truncatingIfNeeded: granted))
            reports.append(.subscriptionRefused(filter: filter, reason))
        }
    }
}

/// An integer socket option (`getsockopt`); negative if it cannot be read.
private func socketOption(_ descriptor: Int32, _ option: Int32) -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : -1
}

/// A graceful disconnect: the DISCONNECT is written, and the broker is given time to close the connection.
///
/// The library closes its socket after writing the DISCONNECT. If unread data has arrived by then, the system resets
/// the connection and the broker may never receive the DISCONNECT. A duplicate descriptor keeps the socket open.
final class GracefulDisconnect {
    typealias Instant = ContinuousClock.Instant

    private let descriptor: Int32
    private var isWritten = false

    /// Whether the broker has closed the connection or the deadline has passed.
    private(set) var isOver = false

    /// How long the broker may take.
    let deadline: Instant

    /// Duplicates the library's socket; `nil` if there are no descriptors left.
    init?(socket: Int32, now: Instant) {
        // Closed on exec, because a child process would keep the connection open.
        descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        deadline = now + .milliseconds(150)
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The descriptor and the readiness to wait for.
    var interest: MQTTInterest {
        MQTTInterest(descriptor: descriptor, readiness: isWritten ? .readable : .writable)
    }

    /// The library has written its DISCONNECT and closed its socket.
    func disconnectIsWritten() {
        isWritten = true
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Reads and discards received data.
    func step(now: Instant) {
        if now >= deadline { isOver = true }
        guard isWritten, !isOver else { return }
        isOver = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Bounded, so that other clients get their turn; the descriptor stays readable if there is more.
            for _ in 0..<16 {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count == 0 { return true }
                if count < 0 { return errno != EAGAIN && errno != EINTR }
            }
            return false
        }
    }
}

/// Determines when the next message on a topic may be sent, for topics whose messages are spaced in time.
struct TopicPacer {
    typealias Instant = ContinuousClock.Instant

    private let spacing: MQTTSpacing?
    private var next: [String: Instant] = [:]

    init(_ spacing: MQTTSpacing?) {
        self.spacing = spacing
    }

    /// When a message on a topic may be sent. `nil` means now; the message is then recorded as sent.
    mutating func delay(of topic: String, at now: Instant) -> Instant? {
        guard let spacing, topic.hasPrefix(spacing.prefix) else { return nil }
        if let due = next[topic], due > now { return due }
        // Expired entries are of no further use.
        next = next.filter { $0.value > now }
        next[topic] = now + spacing.interval
        return nil
    }
}
