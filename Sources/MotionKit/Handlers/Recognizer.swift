public import MotionCore

/// Which gestures a handler wants to hear of.
///
/// What makes a movement a gesture (its sensitivity and so on) is set once for everybody in `MotionManager.settings`;
/// a recognizer says which of them concern one handler.
public struct Recognizer: Sendable {
    /// The gesture it is for.
    public let gesture: Gesture

    private let predicate: (@Sendable (GestureEvent) -> Bool)?

    public static var shake: Recognizer { Recognizer(.shake) }
    public static var tap: Recognizer { Recognizer(.tap) }
    public static var flick: Recognizer { Recognizer(.flick) }
    public static var turn: Recognizer { Recognizer(.turn) }
    public static var flip: Recognizer { Recognizer(.flip) }
    public static var tilt: Recognizer { Recognizer(.tilt) }
    public static var fall: Recognizer { Recognizer(.fall) }
    public static var impact: Recognizer { Recognizer(.impact) }
    public static var motion: Recognizer { Recognizer(.motion) }
    public static var vibration: Recognizer { Recognizer(.vibration) }

    /// Recognises every `gesture`.
    public init(_ gesture: Gesture) {
        self.init(gesture: gesture, predicate: nil)
    }

    /// The same recognizer for only those gestures that satisfy `predicate` where they begin or are recognized.
    public func when(_ predicate: @escaping @Sendable (GestureEvent) -> Bool) -> Recognizer {
        guard let own = self.predicate else { return Recognizer(gesture: gesture, predicate: predicate) }
        return Recognizer(gesture: gesture) { own($0) && predicate($0) }
    }

    private init(gesture: Gesture, predicate: (@Sendable (GestureEvent) -> Bool)?) {
        self.gesture = gesture
        self.predicate = predicate
    }

    func accepts(_ event: GestureEvent) -> Bool {
        event.gesture == gesture && (predicate?(event) ?? true)
    }
}

/// What a handler made of an event.
public enum GestureResponse: Sendable {
    /// It is dealt with: nobody further down the responder chain hears of this gesture.
    case consume
    /// The next responder may have it, too.
    case passOn
}

/// Handles a gesture's events on the delivery thread, one at a time and in order.
public typealias GestureHandler = @Sendable (GestureEvent) -> GestureResponse

/// A handler that was added to a `MotionManager`; dropping it changes nothing.
public final class RecognizerToken: Sendable {
    private let chain: ResponderChain
    private let responder: Responder

    init(chain: ResponderChain, responder: Responder) {
        self.chain = chain
        self.responder = responder
    }

    /// Whether the handler hears of gestures. A gesture under way is cancelled for it when it is switched off.
    public var isEnabled: Bool {
        get { responder.isEnabled.load(ordering: .relaxed) }
        set { chain.setEnabled(newValue, of: responder) }
    }

    /// Takes the handler out of the chain. A gesture under way is cancelled for it, which is the last that it hears.
    public func remove() {
        chain.remove(responder)
    }
}
