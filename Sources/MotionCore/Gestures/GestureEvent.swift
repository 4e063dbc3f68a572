/// What kind of movement was recognised.
public enum Gesture: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case shake
}

/// Where a gesture is in its life, as UIKit means it.
///
/// Every `began` is followed by exactly one `ended` or `cancelled`; gestures without duration are `recognized`.
public enum GesturePhase: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case began
    case changed
    case ended
    case cancelled
    case recognized
}

/// Why a gesture was cancelled.
public enum CancellationReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// It faded before it was confirmed.
    case tooWeak
    /// It lasted longer than such a gesture does.
    case tooLong
    /// Something stronger came in between, a fall for example, or samples are missing.
    case interrupted
    /// The sensor gives no samples any more.
    case sensorLost
    /// Its recognizer was switched off or its settings changed.
    case disabled
    /// The source of samples was stopped.
    case stopped
    /// The program ended without closing it; told at the next start.
    case restarted
}

/// An axis of the body frame.
public enum BodyAxis: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case x
    case y
    case z

    /// The axis with the largest component of `direction`.
    @inlinable
    public init(dominantIn direction: Vector3) {
        let x = abs(direction.x)
        let y = abs(direction.y)
        let z = abs(direction.z)
        self = x >= y && x >= z ? .x : y >= z ? .y : .z
    }
}

/// A phase of a recognised gesture and what is known of it then.
///
/// Which fields a gesture has is said in the README's table; the others are `nil`.
public struct GestureEvent: Equatable, Sendable, BitwiseCopyable {
    public var gesture: Gesture
    public var phase: GesturePhase

    /// The instant of the sample that brought it about; never back-dated.
    public var timestamp: Timestamp

    /// Peak linear acceleration so far, m/s².
    public var strength: Double?

    /// The body axis along which most of the movement went.
    public var axis: BodyAxis?

    /// How often the movement turned round so far.
    public var reversals: Int?

    /// Seconds since the movement began.
    public var duration: Double?

    /// Why it was cancelled.
    public var reason: CancellationReason?

    /// Makes an event without details.
    @inlinable
    public init(_ gesture: Gesture, _ phase: GesturePhase, at timestamp: Timestamp) {
        self.gesture = gesture
        self.phase = phase
        self.timestamp = timestamp
    }
}
