public import MotionCore

/// Which gestures a handler receives.
///
/// A plain recognizer, `.shake`, uses `MotionManager.settings`, as all plain recognizers of its gesture do. One with a
/// requirement of its own, `.shake.sensitivity(8)` or `.tap(count: 2)`, recognises by itself: other handlers
/// do not see its gestures, and two handlers may ask for different things of the same movement. Recognizers that ask for
/// the same share their work; each distinct requirement costs as much processor time per sample as all
/// plain recognizers together.
///
/// What one gesture has to do with another:
///
/// | gesture | excludes, while it lasts | waits for |
/// | --- | --- | --- |
/// | `shake` | taps, flicks, turns | – |
/// | `fall` | taps, flicks, turns, shakes | – |
/// | `impact` | taps | – |
/// | `tap` | – | further taps, if more than one count is distinguished |
/// | `flick` | – | a shake to fail, 1 s at most |
/// | `turn` | – | –; needs a gyroscope |
/// | `tilt` | – | –; is measured from the reference attitude |
/// | `learned` | flicks, turns, taps within it | a longer learned gesture of which it is a part |
public struct Recognizer: Sendable {
    /// The gesture that it recognises.
    public let gesture: Gesture

    /// What it asks for beyond the manager's settings.
    var requirements = RecognizerRequirements()

    private var predicate: (@Sendable (GestureBeginning) -> Bool)?

    /// Recognises every `gesture`.
    public init(_ gesture: Gesture) {
        self.gesture = gesture
    }

    /// Quick movement to and fro.
    public static var shake: Recognizer { Recognizer(.shake) }
    /// Knocks with a finger, as many as the manager's settings distinguish.
    public static var tap: Recognizer { Recognizer(.tap) }
    /// One quick stroke, in any direction.
    public static var flick: Recognizer { Recognizer(.flick) }
    /// Rotation about an axis of the body; needs a gyroscope. By default only that of a knob: see `TurnMode`.
    public static var turn: Recognizer { Recognizer(.turn) }
    /// Another side comes up, by 90° or 180°.
    public static var flip: Recognizer { Recognizer(.flip) }
    /// Tilted away from the reference attitude by more than the settings' angle.
    public static var tilt: Recognizer { Recognizer(.tilt) }
    /// Free fall.
    public static var fall: Recognizer { Recognizer(.fall) }
    /// A blow of 4 g and more.
    public static var impact: Recognizer { Recognizer(.impact) }
    /// The body moves, until it has been at rest for some time.
    public static var motion: Recognizer { Recognizer(.motion) }
    /// A machine runs, until it has been quiet for some time.
    public static var vibration: Recognizer { Recognizer(.vibration) }

    /// A gesture that somebody has shown: its file is written by `jostle learn`. While a movement may still become this gesture,
    /// plain flicks, turns and taps wait, and are dropped if it does; not those in `simultaneously(with:)`.
    public static func learned(_ template: GestureTemplate) -> Recognizer {
        Recognizer(.learned).with { $0.template = template }
    }

    func accepts(_ event: GestureEvent) -> Bool {
        event.gesture == gesture && (predicate?(GestureBeginning(event)) ?? true)
    }
}

// MARK: - What a recognizer asks for

extension Recognizer {
    /// Recognises `count` taps in a row, 1 to 3.
    ///
    /// - Parameters:
    ///   - count: how many taps.
    ///   - counts: what is distinguished; `count` is always a member. Default: `count` alone, so that single taps are
    ///     reported at once, two of them for a double tap. With `[.single, .double]` a single tap waits until
    ///     `TapSettings.window` has passed without a second one.
    /// - Returns: a recognizer with requirements of its own.
    public static func tap(count: Int, distinguishing counts: TapCounts = []) -> Recognizer {
        let count = min(max(count, 1), 3)
        return Recognizer.tap
            .with { $0.tapCounts = counts.union(TapCounts(rawValue: 1 << UInt8(count - 1))) }
            .when { $0.count == count }
    }

    /// Recognises turns that go one way or about one axis of the body; `nil` for any.
    ///
    /// - Parameters:
    ///   - angle: the smallest turn, rad, at sensitivity 5: it begins when it has gone that far. `nil` for the settings'.
    ///   - direction: `.left` is positive about the axis, right-handed; `.right` negative.
    ///   - axis: the body axis.
    /// - Returns: a recognizer with requirements of its own if there is an angle.
    public static func turn(
        by angle: Double? = nil, direction: MotionDirection? = nil, about axis: BodyAxis? = nil
    ) -> Recognizer {
        let recognizer = Recognizer.turn.with { $0.turnAngle = angle }
        guard direction != nil || axis != nil else { return recognizer }
        return recognizer.when { ($0.direction == direction || direction == nil) && ($0.axis == axis || axis == nil) }
    }

    /// Recognises tilts of more than `angle`, rad, from the reference attitude.
    public static func tilt(by angle: Double) -> Recognizer {
        Recognizer.tilt.with { $0.tiltAngle = angle }
    }

