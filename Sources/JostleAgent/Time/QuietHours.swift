internal import JostleConfiguration
internal import MotionCore

/// Decides which gestures are silenced at a time of day. It has no clock and no thread; the agent calls it every
/// minute.
struct QuietHours {
    /// The quiet hours of each gesture.
    var spans: [Gesture: [DailySpan]]

    /// The gestures that are silenced now.
    private(set) var silenced: GestureSet = []

    init(_ spans: [Gesture: [DailySpan]]) {
        self.spans = spans
    }

    /// Whether there are no quiet hours and no gesture is still silenced.
    var isEmpty: Bool { spans.isEmpty && silenced.isEmpty }

    /// Updates the silenced gestures; returns them if they changed, else `nil`.
    ///
    /// If the clock was never set, nothing is silenced: an unwanted gesture is noticed, but one that is missing without
    /// visible reason is hard to explain.
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
