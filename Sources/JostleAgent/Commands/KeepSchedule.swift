internal import JostleConfiguration
internal import MotionCore

/// Decides what is kept of the last seconds as a recording, and when it is written: for gestures, and for the command
/// `keep`.
struct KeepSchedule {
    /// A recording that is to be written.
    struct Kept: Equatable, Sendable {
        let name: String
        let start: Timestamp
        let end: Timestamp
        var label: String?
        /// Whether a gesture asked for it.
        let isAutomatic: Bool

        /// When all samples have been read from the chip.
        var due: Timestamp { end.advanced(bySeconds: KeepSchedule.delay) }
    }

    /// Seconds from the end of a recording until its samples have been read from the chip: a batch is one second at most.
    static let delay = 1.5

    /// The most recordings of the command `keep` that wait for their end.
    static let mostWaiting = 4

    /// Seconds before and after a gesture, if the memory has them.
    static let usualBefore = 10.0
    static let usualAfter = 5.0

    /// Seconds in memory.
    let seconds: Double
    private let gestures: [GestureKind]
    private(set) var waiting: [Kept] = []
    /// Limits how fast gestures fill the disk.
    private var budget = TokenBucket(capacity: 10, rate: 1.0 / 60)

    init(_ settings: JostleSettings.Recorder) {
        seconds = settings.seconds
        gestures = settings.gestures
    }

    /// The usual seconds after an instant.
    var after: Double { min(KeepSchedule.usualAfter, seconds / 3) }

    /// The usual seconds before it.
    func before(after: Double) -> Double { min(KeepSchedule.usualBefore, max(0, seconds - after)) }

    /// When `takeDue` has something.
    var nextDeadline: Timestamp? { waiting.map(\.due).min() }

    /// The name of the recording in which an event will be; `nil` if it is not kept. A gesture with a duration is kept once,
    /// at its beginning. One within a recording that is not complete does not need another one.
    mutating func keep(on event: GestureEvent, at now: Timestamp, newName: (String) -> String) -> String? {
        guard seconds > 0, gestures.contains(event.kind), !event.isSimulated,
            event.phase == .began || event.phase == .recognized
        else { return nil }
        let time = event.timestamp
        if let known = waiting.first(where: { $0.isAutomatic && $0.start <= time && time <= $0.end }) {
            return known.name
        }
        guard budget.spend(at: now) else { return nil }
        let kept = Kept(
            name: newName(event.kind.word), start: time.advanced(bySeconds: -before(after: after)),
            end: time.advanced(bySeconds: after), isAutomatic: true)
        waiting.append(kept)
        return kept.name
    }

    /// Keeps what a command asks for; without a duration, the usual one.
    ///
    /// - Throws: `CommandRefusal`.
    mutating func keep(
        before: Double?, after: Double?, label: String?, at now: Timestamp, newName: (String) -> String
    ) throws -> Kept {
        guard seconds > 0 else {
            throw CommandRefusal(.unavailable, "the last samples are not in memory: recorder.seconds is 0")
        }
        let after = after ?? min(self.after, max(0, seconds - (before ?? 0)))
        let before = before ?? self.before(after: after)
        guard before + after > 0 else { throw CommandRefusal(.badArguments, "before and after must not both be 0") }
        guard before + after <= seconds else {
            throw CommandRefusal(
                .badArguments,
                "before and after must be \(seconds) s together (recorder.seconds) at most, not \(before + after)")
        }
        guard waiting.count(where: { !$0.isAutomatic }) < KeepSchedule.mostWaiting else {
            throw CommandRefusal(.busy, "\(KeepSchedule.mostWaiting) recordings wait for their end")
        }
        let kept = Kept(
            name: newName("keep"), start: now.advanced(bySeconds: -before), end: now.advanced(bySeconds: after),
            label: label, isAutomatic: false)
        waiting.append(kept)
        return kept
    }

    /// Labels a recording that is not written yet; returns whether there is one with this name.
    mutating func setLabel(_ label: String?, of name: String) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.name == name }) else { return false }
        waiting[index].label = label
        return true
    }

    /// Removes and returns what is to be written now; everything if `now` is `nil`, because no more samples come.
    mutating func takeDue(at now: Timestamp?) -> [Kept] {
        let due = waiting.filter { kept in now.map { kept.due <= $0 } ?? true }
        waiting.removeAll { kept in due.contains { $0.name == kept.name } }
        return due
    }
}
