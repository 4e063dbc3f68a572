package import MotionCore

// The gestures that somebody has shown: `gestures.learned`.

extension JostleSettings {
    /// A learned gesture. Without a template there is none.
    package struct Learned: Equatable, Sendable {
        package var common = GestureSettings().learned
        /// The times of day at which it may not begin. Default: none.
        package var quietHours: [DailySpan]?
        package var held = LearnedGestureSettings.usuallyHeld
        package var template: GestureTemplate?
    }

    /// The learned gesture of a name; it need not exist.
    subscript(learned name: GestureName) -> Learned {
        get { learned[name] ?? Learned() }
        set { learned[name] = newValue == Learned() ? nil : newValue }
    }

    /// The learned gestures, by their names, with those switched off that are `silent`.
    package func learnedGestures(silent: Set<GestureName> = []) -> [LearnedGestureSettings] {
        learned.sorted { $0.key < $1.key }.compactMap { name, learned in
            guard let template = learned.template else { return nil }
            var settings = LearnedGestureSettings(name: name, template.gesture)
            settings.common = learned.common
            settings.held = learned.held
            if silent.contains(name) { settings.common.isEnabled = false }
            return settings
        }
    }
}

extension GestureName {
    /// Names with another meaning in topics, payloads and rules.
    private static let reserved = Set(Gesture.allCases.map(\.word) + ["any", "all", "machine"])

    /// The regular expression of names; that some are reserved, it cannot say.
    static let pattern = "^[a-z][a-z0-9_]{0,31}$"

    /// The name of a learned gesture; `nil` if it cannot be one.
    package init?(learned text: some StringProtocol) {
        guard let name = GestureName(text), !GestureName.reserved.contains(String(text)) else { return nil }
        self = name
    }

    /// Why a text is no such name, and what is.
    package static let refusal = (
        reason: "cannot be the name of a learned gesture",
        allowed: "\(GestureTemplate.nameRule), except \(reserved.sorted().listed("and"))"
    )
}

/// A built-in gesture, or a learned one.
package struct GestureKind: Hashable, Sendable {
    package var gesture: Gesture
    /// Of a learned one.
    package var name: GestureName?

    package init(_ gesture: Gesture, _ name: GestureName? = nil) {
        self.gesture = gesture
        self.name = name
    }

    /// The gesture with this name in topics and payloads. A learned one need not exist.
    package init?(word: some StringProtocol) {
        if let gesture = Gesture.builtIn.first(where: { $0.word == word }) {
            self.init(gesture)
        } else if let name = GestureName(learned: word) {
            self.init(.learned, name)
        } else {
            return nil
        }
    }

    /// The name in topics and payloads.
    package var word: String { name.map { "\($0)" } ?? gesture.word }

    /// The key of a learned one's template.
    package var templateKey: String { "\(section).template" }

    /// The section of its keys.
    package var section: String { name.map { "gestures.learned.\($0)" } ?? "gestures.\(gesture.word)" }
}

extension GestureEvent {
    package var kind: GestureKind { GestureKind(gesture, name) }
}

extension NearMiss {
    package var kind: GestureKind { GestureKind(gesture, name) }
}

extension JostleSettings {
    /// The built-in gestures and the learned ones.
    package var gestureKinds: [GestureKind] {
        Gesture.builtIn.map { GestureKind($0) }
            + learned.filter { $0.value.template != nil }.keys.sorted().map { GestureKind(.learned, $0) }
    }

    /// The common settings of a gesture; `nil` if there is no such learned one.
    package subscript(kind: GestureKind) -> RecognizerSettings? {
        get {
            guard let name = kind.name else { return motion.gestures[kind.gesture] }
            return learned[name].flatMap { $0.template == nil ? nil : $0.common }
        }
        set {
            guard let newValue else { return }
            if let name = kind.name {
                learned[name]?.common = newValue
            } else {
                motion.gestures[kind.gesture] = newValue
            }
        }
    }

    /// When gestures may not begin.
    package var allQuietHours: [GestureKind: [DailySpan]] {
        Dictionary(gestureKinds.compactMap { kind in quietHours(of: kind).map { (kind, $0) } }) { first, _ in first }
    }

    /// When a gesture may not begin.
    package func quietHours(of kind: GestureKind) -> [DailySpan]? {
        guard let name = kind.name else { return quietHours[kind.gesture] }
        return learned[name]?.quietHours
    }
}
