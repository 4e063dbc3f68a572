public import MotionCore

/// What is known of a gesture when it begins or is recognised, and does not change afterwards.
///
/// `Recognizer.when` decides by it who receives a gesture. Angle, duration and the number of reversals are not here: they
/// grow while the gesture lasts, so a condition on them would never hold. Use `Recognizer.turn(by:)`, or look at them
/// when the gesture has ended.
public struct GestureBeginning: Sendable {
    /// The event itself.
    package let event: GestureEvent

    init(_ event: GestureEvent) {
        self.event = event
    }

    /// The gesture that begins or was recognised.
    public var gesture: Gesture { event.gesture }

    /// The instant of the sample that completed it.
    public var timestamp: Timestamp { event.timestamp }

    /// Of a tap, flick or impact: peak linear acceleration, m/s². Of a shake: the peak so far.
    public var strength: Double? { event.strength }

    /// The body axis along which a shake goes, or about which a turn does.
    public var axis: BodyAxis? { event.axis }

    /// Where a flick or turn goes.
    public var direction: MotionDirection? { event.direction }

    /// How fast a turn is when it begins, rad/s, positive to the left.
    public var rate: Double? { event.rate }

    /// The side that a tap or an impact hit.
    public var side: BodySide? { event.side }

    /// The side that pointed up before a flip.
    public var from: BodySide? { event.from }

    /// The side that points up after a flip.
    public var to: BodySide? { event.to }

    /// How many taps it was.
    public var count: Int? { event.count }

    /// RMS of a vibration, m/s², when it was recognised.
    public var level: Double? { event.level }

    /// The strongest frequency of a vibration, Hz, when it was recognised.
    public var frequency: Double? { event.frequency }

    /// Whether it comes of `MotionManager.simulate`.
    public var isSimulated: Bool { event.isSimulated }
}
