public import IMUDrivers
public import MotionCore

extension MotionManager {
    // MARK: Gestures

    /// Adds a handler at the front of the responder chain: it receives a gesture before those added earlier.
    ///
    /// - Parameters:
    ///   - recognizer: which gestures it is for.
    ///   - handler: called on the delivery thread. What it returns when a gesture begins or is recognised decides whether
    ///     the others receive that gesture.
    /// - Returns: a token that switches the handler off and on, and removes it.
    @discardableResult
    public func addRecognizer(_ recognizer: Recognizer, handler: @escaping GestureHandler) -> RecognizerToken {
        addResponder(for: recognizer, handler) { _ in }
    }

    /// Adds a handler with its variant, which the token releases. `onRemove` is called when the handler is removed, with
    /// the number of cancellations that it is still to receive.
    func addResponder(
        for recognizer: Recognizer, _ handler: @escaping GestureHandler,
        onRemove: @escaping @Sendable (_ pendingCancellations: Int) -> Void
    ) -> RecognizerToken {
        let variant = retainVariant(for: recognizer)
        let responder = Responder(recognizer: recognizer, variant: variant, handler: handler)
        handlers.chain.add(responder)
        return RecognizerToken(chain: handlers.chain, responder: responder) { [weak self] pending in
            if variant != 0 { self?.releaseVariant(variant) }
            onRemove(pending)
        }
    }

    /// Adds a handler that runs on an actor, so that it may use the actor's state.
    ///
    /// It receives events in order, one at a time. Up to 64 wait for a busy actor; beyond that whole gestures are dropped,
    /// never an end alone.
    ///
    /// - Parameters:
    ///   - recognizer: which gestures it is for.
    ///   - actor: the actor, which the manager retains until the handler is removed.
    ///   - response: whether the responders further down the chain receive these gestures too. It is decided here because
    ///     the chain does not wait for the actor.
    ///   - handler: called on the actor.
    /// - Returns: a token that switches the handler off and on, and removes it.
    @discardableResult
    public func addRecognizer<Target: Actor>(
        _ recognizer: Recognizer, on actor: Target, response: GestureResponse = .passOn,
        handler: @escaping @Sendable (isolated Target, GestureEvent) async -> Void
    ) -> RecognizerToken {
        let (stream, token) = makeGestureStream(recognizer, response)
        Task {
            for await event in stream { await handler(actor, event) }
        }
        return token
    }

    /// Adds a handler that runs on the main actor: `addRecognizer(.shake, on: MainActor.self) { … }`.
    ///
    /// Otherwise as `addRecognizer(_:on:response:handler:)` with another actor.
    @discardableResult
    public func addRecognizer(
        _ recognizer: Recognizer, on actor: MainActor.Type, response: GestureResponse = .passOn,
        handler: @escaping @MainActor @Sendable (GestureEvent) async -> Void
    ) -> RecognizerToken {
        let (stream, token) = makeGestureStream(recognizer, response)
        Task {
            for await event in stream { await handler(event) }
        }
        return token
    }

    /// Sets the handler at the end of the responder chain, which receives every gesture that no other consumed. It does not
    /// receive gestures of recognizers with requirements of their own.
    public func setDefaultResponder(_ handler: (@Sendable (GestureEvent) -> Void)?) {
        handlers.chain.setLast(
            handler.map { handler in
                Responder(recognizer: nil) { event in
                    handler(event)
                    return .consume
                }
            })
    }

    /// Adds a handler of movements that were almost gestures, with the reason why they were not.
    @discardableResult
    public func addNearMissHandler(_ handler: @escaping @Sendable (NearMiss) -> Void) -> HandlerToken {
        handlers.nearMisses.add(handler)
    }

    // MARK: Motion, sensor, samples

    /// Adds a handler of the motion state.
    ///
    /// - Parameters:
    ///   - interval: seconds between two calls, 0 for every sample; `nil` for `updateInterval`. A handler that takes longer
    ///     misses states and receives the newest next, unless the interval is 0.
    ///   - handler: called on the delivery thread.
    /// - Returns: a token that removes the handler.
    @discardableResult
    public func addMotionHandler(
        every interval: Double? = nil, _ handler: @escaping @Sendable (MotionState) -> Void
    ) -> HandlerToken {
        let token = handlers.motion.add(
            interval: interval, onRemove: { [weak self] in self?.motionHandlersChanged() }, handler)
        motionHandlersChanged()
        return token
    }

    /// Adds a handler of what happens to the sensor: it streams, it lost samples, it failed.
    @discardableResult
    public func addSensorHandler(_ handler: @escaping @Sendable (SensorEvent, Timestamp) -> Void) -> HandlerToken {
        handlers.sensor.add { handler($0.event, $0.time) }
    }

    /// Adds a handler that is called when the reference attitude is taken or cleared.
    @discardableResult
    public func addReferenceHandler(_ handler: @escaping @Sendable (ReferenceChange) -> Void) -> HandlerToken {
        handlers.references.add(handler)
    }

    /// Adds a handler of every sample as the pipeline used it: calibrated, along the body's axes, with the attitude, in
    /// batches and in order.
    @discardableResult
    public func addMeasuredSampleHandler(_ handler: @escaping @Sendable ([MeasuredSample]) -> Void) -> HandlerToken {
        handlers.measured.add(handler)
    }

    /// Adds a handler of every sample, along the sensor's axes, in batches and in order.
    @discardableResult
    public func addSampleHandler(_ handler: @escaping @Sendable ([MotionSample]) -> Void) -> HandlerToken {
        handlers.samples.add(handler)
    }

    /// Adds a handler for the readings of the magnetometer, along the sensor's axes, not calibrated, about 20 a second. They
    /// come before the samples of the same time.
    ///
    /// - Returns: a token to remove the handler.
    @discardableResult
    public func addMagneticFieldHandler(_ handler: @escaping @Sendable ([MagneticSample]) -> Void) -> HandlerToken {
        handlers.fields.add(handler)
    }
}
