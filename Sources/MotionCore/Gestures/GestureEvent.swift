/// A phase of a recognised gesture with its details.
///
/// docs/gestures.md lists the fields of each gesture; the others are `nil`.
public struct GestureEvent: Equatable, Sendable, BitwiseCopyable {
    public var gesture: Gesture
    public var phase: GesturePhase

    /// The name of a learned gesture; `nil` for the others.
    public var name: GestureName?

    /// The timestamp of the sample that triggered the event; never back-dated.
    public var timestamp: Timestamp

    /// Strength, m/s²: the peak linear acceleration so far; for a fall, that of the impact.
    public var strength: Double?

    /// The body axis along which, or about which, most of the movement went.
    public var axis: BodyAxis?

    /// The direction of the movement.
    public var direction: MotionDirection?

    /// The side that was hit.
    public var side: BodySide?

    /// The sides that pointed up before and after.
    public var from: BodySide?
    public var to: BodySide?

    /// The number of taps.
    public var count: Int?

    /// How often the movement has reversed so far.
    public var reversals: Int?

    /// Angle, rad: of a turn, signed and right-handed about `axis`; of a flip; of a tilt, relative to the reference
    /// attitude.
    public var angle: Double?

    /// Angular rate of a turn, rad/s, signed like `angle`: the present one when it began or changed; afterwards that with
    /// the largest magnitude.
    public var rate: Double?

    /// Seconds since the movement began.
    public var duration: Double?

    /// Estimated height of the fall, m.
    public var height: Double?

    /// RMS of the vibration, m/s².
    public var level: Double?

    /// The strongest frequency of the vibration, Hz.
    public var frequency: Double?

    /// Of a machine's run that has ended: its longest pause, s, its highest level for half a minute, m/s², and whether it
    /// spun at its end.
    public var longestPause: Double?
    public var peak: Double?
    public var hasSpun: Bool?

    /// How like its nearest example a learned gesture was: 1 for the same, 0.5 for just like enough.
    public var confidence: Double?

    /// Why the gesture was cancelled.
    public var reason: CancellationReason?

    /// Whether this is the end of a machine that was found running, so that there was no `began`.
    public var isAdopted: Bool { beginning == .found }

    /// What became of the beginning of a gesture that ends: only a machine may have begun before the program.
    package enum Beginning: UInt8, Sendable, BitwiseCopyable {
        case reported
        /// Reported by an earlier run of the program.
        case reportedEarlier
        /// There was none: the machine was found running.
        case found
    }

    package var beginning = Beginning.reported

    /// Whether the event was simulated, to test what it triggers. Recognizers leave it false.
    public var isSimulated = false

    /// Which recognizers found it: 0 for those of the settings, else the number of a `GestureVariant` or of a
    /// `LearnedGestureSettings`.
    package var variant: UInt16 = 0

    /// Creates an event without details.
    @inlinable
    public init(_ gesture: Gesture, _ phase: GesturePhase, at timestamp: Timestamp) {
        self.gesture = gesture
        self.phase = phase
        self.timestamp = timestamp
    }
}
