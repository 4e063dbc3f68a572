internal import CMosquitto
internal import Glibc

/// One connection, from its attempt to its end, driven step by step by the network thread.
struct Session: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    /// What came of a step.
    enum Step {
        case working
        case accepted
        case ended(MQTTFailure)
    }

    private struct InFlight {
        var sequence: UInt64
        var token: MessageMark?
        var topic: String
    }

    private let core: ClientCore
    private let handle: MosquittoHandle
    private let broker: BrokerAddress
    private let version: MQTTVersion
    private let connectDeadline: Instant

    private var tcpIsUp = false
    private var isAccepted = false
    private var hasMoreToRead = false
    private var lastHeard: Instant
    private var silenceLimit: Duration
    /// The keep-alive time in force, and when something last went out, after which the library counts it.
    private var keepAlive: Duration
    private var lastSent: Instant
    private var closingReason: MQTTReason?
    private var end: MQTTFailure?

    private var inFlight: [Int32: InFlight] = [:]
    private var sequence: UInt64 = 0
    private var unsent: [MessageMark] = []
    /// When there is a message to be sent that has to wait.
    private var nextMessage: Instant?
    private var subscribing: [Int32: String] = [:]

    private var stop: ClientCore.StopRequest?
    private var farewell: Int32?

    /// Whether an IPv6 address was tried, and the host is a name that may have others.
    let isOverIPv6: Bool

    /// Begins to connect; blocks for the DNS query.
    static func begin(
        core: ClientCore, broker: BrokerAddress, version: MQTTVersion, forcesIPv4: Bool, isFirst: Bool
    ) throws(MQTTFailure) -> Session {
        let options = core.options
        let start = ContinuousClock.now
        let cleanSession = options.sessionExpiry < .seconds(1) || options.cleanStart && isFirst
        let handle = try MosquittoHandle(clientID: options.clientID, cleanSession: cleanSession)
        try handle.configure(options, broker: broker, version: version)
        var properties = PropertyList()
        if version == .v5 {
            try properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: options.maximumPacketSize))
            let expiry = options.sessionExpiry.wholeSeconds
            if expiry > 0 { try properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, expiry) }
        }
        try handle.connect(
            to: broker, keepAlive: options.keepAlive, forcesIPv4: forcesIPv4, properties: properties)
        return Session(core: core, handle: handle, broker: broker, version: version, start: start)
    }

    /// Takes over a handle that connects. All that throws comes before it: Swift 6.0.3 crashes on an initialiser that throws
    /// where properties have values already.
    private init(
        core: ClientCore, handle: consuming MosquittoHandle, broker: BrokerAddress, version: MQTTVersion, start: Instant
    ) {
        let options = core.options
        isOverIPv6 = !broker.host.contains(":") && socketOption(handle.socket, SO_DOMAIN) == AF_INET6
        self.handle = handle
        self.core = core
        self.broker = broker
        self.version = version
        connectDeadline = start + options.connectTimeout
        lastHeard = start
        lastSent = start
        keepAlive = options.keepAlive
        silenceLimit = Self.silenceLimit(keepAlive: options.keepAlive, options)
    }

    /// Does what is due, and waits for more: until the socket or a caller has something, or the library wants to ping.
    mutating func step() -> Step {
        if let failure = end ?? overdue(.now) { return .ended(failure) }
        handOver()
        if let stop {
            if !isAccepted { return .ended(.stopped) }
            if isDrained || .now >= stop.deadline {
                sayGoodbye()
                return .ended(.stopped)
            }
        }
        let events = waitForEvents()
        if !tcpIsUp, events != 0 {
            let code = socketOption(handle.socket, SO_ERROR)
            if code != 0 { return .ended(.network(code: code)) }
            tcpIsUp = true
        }
        if events & POLLIN != 0 { lastHeard = .now }

        var code = MOSQ_ERR_SUCCESS.rawValue
        var cause: Int32 = 0
        if events != 0 {
            (code, hasMoreToRead) = { ($0.code, !$0.isDrained) }(handle.read())
            cause = errno
        }
        if code == MOSQ_ERR_SUCCESS.rawValue, handle.socket >= 0, tcpIsUp {
            // First, so that the ping that it may queue goes out below.
            code = handle.maintain()
            cause = errno
        }
        if code == MOSQ_ERR_SUCCESS.rawValue, handle.socket >= 0, handle.wantsWrite, tcpIsUp {
            lastSent = .now
            code = handle.write()
            cause = errno
        }
        // What was read before a failure still counts: acknowledgements, and a refusal's reason.
        let outcome = handleRecords()
        if case .ended = outcome { return outcome }
        if let closingReason {
            end = .closedByBroker(closingReason)
        } else if code != MOSQ_ERR_SUCCESS.rawValue {
            end = MQTTFailure(code, errno: cause, host: broker.host, tlsFault: handle.tlsFault)
        } else if handle.socket < 0 {
            end = .closed
        }
        // Acceptance and end may come in one piece, but are told one by one.
        if case .working = outcome, let end { return .ended(end) }
        return outcome
    }

    /// The tokens of the messages that were taken and not acknowledged, in order, and how many messages they are.
    consuming func finish() -> (tokens: [MessageMark], count: Int) {
        let open = inFlight.values.sorted { $0.sequence < $1.sequence }
        return (open.compactMap(\.token) + unsent, open.count + unsent.count)
    }

    // MARK: Time

    private static func silenceLimit(keepAlive: Duration, _ options: MQTTOptions) -> Duration {
        // libmosquitto counts whole seconds: its ping may go out one later.
        keepAlive + .seconds(1) + options.responseTimeout
    }

    private func overdue(_ now: Instant) -> MQTTFailure? {
        if !isAccepted { return now >= connectDeadline ? .timedOut : nil }
        return lastHeard.duration(to: now) >= silenceLimit ? .silent : nil
    }

    /// Waits for the socket or for work, and returns the socket's events.
    private func waitForEvents() -> Int32 {
        let now = ContinuousClock.now
        var deadline = connectDeadline
        if isAccepted {
            // The library has no way to say when it wants to ping: when nothing was sent, or nothing heard, for the
            // keep-alive time. It counts whole seconds, so that the first look may come too early by one.
            let ping = max(min(lastHeard, lastSent) + keepAlive, now + .seconds(1))
            deadline = min(ping, lastHeard + silenceLimit)
        }
        if let stop { deadline = min(deadline, stop.deadline) }
        if let nextMessage { deadline = min(deadline, nextMessage) }
        let timeout = hasMoreToRead ? 0 : now.duration(to: deadline).pollMilliseconds
        var events = Int16(POLLIN)
        if !tcpIsUp || handle.wantsWrite { events |= Int16(POLLOUT) }
        var entries = [
            pollfd(fd: handle.socket, events: events, revents: 0),
            pollfd(fd: core.wake.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&entries, nfds_t(entries.count), timeout) > 0 else { return hasMoreToRead ? POLLIN : 0 }
        return Int32(entries[0].revents) | (hasMoreToRead ? POLLIN : 0)
    }

    // MARK: To the broker

    /// Hands over to libmosquitto what callers want, as far as the window is open.
    private mutating func handOver() {
        let window = isAccepted ? max(Int(core.options.maximumInFlight) - inFlight.count, 0) : 0
        let work = core.takeWork(limit: window)
        for change in work.subscriptions {
            switch change {
            case .subscribe(let filter, let subscription): subscribe(filter, subscription)
            // A failure means that the connection is gone, and with it the subscription.
            case .unsubscribe(let filter): try? handle.unsubscribe(filter)
            }
        }
        for outgoing in work.messages { publish(outgoing) }
        nextMessage = work.nextMessage
        let inFlightCount = inFlight.count
        if !work.messages.isEmpty { core.count { $0.inFlight = inFlightCount } }
        if stop == nil { stop = work.stop }
        if isAccepted, let message = stop?.farewell, farewell == nil, work.remaining == 0, inFlight.count < window {
            farewell = publish(ClientCore.Outgoing(message: message, token: nil))
        }
    }

    @discardableResult
    private mutating func publish(_ outgoing: ClientCore.Outgoing) -> Int32? {
        do throws(MQTTFailure) {
            let id = try handle.publish(outgoing.message, version: version)
            inFlight[id] = InFlight(sequence: sequence, token: outgoing.token, topic: outgoing.message.topic)
            sequence += 1
            return id
        } catch .library(code: MOSQ_ERR_NO_CONN.rawValue) {
            if let token = outgoing.token { unsent.append(token) }
        } catch {
            core.count { $0.rejected += 1 }
            core.emit(.rejected(outgoing.token, topic: outgoing.message.topic, error))
        }
        return nil
    }

    private mutating func subscribe(_ filter: String, _ subscription: ClientCore.Subscription) {
        do throws(MQTTFailure) {
            subscribing[try handle.subscribe(filter, subscription)] = filter
        } catch .library(code: MOSQ_ERR_NO_CONN.rawValue) {
            // The next connection subscribes again.
        } catch {
            core.emit(.subscriptionRefused(filter: filter, .unspecified))
        }
    }

    // MARK: From the broker

    /// Does what the callbacks reported.
    private mutating func handleRecords() -> Step {
        var outcome = Step.working
        let records = handle.inbox.take()
        for record in records {
            switch record {
            case .connack(let code, let sessionPresent, let keepAlive):
                outcome = connectionAnswered(code, sessionPresent: sessionPresent, keepAlive: keepAlive)
            case .disconnected(let code):
                // The library's own codes are small; MQTT's reasons for failures begin at 128.
                if code >= 0x80, closingReason == nil { closingReason = MQTTReason(rawValue: UInt8(clamping: code)) }
            case .published(let id, let reason):
                published(id, reason)
            case .subscribed(let id, let granted):
                subscribed(id, granted)
            case .message(let message):
                core.count { $0.received += 1 }
                core.emit(.message(message))
            }
        }
        let inFlightCount = inFlight.count
        if !records.isEmpty { core.count { $0.inFlight = inFlightCount } }
        return outcome
    }

    private mutating func connectionAnswered(_ code: Int32, sessionPresent: Bool, keepAlive: UInt16?) -> Step {
        guard code == 0 else {
            let reason =
                version == .v311 ? MQTTReason(connack311: code) : MQTTReason(rawValue: UInt8(truncatingIfNeeded: code))
            return .ended(.refused(reason))
        }
        isAccepted = true
        if let keepAlive, keepAlive > 0 {
            self.keepAlive = .seconds(Int64(keepAlive))
            silenceLimit = Self.silenceLimit(keepAlive: self.keepAlive, core.options)
        }
        let connection = MQTTConnection(broker: broker, version: version, sessionPresent: sessionPresent)
        let subscriptions = core.connectionOpened(connection)
        core.emit(.connected(connection))
        for (filter, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) { subscribe(filter, subscription) }
        return .accepted
    }

    private mutating func published(_ id: Int32, _ reason: Int32) {
        guard let entry = inFlight.removeValue(forKey: id) else { return }
        let isRejected = reason >= 0x80
        core.count { statistics in
            if isRejected { statistics.rejected += 1 } else { statistics.acknowledged += 1 }
        }
        if id == farewell, !isRejected { stop?.farewell = nil }
        if isRejected {
            let failure = MQTTFailure.refused(MQTTReason(rawValue: UInt8(truncatingIfNeeded: reason)))
            core.emit(.rejected(entry.token, topic: entry.topic, failure))
        } else if let token = entry.token {
            core.emit(.acknowledged(token))
        }
    }

    private mutating func subscribed(_ id: Int32, _ granted: Int32) {
        guard let filter = subscribing.removeValue(forKey: id) else { return }
        if granted < 0x80 {
            core.emit(.subscribed(filter: filter, qos: granted == 0 ? .atMostOnce : .atLeastOnce))
        } else {
            let reason = MQTTReason(rawValue: UInt8(truncatingIfNeeded: granted))
            core.emit(.subscriptionRefused(filter: filter, reason))
        }
    }

    // MARK: The end

    /// Whether all that was taken is acknowledged and written, and the farewell too.
    private var isDrained: Bool {
        inFlight.isEmpty && stop?.farewell == nil && core.statistics.queued == 0 && !handle.wantsWrite
    }

    /// Disconnects by the rules, so that the broker does not publish the will.
    ///
    /// Where the farewell did not get through, the connection is dropped without: the will says it instead.
    private func sayGoodbye() {
        guard stop?.farewell == nil, handle.socket >= 0 else { return }
        // The library closes its socket once the DISCONNECT is written; if something unread has come by then, the
        // system resets the connection, and the broker may never see it. A second descriptor keeps the socket open.
        let descriptor = dup(handle.socket)
        let deadline = ContinuousClock.now + .milliseconds(150)
        handle.disconnect()
        while handle.socket >= 0, handle.wantsWrite, .now < deadline {
            var entry = pollfd(fd: handle.socket, events: Int16(POLLOUT), revents: 0)
            _ = poll(&entry, 1, 10)
            if handle.write() != MOSQ_ERR_SUCCESS.rawValue { break }
        }
        guard descriptor >= 0 else { return }
        shutdown(descriptor, Int32(SHUT_WR))
        awaitEnd(of: descriptor, until: deadline)
        close(descriptor)
    }

    /// Reads and drops what comes until the broker closes.
    private func awaitEnd(of descriptor: Int32, until deadline: Instant) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while true {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero, poll(&entry, 1, left.pollMilliseconds) > 0 else { return }
                if read(descriptor, buffer.baseAddress, buffer.count) <= 0 { return }
            }
        }
    }
}

/// A whole number that `getsockopt` tells of a socket; negative where it does not.
private func socketOption(_ descriptor: Int32, _ option: Int32) -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : -1
}
