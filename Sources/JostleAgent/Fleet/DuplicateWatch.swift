internal import JostleConfiguration

/// Notices another device with the same id: it reads back the report that the broker retains.
///
/// The first report that is read is usually this device's own, from its last run. Once this run has reported, a report of
/// another run is another device's.
struct DuplicateWatch: Equatable, Sendable {
    let topic: String
    let run: String
    /// Whether the broker has acknowledged a report of this run.
    private var hasReported = false
    private var isSubscribed = true
    private var isFound = false

    init(topic: String, run: String) {
        self.topic = topic
        self.run = run
    }

    mutating func reported() { hasReported = true }

    /// Reading has ended, so the reports of this run need not be read back.
    ///
    /// - Returns: whether to unsubscribe.
    mutating func readingEnded() -> Bool {
        defer { isSubscribed = false }
        return isSubscribed
    }

    /// The connection is lost.
    ///
    /// - Returns: whether to subscribe for the next one.
    mutating func disconnected() -> Bool {
        defer { isSubscribed = true }
        return !isSubscribed
    }

    /// Takes a report.
    ///
    /// - Returns: whether it shows another device, for the first time.
    mutating func receive(_ payload: [UInt8]) -> Bool {
        guard hasReported, !isFound, !payload.isEmpty else { return false }
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(payload, source: .message(topic))
            guard let other = tree["run"]?.text, other != run else { return false }
        } catch {
            return false
        }
        isFound = true
        return true
    }
}
