internal import MotionCore

/// Watches a device after a change of its configuration, and says when the change has to be undone.
///
/// It measures only time during which the connection is up, or was lost because of this device: a broker that is away
/// for everybody proves nothing.
struct Probation: Equatable, Sendable {
    /// The result of a check.
    enum Verdict: Equatable, Sendable {
        case undecided
        case passed
        /// The change has to be undone, for this reason.
        case failed(String)
    }

    /// Seconds between two checks.
    static let interval = 2.0
    /// Seconds without a sample after which the sensor counts as silent, and the checks that this takes. Checks are
    /// counted because a process that was suspended has seen no sample for long.
    static let longestSilence = 10.0
    static let maximumSilentChecks = 5
    /// A check that is later than this counts, s; and how many of them in a row are too many.
    static let tolerance = 1.0
    static let maximumMisses = 3

    /// Seconds that have to pass.
    private let duration: Double
    /// Whether the sensor delivered before the change.
    private let hadSamples: Bool
    private let touchesNetwork: Bool
    private(set) var nextCheck: Timestamp
    private var lastCheck: Timestamp
    private var isConnected: Bool
    /// Whether the connection was lost because of this device.
    private var isOwnFault = false
    private var timeConnected = 0.0
    private var timeCutOff = 0.0
    /// Checks in a row that were late.
    private var misses = 0
    /// Checks in a row before which no sample arrived, and when the last one was.
    private var silentChecks = 0
    private var lastSample: Timestamp?

    init(duration: Double, hadSamples: Bool, touchesNetwork: Bool, isConnected: Bool, at now: Timestamp) {
        self.duration = duration
        self.hadSamples = hadSamples
        self.touchesNetwork = touchesNetwork
        self.isConnected = isConnected
        lastCheck = now
        nextCheck = now.advanced(bySeconds: Probation.interval)
    }

    mutating func connected(at now: Timestamp) {
        count(until: now)
        isConnected = true
        isOwnFault = false
        timeCutOff = 0
    }

    mutating func disconnected(isOwnFault: Bool, at now: Timestamp) {
        count(until: now)
        isConnected = false
        self.isOwnFault = isOwnFault
    }

    /// Counts at most the time between two checks: while the process or the machine was suspended, nothing was proved.
    private mutating func count(until now: Timestamp) {
        let seconds = min(max(0, now.seconds(since: lastCheck)), Probation.interval + Probation.tolerance)
        lastCheck = now
        if isConnected { timeConnected += seconds } else if isOwnFault { timeCutOff += seconds }
    }

    /// Judges the device; `lastSample` is `nil` if there was none.
    mutating func check(
        lastSample: Timestamp?, isSensingStopped: Bool, at now: Timestamp
    ) -> Verdict {
        guard now >= nextCheck else { return .undecided }
        count(until: now)
        misses = now.seconds(since: nextCheck) > Probation.tolerance ? misses + 1 : 0
        nextCheck = now.advanced(bySeconds: Probation.interval)
        silentChecks = lastSample == self.lastSample && !isSensingStopped ? silentChecks + 1 : 0
        self.lastSample = lastSample
        if hadSamples, silentChecks >= Probation.maximumSilentChecks {
            return .failed("the sensor delivers no samples any more")
        }
        if misses >= Probation.maximumMisses { return .failed("the agent cannot keep up") }
        if touchesNetwork, timeCutOff >= duration { return .failed("there was no connection since") }
        // A sensor that is silent at the end of the time has not shown that it works.
        return timeConnected >= duration && !(hadSamples && silentChecks > 0) ? .passed : .undecided
    }
}
