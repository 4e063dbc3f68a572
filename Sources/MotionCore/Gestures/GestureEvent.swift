/// A phase of a recognised gesture and what is known of it then.
///
/// docs/gestures.md lists the fields of each gesture; the others are `nil`.
public struct GestureEvent: Equatable, Sendable, BitwiseCopyable {
    public var gesture: Gesture
    public var phase: GesturePhase

    /// The instant of the sample that brought it about; never back-dated.
    public var timestamp: Timestamp

    /// How strong it is, m/s²: peak linear acceleration so far; of a fall the impact.
    public var strength: Double?

    /// The body axis along which, or about which, most of the movement went.
    public var axis: BodyAxis?

    /// Where it went.
    public var direction: MotionDirection?

    /// The side that was hit.
    public var side: BodySide?

    /// The sides that pointed up before and after.
    public var from: BodySide?
    public var to: BodySide?

    /// How many taps it was.
    public var count: Int?

    /// How often the movement turned round so far.
    public var reversals: Int?

    /// rad: of a turn, signed and right-handed about `axis`; of a flip; of a tilt, from the reference attitude.
    public var angle: Double?

    /// Seconds since the movement began.
    public var duration: Double?

    /// How deep it fell, m: an estimate.
    public var height: Double?

    /// RMS of the vibration, m/s².
    public var level: Double?

    /// The vibration's strongest frequency, Hz.
    public var frequency: Double?

    /// Why it was cancelled.
    public var reason: CancellationReason?

    /// Whether it was made up to try what it sets off, while the body did something else. Recognizers leave it false.
    public var isSimulated = false

    /// Which recognizers found it: 0 for those of the settings, else the number of a `GestureVariant`.
    package var variant: UInt16 = 0

    /// Makes an event without details.
    @inlinable
    public init(_ gesture: Gesture, _ phase: GesturePhase, at timestamp: Timestamp) {
        self.gesture = gesture
        self.phase = phase
        self.timestamp = timestamp
    }
}
