internal import MotionCore

/// A gesture that has begun and not yet ended. A simulated gesture is distinct from one of the sensor.
struct OpenGesture: Hashable, Sendable {
    var gesture: Gesture
    var isSimulated: Bool

    /// The machine that carries the board runs.
    static let machine = OpenGesture(gesture: .vibration, isSimulated: false)
}

extension OpenGesture {
    /// The gesture of an event.
    init(_ event: GestureEvent) {
        self.init(gesture: event.gesture, isSimulated: event.isSimulated)
    }
}
