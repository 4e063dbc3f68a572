internal import MotionCore

/// The distinct requirements of the recognizers that have any, and the numbers of the variants that recognise for them.
struct VariantTable: Sendable {
    private struct Entry: Sendable {
        let number: UInt16
        let gesture: Gesture
        let requirements: RecognizerRequirements
        var users: Int
    }

    private var entries: [Entry] = []
    private var last: UInt16 = 0

    /// The number of the variant for a recognizer: 0 if it has no requirements. Each call needs one of `release`.
    mutating func retain(_ recognizer: Recognizer) -> UInt16 {
        guard recognizer.requirements != RecognizerRequirements() else { return 0 }
        let place = entries.firstIndex {
            $0.gesture == recognizer.gesture && $0.requirements == recognizer.requirements
        }
        if let place {
            entries[place].users += 1
            return entries[place].number
        }
        repeat { last = last == .max ? 1 : last + 1 } while entries.contains { $0.number == last }
        entries.append(
            Entry(number: last, gesture: recognizer.gesture, requirements: recognizer.requirements, users: 1))
        return last
    }

    /// Releases one use of a variant; returns whether the variants have changed.
    mutating func release(_ number: UInt16) -> Bool {
        guard let place = entries.firstIndex(where: { $0.number == number }) else { return false }
        entries[place].users -= 1
        guard entries[place].users == 0 else { return false }
        entries.remove(at: place)
        return true
    }

    var isEmpty: Bool { entries.isEmpty }

    /// The variants under the manager's settings.
    func variants(of settings: GestureSettings) -> [GestureVariant] {
        entries.filter { $0.gesture != .learned }.map { entry in
            GestureVariant(
                number: entry.number, gesture: entry.gesture,
                settings: entry.requirements.applied(to: settings, for: entry.gesture))
        }
    }

    /// The learned gestures that recognizers bring.
    func learned(under settings: GestureSettings) -> [LearnedGestureSettings] {
        entries.compactMap { entry in
            guard let template = entry.requirements.template else { return nil }
            var learned = LearnedGestureSettings(template)
            learned.common = entry.requirements.applied(to: settings, for: .learned).learned
            learned.held.subtract(entry.requirements.simultaneous)
            learned.variant = entry.number
            return learned
        }
    }
}
