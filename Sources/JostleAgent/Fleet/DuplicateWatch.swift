internal import Documents
internal import JostleConfiguration

/// Notices another device with the same id: it reads back the report that the broker retains.
///
/// The report may also be one of this device from an earlier run: a broker that was killed restores old messages, and
/// another broker of the list may still have one. So only a report that is younger than the last one of this run is
/// another device's. If the clocks of two devices differ, at least the one that is behind notices.
struct DuplicateWatch: Equatable, Sendable {
    /// What a report says about its sender.
    enum Finding: Equatable {
        /// Another device uses the id.
        case found
        /// No other device has used it for long.
        case gone
    }

    let topic: String
    let run: String
    /// When this run made the report that the broker acknowledged last, and the one before its acknowledgement, epoch
    /// milliseconds.
    private var lastReport: Int64?
    private var sentReport: Int64?
    private var isSubscribed = true
    private var isFound = false
    /// Readings on this connection without a report of another device.
    private var readings = 0

    /// Two devices with the same id disconnect each other. The third reading is minutes after the connection began, so
    /// this one has not met another device since.
    private static let readingsUntilGone = 3

    init(topic: String, run: String) {
        self.topic = topic
        self.run = run
    }

    /// A report of this run was sent.
    mutating func sent(at wall: Int64) { sentReport = wall }

    /// The broker has acknowledged the report.
    mutating func reported() { lastReport = sentReport }

    /// Reading has ended, so the reports of this run need not be read back.
    ///
    /// - Returns: whether to unsubscribe, and what was found.
    mutating func readingEnded() -> (unsubscribes: Bool, finding: Finding?) {
        defer { isSubscribed = false }
        readings += 1
        guard isFound, readings >= DuplicateWatch.readingsUntilGone else { return (isSubscribed, nil) }
        isFound = false
        return (isSubscribed, .gone)
    }

    /// The connection is lost.
    ///
    /// - Returns: whether to subscribe for the next one.
    mutating func disconnected() -> Bool {
        defer { isSubscribed = true }
        readings = 0
        return !isSubscribed
    }

    /// Takes a report.
    ///
    /// - Returns: what it shows, if that is new.
    mutating func receive(_ payload: [UInt8]) -> Finding? {
        guard let lastReport, let tree = try? JSONReader.read(payload, source: .message(topic)),
            let other = tree["run"]?.text, other != run,
            let time = tree["t"]?.text.flatMap({ Int64($0) }), time > lastReport
        else { return nil }
        readings = 0
        guard !isFound else { return nil }
        isFound = true
        return .found
    }
}
