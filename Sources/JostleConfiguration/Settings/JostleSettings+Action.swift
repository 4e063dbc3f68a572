package import MotionCore

extension JostleSettings {
    /// A rule of `actions`: on a phase of a gesture a message is published, or the gesture is kept from those that follow.
    package struct Action: Equatable, Sendable {
        /// The gesture that it is for.
        package var gesture = Gesture.shake

        /// The phase at which it acts. Default: where the gesture begins, or is recognized.
        package var phase: GesturePhase?

        /// Which of these events it is for. Default: all.
        package var filter = EventFilter()

        /// What is published. Default: nothing.
        package var publish = ActionMessage()

        /// Whether the rules that follow and the publisher do not hear of the gesture. Default: they do.
        package var isConsuming = false

        /// Makes the default settings.
        package init() {}

        /// The phase at which it acts.
        package var actingPhase: GesturePhase { phase ?? gesture.firstPhase }
    }

    /// What is asked of an event's fields; what is not said is not asked, and a field that is not there fits nothing.
    package struct EventFilter: Equatable, Sendable {
        /// How many taps it was.
        package var counts: [Int]?
        /// The axis along which, or about which, most of it went.
        package var axes: [BodyAxis]?
        /// Where it went.
        package var directions: [MotionDirection]?
        /// The side that was hit.
        package var sides: [BodySide]?
        /// The sides that pointed up before and after.
        package var from: [BodySide]?
        package var to: [BodySide]?
        /// Stronger than this, m/s².
        package var strengthAbove: Double?
        /// Further than this, rad, whichever way it goes.
        package var angleAbove: Double?
        /// Longer than this, s.
        package var durationAbove: Double?

        /// Makes a filter that everything passes.
        package init() {}
    }

    /// The message of an action.
    package struct ActionMessage: Equatable, Sendable {
        /// Where it goes. Default: none, nothing is published.
        package var topic: Template?

        /// What it says. Default: the event, as it is published.
        package var payload = Template(.event)

        /// Whether it is acknowledged, and may then arrive twice (1), or sent once (0). Default 1.
        package var qos = 1

        /// Whether the broker keeps it for those who subscribe later. Default: it does not.
        package var isRetained = false

        /// Seconds after which it is dropped where it could not be delivered; 0 is never. Default: 30, or never where it
        /// is retained.
        package var expiry: Double?

        /// Makes the default settings.
        package init() {}

        /// Seconds after which it is dropped; `nil` is never.
        package var lifetime: Double? {
            let seconds = expiry ?? (isRetained ? 0 : 30)
            return seconds > 0 ? seconds : nil
        }
    }

    /// The same, with no list where it is empty: a key without a value.
    var actionList: [Action]? {
        get { actions.isEmpty ? nil : actions }
        set { actions = newValue ?? [] }
    }
}
