internal import JostleConfiguration
internal import MotionCore

/// Decides which gestures are silenced at a time of day. A rule without clock and thread: the agent asks it again and again.
struct QuietHours {
    /// The times of each gesture.
    var spans: [Gesture: [DailySpan]]

    /// The gestures that are silenced now.
    private(set) var silenced: GestureSet = []

    init(_ spans: [Gesture: [DailySpan]]) {
        self.spans = spans
    }

    /// Whether there are none, and nothing is silenced by those that were.
    var isEmpty: Bool { spans.isEmpty && silenced.isEmpty }

    /// Looks at the clock; returns what is silenced where that changed, else `nil`.
    ///
    /// Without a time, since the clock was never set, nothing is silenced: a gesture too many is noticed, one that is
    /// missing for a reason that nobody sees is not.
    mutating func change(atMinute minute: Int?) -> GestureSet? {
        var now: GestureSet = []
        if let minute {
            for (gesture, spans) in spans where spans.contains(where: { $0.contains(minute: minute) }) {
                now.insert(GestureSet(gesture))
            }
        }
        guard now != silenced else { return nil }
        silenced = now
        return now
    }
}
