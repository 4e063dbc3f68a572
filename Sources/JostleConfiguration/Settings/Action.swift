package import MotionCore

extension JostleSettings {
    /// A rule of `actions`: on a phase of a gesture it publishes a message, runs a program, posts the event to a web
    /// server, or withholds the gesture from later handlers.
    package struct Action: Equatable, Sendable {
        /// The gesture that triggers it.
        package var on = GestureKind(.shake)

        /// The name by which it can be switched off and on at run time. Default: none.
        package var name: String?

        /// Whether it acts. Default true.
        package var isEnabled = true

        /// The phase that triggers it. Default: `began` or, for gestures without it, `recognized`.
        package var phase: GesturePhase?

        /// Which of these events trigger it. Default: all.
        package var filter = EventFilter()

        /// The message to publish. Default: none.
        package var publish = ActionMessage()

        /// The program to run, and its arguments. Default: none.
        package var run: [String]?

        /// Seconds after which the program is killed. Default 10.
        package var timeLimit = Action.usualTimeLimit

        /// Where the event is posted. Default: none.
        package var post: Webhook?

        /// Whether a rule with `run` or `post` also acts on simulated events. Default false.
        package var actsOnSimulated = false

        /// Whether the gesture is withheld from later rules and from the MQTT publisher. Default false.
        package var isConsuming = false

        static let usualTimeLimit = 10.0

        /// Whether it does something outside of MQTT. Nobody can bring that about, or switch it on, over MQTT.
        package var reachesOut: Bool { run != nil || post != nil }

        /// What a report may say of it: neither the arguments of a program nor the address of a webhook, which may contain
        /// secrets.
        var withoutSecrets: Action {
            var action = self
            if let run, run.count > 1 { action.run = [run[0], Action.hidden] }
            if case .url = post { action.post = .url(Action.hidden) }
            return action
        }

        private static let hidden = "(hidden)"

        /// The pattern of the keys that switch rules by their names.
        static let switches = "actions.*.enabled"

        package init() {}

        package var gesture: Gesture { on.gesture }

        /// The phase that triggers it, with the default applied.
        package var actingPhase: GesturePhase { phase ?? gesture.firstPhase }
    }

    /// Where an event is posted.
    package enum Webhook: Equatable, Sendable {
        case url(String)
        /// A file whose first line is the URL, or `credential:NAME`.
        case file(String)

        /// Why a text is not the URL of a webhook; `nil` if it is one.
        package static func refusal(of text: String) -> String? {
            guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else {
                return "is no URL that begins with http:// or https://"
            }
            guard let first = text.dropFirst(scheme.count).first, first != "/" else { return "is a URL without a host" }
            let isPlain = text.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0.value < 0x7F && $0 != "\"" && $0 != "\\"
            }
            return isPlain ? nil : "is a URL with blanks, quotes or characters that are not ASCII: write them as %20"
        }
    }

    /// Conditions on an event's fields. A condition that is `nil` always holds; one on a field that the event lacks
    /// fails.
    package struct EventFilter: Equatable, Sendable {
        /// The number of taps.
        package var counts: [Int]?
        /// The main axis of the movement or rotation.
        package var axes: [BodyAxis]?
        /// The direction of the movement.
        package var directions: [MotionDirection]?
        /// The side that was hit.
        package var sides: [BodySide]?
        /// The sides that pointed up before and after.
        package var from: [BodySide]?
        package var to: [BodySide]?
        /// The strength must be larger, m/s².
        package var strengthAbove: Double?
        /// The magnitude of the angle must be larger, rad.
        package var angleAbove: Double?
        /// The duration must be longer, s.
        package var durationAbove: Double?

        /// Creates a filter that every event passes.
        package init() {}
    }

    /// The message of an action.
    package struct ActionMessage: Equatable, Sendable {
        /// The topic. Default: none; nothing is published.
        package var topic: Template?

        /// The payload. Default: the event, as it is published.
        package var payload = Template(.event)

        /// The quality of service: 1 is acknowledged and may arrive twice, 0 is sent once. Default 1.
        package var qos = 1

        /// Whether the message is retained by the broker. Default false.
        package var isRetained = false

        /// Seconds after which an undelivered message is dropped; 0 means never. Default: 30, or never if it is
        /// retained.
        package var expiry: Double?

        package init() {}

        /// Seconds after which an undelivered message is dropped; `nil` means never.
        package var lifetime: Double? {
            let seconds = expiry ?? (isRetained ? 0 : 30)
            return seconds > 0 ? seconds : nil
        }
    }

    /// `actions`, but `nil` if empty, as the schema needs it: an empty list is written as a key without a value.
    var actionList: [Action]? {
        get { actions.isEmpty ? nil : actions }
        set { actions = newValue ?? [] }
    }

    /// The settings as reports show them.
    var withoutSecretsOfActions: JostleSettings {
        guard actions.contains(where: \.reachesOut) else { return self }
        var settings = self
        settings.actions = actions.map(\.withoutSecrets)
        return settings
    }
}

/// The topics on which an action must not publish: the device's own and the fleet's.
///
/// Other devices' topics are allowed: a shake here may tare a device elsewhere.
package struct ActionTopics: Equatable, Sendable {
    private let prefix: String
    private let id: String?

    /// Creates the rule for the device `id` under `prefix`; `id` is `nil` if it is not known yet.
    package init(prefix: String, id: String?) {
        self.prefix = prefix
        self.id = id
    }

    /// Whether a topic belongs to the device or the fleet, or is a parent of such a topic.
    package func isReserved(_ topic: String) -> Bool {
        guard topic.hasPrefix("\(prefix)/") else { return false }
        let level = topic.dropFirst(prefix.count + 1).prefix { $0 != "/" }
        // Fleet topics begin with an underscore; device ids never do.
        return level.hasPrefix("_") || id.map { level == $0 } ?? false
    }

    /// Whether a template could produce a reserved topic, as far as its text and the device's id decide that.
    func isReserved(_ template: Template) -> Bool {
        // Unknown parts are replaced by a character that no id contains.
        let unknown = "\u{1}"
        let topic = template.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(.device, _): id ?? unknown
            case .field: unknown + unknown
            }
        }.joined()
        return isReserved(topic) || topic.hasPrefix("\(prefix)/\(unknown)/")
    }
}
