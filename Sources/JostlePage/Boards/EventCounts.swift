internal import JostleConfiguration
internal import JostleOperator
internal import MotionCore

/// Counts the events of a board by gesture and phase.
///
/// The words come from the messages of a stranger, so their number is bounded: a word that is no identifier, and every
/// combination beyond `limit`, counts as `other`.
struct EventCounts: Equatable, Sendable {
    /// What is counted together.
    struct Kind: Hashable, Sendable {
        var gesture: String
        var phase: String
        var isSimulated: Bool
    }

    /// The most combinations. All gestures of an agent, real and simulated, with the learned ones, have fewer.
    static let limit = 8 * Gesture.builtIn.count + 2 * LearnedGestureSettings.mostGestures
    /// The ids that are remembered, to count an event once that is sent again.
    private static let remembered = 64

    private(set) var counts: [Kind: Int] = [:]
    private var ids: [Int] = []
    private var next = 0

    /// Counts an event, unless it has been counted.
    mutating func count(_ event: WatchedEvent) {
        if let id = event.id, !remember(id.hashValue) { return }
        let kind = Kind(
            gesture: EventCounts.word(event.gesture), phase: EventCounts.word(event.phase),
            isSimulated: event.isSimulated)
        let isKnown = counts[kind] != nil || counts.count < EventCounts.limit
        counts[isKnown ? kind : Kind(gesture: "other", phase: "other", isSimulated: event.isSimulated), default: 0] += 1
    }

    /// The counts, with a zero for the first phase of every gesture: Prometheus takes a counter that appears as 1 for one
    /// that has not changed.
    func all(isSimulated: Bool) -> [(kind: Kind, count: Int)] {
        var all = counts
        for gesture in Gesture.builtIn {
            let kind = Kind(gesture: gesture.word, phase: gesture.firstPhase.word, isSimulated: isSimulated)
            all[kind, default: 0] += 0
        }
        return all.map { ($0.key, $0.value) }.sorted {
            ($0.kind.gesture, $0.kind.phase, $0.kind.isSimulated ? 1 : 0)
                < ($1.kind.gesture, $1.kind.phase, $1.kind.isSimulated ? 1 : 0)
        }
    }

    /// Remembers an id; returns whether it is new.
    private mutating func remember(_ id: Int) -> Bool {
        guard !ids.contains(id) else { return false }
        if ids.count < EventCounts.remembered { ids.append(id) } else { ids[next] = id }
        next = (next + 1) % EventCounts.remembered
        return true
    }

    /// A word of the protocol: lower-case letters, digits, `_` and `-`, at most 32; else `other`.
    static func word(_ text: String) -> String {
        let isWord =
            (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x61...0x7A, 0x30...0x39, 0x5F, 0x2D: true
                default: false
                }
            }
        return isWord ? text : "other"
    }
}