    /// Recognises flicks in one direction.
    public static func flick(_ direction: MotionDirection) -> Recognizer {
        Recognizer.flick.when { $0.direction == direction }
    }

    /// Recognises flips that leave one side up, or come from one; `nil` for any.
    public static func flip(from: BodySide? = nil, to: BodySide? = nil) -> Recognizer {
        Recognizer.flip.when { ($0.from == from || from == nil) && ($0.to == to || to == nil) }
    }

    /// The same recognizer with another sensitivity: 1 (only what is unmistakable) to 10 (the gentlest too).
    public func sensitivity(_ sensitivity: Int) -> Recognizer {
        with { $0.sensitivity = min(max(sensitivity, 1), 10) }
    }

    /// The same recognizer with other seconds from a gesture's end during which no other of its kind begins.
    public func cooldown(_ seconds: Double) -> Recognizer {
        with { $0.cooldown = max(0, seconds) }
    }

    /// The same recognizer, waiting until other gestures can no longer come of the same movement, as
    /// `UIGestureRecognizer.require(toFail:)` does. See `GestureRelations.require(_:toFail:)`.
    public func require(toFail others: GestureSet) -> Recognizer {
        with { $0.toFail.formUnion(others) }
    }

    /// The same recognizer, which other gestures neither exclude nor delay. See
    /// `GestureRelations.allow(_:simultaneouslyWith:)`.
    public func simultaneously(with others: GestureSet) -> Recognizer {
        with { $0.simultaneous.formUnion(others) }
    }

    private func with(_ change: (inout RecognizerRequirements) -> Void) -> Recognizer {
        var recognizer = self
        change(&recognizer.requirements)
        return recognizer
    }

    /// The same recognizer for only those gestures that satisfy `predicate` when they begin or are recognised.
    public func when(_ predicate: @escaping @Sendable (GestureBeginning) -> Bool) -> Recognizer {
        var recognizer = self
        if let own = self.predicate {
            recognizer.predicate = { own($0) && predicate($0) }
        } else {
            recognizer.predicate = predicate
        }
        return recognizer
    }
}

/// What a recognizer asks for beyond the manager's settings; `nil` and empty sets for nothing.
struct RecognizerRequirements: Equatable, Sendable {
    var template: GestureTemplate?
    var sensitivity: Int?
    var cooldown: Double?
    var tapCounts: TapCounts?
    var turnAngle: Double?
    var tiltAngle: Double?
    var toFail: GestureSet = []
    var simultaneous: GestureSet = []

    /// The manager's settings with what a recognizer of `gesture` asks for.
    func applied(to settings: GestureSettings, for gesture: Gesture) -> GestureSettings {
        var settings = settings
        if let sensitivity { settings[gesture].sensitivity = sensitivity }
        if let cooldown { settings[gesture].cooldown = cooldown }
        if let tapCounts { settings.tap.counts = tapCounts }
        if let turnAngle {
            settings.turn.minimumAngle = turnAngle
            settings.turn.knobAngle = turnAngle
        }
        if let tiltAngle { settings.tilt.angle = tiltAngle }
        settings.relations.require(gesture, toFail: toFail)
        settings.relations.allow(gesture, simultaneouslyWith: simultaneous)
        return settings
    }
}

// MARK: - Handlers

/// What a handler made of a gesture.
public enum GestureResponse: Sendable {
    /// The handler has dealt with it: responders further down the chain do not receive this gesture.
    case consume
    /// The next responder receives it too.
    case passOn
}

/// Handles a gesture's events on the delivery thread, one at a time and in order.
public typealias GestureHandler = @Sendable (GestureEvent) -> GestureResponse

/// A handler that was added to a `MotionManager`. Releasing the token does not remove the handler.
public final class RecognizerToken: Sendable {
    private let chain: ResponderChain
    private let responder: Responder
    private let onRemove: @Sendable (_ pendingCancellations: Int) -> Void

    /// - Parameters:
    ///   - chain: the chain that has the handler.
    ///   - responder: the handler.
    ///   - onRemove: called once, with the number of cancellations that the handler is still to receive.
    init(
        chain: ResponderChain, responder: Responder,
        onRemove: @escaping @Sendable (_ pendingCancellations: Int) -> Void
    ) {
        self.chain = chain
        self.responder = responder
        self.onRemove = onRemove
    }

    /// Whether the handler receives gestures. Switching it off cancels a gesture under way for it.
    public var isEnabled: Bool {
        get { responder.isEnabled.load(ordering: .relaxed) }
        set { chain.setEnabled(newValue, of: responder) }
    }

    /// Removes the handler from the chain. A gesture under way is cancelled for it, which is the last event it receives.
    public func remove() {
        chain.remove(responder, then: onRemove)
    }
}

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

    /// The name of a learned gesture.
    public var name: GestureName? { event.name }

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
