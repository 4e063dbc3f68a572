package import JostleConfiguration
internal import LinuxSystem
package import MotionCore
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

    private struct Installed {
        var tokens: [RecognizerToken] = []
        var actions: [JostleSettings.Action] = []
        /// Which rules are switched on, by their places in the list.
        var switches = Locked<[Bool]>([])
    }

    private let perform: Perform
    private let installed = Mutex(Installed())

    /// `perform` is called on the delivery thread.
    init(perform: @escaping Perform) {
        self.perform = perform
    }

    /// Replaces the installed rules in a manager's chain. Gestures in progress are cancelled for the removed rules. If
    /// rules were only switched off or on, the others notice nothing.
    ///
    /// The rules precede all existing handlers, so a program adds its own handlers afterwards.
    func install(_ actions: [JostleSettings.Action], in manager: MotionManager) {
        let rules = actions.map { action in
            var rule = action
            rule.isEnabled = true
            return rule
        }
        installed.withLock { installed in
            guard installed.actions != rules else {
                installed.switches.withLock { $0 = actions.map(\.isEnabled) }
                return
            }
            for token in installed.tokens { token.remove() }
            let switches = Locked(actions.map(\.isEnabled))
            installed.switches = switches
            installed.actions = rules
            // The newest handler is called first, so the first rule is added last.
            installed.tokens = rules.enumerated().reversed().map { index, action in
                let recognizer = Recognizer(action.gesture).when {
                    switches.withLock { $0[index] } && action.takesPart(in: $0.event)
                }
                return manager.addRecognizer(recognizer) { [perform] event in
                    let isOn = switches.withLock { $0[index] }
                    if isOn, action.acts(on: event) { perform(action, event) }
                    return action.isConsuming ? .consume : .passOn
                }
            }
        }
    }
}

extension JostleSettings.EventFilter {
    /// Whether an event satisfies every condition. A condition on a field that the event lacks is not satisfied.
    package func accepts(_ event: GestureEvent) -> Bool {
        fits(event.count, counts) && fits(event.axis, axes) && fits(event.direction, directions)
            && fits(event.side, sides) && fits(event.from, from) && fits(event.to, to)
            && exceeds(event.strength, strengthAbove) && exceeds(event.angle.map(abs), angleAbove)
            && exceeds(event.duration, durationAbove)
    }

    private func fits<Value: Equatable>(_ value: Value?, _ allowed: [Value]?) -> Bool {
        guard let allowed else { return true }
        return value.map(allowed.contains) ?? false
    }

    private func exceeds(_ value: Double?, _ limit: Double?) -> Bool {
        guard let limit else { return true }
        return value.map { $0 > limit } ?? false
    }
}

extension JostleSettings.Action {
    /// Whether the rule takes part in a gesture, decided at its beginning.
    ///
    /// A consuming rule must decide at the beginning, because the later responders then receive nothing of that
    /// gesture. Other rules take part in every gesture of their kind, and apply the filter to the phase on which they
    /// act.
    func takesPart(in beginning: GestureEvent) -> Bool {
        beginning.kind == on && (!isConsuming || filter.accepts(beginning))
    }

    /// Whether the rule acts on an event of a gesture in which it takes part.
    func acts(on event: GestureEvent) -> Bool {
        event.phase == actingPhase && (isConsuming || filter.accepts(event))
    }
}
