public import IMUDrivers
public import MotionCore

extension MotionManager {
    // MARK: Gestures

    /// Adds a handler at the front of the responder chain: it hears of a gesture before those added earlier.
    ///
    /// - Parameters:
    ///   - recognizer: which gestures it is for.
    ///   - handler: called on the delivery thread; its answer of where a gesture began or was recognized decides whether
    ///     the others hear of that gesture.
    /// - Returns: a token with which the handler is switched off and on, and removed.
    @discardableResult
    public func addRecognizer(_ recognizer: Recognizer, handler: @escaping GestureHandler) -> RecognizerToken {
        let responder = Responder(recognizer: recognizer, handler: handler)
        handlers.chain.add(responder)
        return RecognizerToken(chain: handlers.chain, responder: responder)
    }

    /// Sets the handler at the end of the responder chain, which hears of every gesture that nobody consumed.
    public func setDefaultResponder(_ handler: (@Sendable (GestureEvent) -> Void)?) {
        handlers.chain.setLast(
            handler.map { handler in
                Responder(recognizer: nil) { event in
                    handler(event)
                    return .consume
                }
            })
    }

    /// Adds a handler of movements that were almost gestures, told with the reason why they were none.
    @discardableResult
    public func addNearMissHandler(_ handler: @escaping @Sendable (NearMiss) -> Void) -> HandlerToken {
        handlers.nearMisses.add(handler)
    }

    // MARK: Motion, sensor, samples

    /// Adds a handler of the motion state, called as often as `updateInterval` says.
    @discardableResult
    public func addMotionHandler(_ handler: @escaping @Sendable (MotionState) -> Void) -> HandlerToken {
        handlers.motion.add(handler)
    }

    /// Adds a handler of what happens to the sensor: it streams, lost samples, failed.
    @discardableResult
    public func addSensorHandler(
        _ handler: @escaping @Sendable (SensorEvent, Timestamp) -> Void
    ) -> HandlerToken {
        handlers.sensor.add { handler($0.event, $0.time) }
    }

    /// Adds a handler of every sample as the pipeline worked with it: calibrated, along the body's axes, with the attitude, in
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
}
