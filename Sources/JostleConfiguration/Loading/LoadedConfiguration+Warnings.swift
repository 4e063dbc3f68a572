internal import IMUDrivers
internal import MotionCore

extension LoadedConfiguration {
    /// Values that are valid but have no effect, most often because of another value: rules that can never act, gestures
    /// that can never begin.
    package var warnings: [ConfigurationProblem] {
        settings.actions.indices.compactMap(warning(ofAction:)) + silencedGestures
    }

    // MARK: Actions

    /// The first reason why a rule can never act; `nil` if it can.
    private func warning(ofAction index: Int) -> ConfigurationProblem? {
        let action = settings.actions[index]
        // Somebody switched it off, and knows.
        guard action.isEnabled else { return nil }
        let path = "actions[\(index)]"
        let name = GestureNames.name(of: action.gesture)
        if !settings.motion.gestures[action.gesture].isEnabled {
            return problem(at: "\(path).on", "never acts: gestures.\(name).enabled is false", found: name)
        }
        if isAlwaysQuiet(action.gesture) {
            return problem(
                at: "\(path).on", "never acts: gestures.\(name).when.quiet_hours covers the whole day", found: name)
        }
        if action.gesture == .turn, case .family(let family) = settings.sensor.driver, !family.hasGyroscope {
            return problem(at: "\(path).on", "never acts: the \(family.partName) has no gyroscope", found: name)
        }
        if let counts = action.filter.counts, action.gesture == .tap, !counts.contains(where: isTapCount) {
            let wanted = counts.map(String.init).joined(separator: ", ")
            let missing = counts.compactMap(LoadedConfiguration.tapName).joined(separator: ", ")
            return problem(
                at: "\(path).count",
                "never acts: gestures.tap.counts does not include \(missing); without it, such taps are reported as "
                    + "single ones", found: wanted)
        }
        let wanted = settings.motion.gestures.flick.directions
        if action.gesture == .flick, let directions = action.filter.directions,
            !directions.contains(where: { wanted.contains($0) })
        {
            let names = GestureNames.directions.filter { directions.contains($0.value) }.map(\.key).joined(
                separator: ", ")
            return problem(
                at: "\(path).direction", "never acts: gestures.flick.directions does not include \(names)", found: names
            )
        }
        let earlier = settings.actions[..<index].firstIndex { $0.isEnabled && $0.isConsuming && $0.hides(action) }
        if let earlier {
            return problem(
                at: "\(path).on", "never acts: actions[\(earlier)] consumes every \(name) before it", found: name)
        }
        return nil
    }

    private func isTapCount(_ count: Int) -> Bool {
        let counts = settings.motion.gestures.tap.counts
        switch count {
        case 1: return counts.contains(.single)
        case 2: return counts.contains(.double)
        case 3: return counts.contains(.triple)
        default: return false
        }
    }

    private static func tapName(_ count: Int) -> String? {
        [1: "single", 2: "double", 3: "triple"][count]
    }

    // MARK: Gestures

    /// Enabled gestures whose quiet hours leave no minute of the day. An action on one of them is reported instead.
    private var silencedGestures: [ConfigurationProblem] {
        GestureNames.gestures.compactMap { name, gesture in
            let hasAction = settings.actions.contains { $0.gesture == gesture }
            guard settings.motion.gestures[gesture].isEnabled, !hasAction, isAlwaysQuiet(gesture) else { return nil }
            return problem(
                at: "gestures.\(name).when.quiet_hours", "covers the whole day, so that \(name) never begins")
        }
    }

    private func isAlwaysQuiet(_ gesture: Gesture) -> Bool {
        guard let spans = settings.quietHours[gesture], !spans.isEmpty else { return false }
        return (0..<1440).allSatisfy { minute in spans.contains { $0.contains(minute: minute) } }
    }

    /// A problem at the position of a key; at that of the list for an element without one.
    private func problem(at path: String, _ reason: String, found: String? = nil) -> ConfigurationProblem {
        let position = provenance[path] ?? provenance["actions"] ?? ConfigurationPosition(.argument(path))
        return ConfigurationProblem(at: position, path: path, found: found, reason)
    }
}

extension JostleSettings.Action {
    /// Whether this rule, if it consumes, leaves nothing for `other`: it takes every gesture that the other one takes.
    fileprivate func hides(_ other: JostleSettings.Action) -> Bool {
        gesture == other.gesture && (filter == JostleSettings.EventFilter() || filter == other.filter)
    }
}
