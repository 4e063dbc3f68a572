internal import JostleConfiguration
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Adds the rules of `actions` to the responder chain, in their order, after the handlers that a program added and
/// before the publisher.
///
/// Each rule is a separate responder, so the chain's guarantees apply to it: a responder that received a gesture's
/// beginning also receives its end, and one that consumes the beginning gets the gesture alone.
final class ActionResponders: Sendable {
    /// Carries out a rule for an event.
    typealias Perform = @Sendable (JostleSettings.Action, GestureEvent) -> Void

    private let perform: Perform
    private let tokens = Mutex<[RecognizerToken]>([])

    /// `perform` is called on the delivery thread.
    init(perform: @escaping Perform) {
        self.perform = perform
    }

    /// Replaces the installed rules in a manager's chain. Gestures in progress are cancelled for the removed rules.
    ///
    /// The rules precede all existing handlers, so a program adds its own handlers afterwards.
    func install(_ actions: [JostleSettings.Action], in manager: MotionManager) {
        tokens.withLock { tokens in
            for token in tokens { token.remove() }
            // The newest handler is called first, so the first rule is added last.
            tokens = actions.reversed().map { action in
                let recognizer = Recognizer(action.gesture).when { action.takesPart(in: $0.event) }
                return manager.addRecognizer(recognizer) { [perform] event in
                    if action.acts(on: event) { perform(action, event) }
                    return action.isConsuming ? .consume : .passOn
                }
            }
        }
    }
}
