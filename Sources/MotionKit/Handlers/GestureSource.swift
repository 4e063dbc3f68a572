internal import MotionCore

/// What distinguishes gestures that may be open at the same time: at most one gesture of a source is.
struct GestureSource: Hashable {
    let gesture: Gesture
    let variant: UInt16
    let isSimulated: Bool

    init(_ event: GestureEvent) {
        gesture = event.gesture
        variant = event.variant
        isSimulated = event.isSimulated
    }

    /// For an order that is the same in every run.
    var rank: (UInt16, UInt16, UInt16) { (isSimulated ? 1 : 0, UInt16(gesture.rawValue), variant) }
}
