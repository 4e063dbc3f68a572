internal import Synchronization

/// A connection to an MQTT broker that is made again whenever it is lost, until `stop`.
///
/// A network thread of its own does all that may block; no call here waits for the network, except `stop`, and that no
/// longer than its limit. Messages are only taken while there is a connection: keeping them until then is the
/// publisher's part, who alone knows which are worth it. Every token that `publish` took comes back exactly once: in
/// `acknowledged`, `rejected`, `disconnected`, or `stopped` (unless the thread had to be left behind). Its type is the
/// publisher's choice, so that each part of a program knows its own; a client without tokens is an `MQTTClient<Never>`.
package final class MQTTClient<Token: Hashable & Sendable>: Sendable {
    private enum Phase: ~Copyable {
        case idle
        case running(NetworkThread)
        case ended
    }

    private let core: ClientCore
    private let tokens = TokenTable<Token>()
    private let phase = Mutex(Phase.idle)

    /// Makes a client; nothing is connected before `start`.
    ///
    /// - Parameters:
    ///   - options: how to connect, and to whom.
    ///   - handler: gets what happens, on the network thread: while it runs, nothing is sent or received.
    /// - Throws: `invalidOption` and the like; `system` where no descriptor is left.
    package init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent<Token>) -> Void) throws(MQTTError) {
        try options.validate()
        core = try ClientCore(options: options) { [tokens] event in
            if let event = tokens.redeem(event) { handler(event) }
        }
    }

    deinit {
        core.requestStop(ClientCore.StopRequest(deadline: .now, farewell: nil))
        phase.withLock { phase in
            if case .running(let thread) = exchange(&phase, with: .ended) { thread.leaveBehind() }
        }
    }

    /// Starts the network thread, which connects at once.
    ///
    /// - Throws: `alreadyStarted`, `stopped`, or `system` where no thread can be made.
    package func start() throws(MQTTError) {
        let failure: MQTTError? = phase.withLock { phase in
            switch phase {
            case .running: return .alreadyStarted
            case .ended: return .stopped
            case .idle: break
            }
            do throws(MQTTError) {
                phase = .running(try NetworkThread(core: core))
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Hands a message to the network thread.
    ///
    /// - Parameters:
    ///   - message: what to publish; its payload is copied.
    ///   - token: the publisher's mark, by which the message's fate is reported; without one it is not.
    /// - Throws: `notConnected`, `queueFull`, `stopped`, or what is wrong with the message.
    package func publish(_ message: MQTTMessage, token: Token? = nil) throws(MQTTError) {
        try message.validate(maximumSize: core.options.maximumPacketSize)
        let mark = token.map { tokens.enter($0) }
        do throws(MQTTError) {
            try core.publish(Outgoing(message: message, mark: mark))
        } catch {
            if let mark { tokens.forget(mark) }
            throw error
        }
    }

    /// Subscribes, now and on every later connection; a second call for the same filter changes its quality of service.
    ///
    /// Of a message that is retained while this client listens the broker does not say so, unless it is asked to keep the
    /// flag, which only MQTT 5 can.
    /// - Throws: `invalidTopic`.
    package func subscribe(to filter: String, qos: MQTTQoS, keepsRetainFlag: Bool = false) throws(MQTTError) {
        try MQTTTopic.validate(filter: filter)
        core.change(.subscribe(filter, MQTTSubscription(qos: qos, keepsRetainFlag: keepsRetainFlag)))
    }

    /// Ends a subscription.
    package func unsubscribe(from filter: String) {
        core.change(.unsubscribe(filter))
    }

    /// Counters, and how the client stands.
    package var statistics: MQTTStatistics { core.statistics }

    /// Ends the client, in an orderly way as far as the time allows: what was taken is sent, then the farewell, and the
    /// broker is told that the client leaves, so that it does not publish the will.
    ///
    /// Where the farewell is not acknowledged in time, the connection is dropped instead, and the will speaks for it.
    /// - Parameters:
    ///   - limit: how long it may take in all; four fifths of it are for the acknowledgements.
    ///   - farewell: a last message, published after all others.
    /// - Returns: whether the thread ended, and with how many messages open.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) -> MQTTStopResult {
        let start = ContinuousClock.now
        // The first to come takes the thread with it.
        let result: MQTTStopResult? = phase.withLock { phase in
            switch exchange(&phase, with: .ended) {
            case .idle: return .notStarted
            case .ended: return .stopping
            case .running(let thread):
                if thread.isCurrent {
                    thread.leaveBehind()
                    return .stopping
                }
                phase = .running(thread)
                return nil
            }
        }
        core.requestStop(ClientCore.StopRequest(deadline: start + limit * 0.8, farewell: farewell))
        if let result { return result }

        let hasEnded = core.finished.isRung(by: start + limit)
        return phase.withLock { phase in
            guard case .running(let thread) = exchange(&phase, with: .ended) else { return .stopping }
            if hasEnded {
                thread.join()
                return .stopped(undelivered: core.undeliveredAtStop)
            }
            core.abandon()
            thread.leaveBehind()
            return .leftBehind
        }
    }
}
