internal import JostleConfiguration
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// The rules of `actions` as members of the responder chain: after the handlers that a program added, in their order, and
/// before the publisher.
///
/// Each is a responder of its own, so that the chain's promise holds for it: whoever heard of a beginning hears of its end,
/// and whoever consumes a beginning keeps the gesture to itself.
final class ActionResponders: Sendable {
    /// Has a rule carried out on an event.
    typealias Perform = @Sendable (JostleSettings.Action, GestureEvent) -> Void

    private let perform: Perform
    private let tokens = Mutex<[RecognizerToken]>([])

    /// `perform` is called on the delivery thread.
    init(perform: @escaping Perform) {
        self.perform = perform
    }

    /// Puts rules into a manager's chain, in the place of those before, for which gestures under way are cancelled.
    ///
    /// They come before every handler that is there: a program adds its own afterwards.
    func install(_ actions: [JostleSettings.Action], in manager: MotionManager) {
        tokens.withLock { tokens in
            for token in tokens { token.remove() }
            // The newest handler hears first: the first rule is added last.
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
