internal import Documents
internal import Glibc
internal import JostleAgent
internal import MosquittoClient
internal import MotionCore

/// The figures of a swarm at one moment.
struct SwarmStatistics: Sendable {
    /// Boards, and of these the ones that an order has stopped.
    let boards: Int
    let stopped: Int
    /// Seconds since the start, and from the start until all boards were online for the first time.
    let uptime: Double
    let onlineAfter: Double?
    /// The boards in each group, in the order of the option; none without groups.
    let groups: [(name: String, boards: Int)]
    let counts: SwarmCounts
    let writes: SwarmStorage.Statistics
    /// This process: bytes, s.
    let residentMemory: Int
    let processorTime: Double
    /// Milliseconds since 1970.
    let time: Int64

    var online: Int { counts.online }
    var reported: Int { counts.reported }
    var deaths: Int { counts.deaths }
    var sent: Int { counts.sent }
    var received: Int { counts.received }

    /// The figures as JSON; with `details` also the times of reconnections and writes, and the groups.
    func json(details: Bool) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("uptime", uptime, decimals: 2)
        object.add("boards", Int64(boards))
        object.add("stopped", Int64(stopped))
        object.add("running", Int64(counts.running))
        object.add("online", Int64(counts.online))
        object.add("reported", Int64(counts.reported))
        object.add("online_after", onlineAfter, decimals: 3)
        object.add("starts", Int64(counts.starts))
        object.add("deaths", Int64(counts.deaths))
        object.add("lost_stores", Int64(counts.lostStores))
        object.add("connects", Int64(counts.connects))
        object.add("reconnects", Int64(counts.reconnections.count))
        object.add("connection_losses", Int64(counts.losses))
        object.add("connection_failures", Int64(counts.failures))
        object.add("last_failure", counts.lastFailure)
        object.add("sent", Int64(counts.sent))
        object.add("received", Int64(counts.received))
        object.add("bytes_sent", Int64(counts.bytesSent))
        object.add("bytes_received", Int64(counts.bytesReceived))
        object.add("reports", Int64(counts.reports))
        object.add("shakes", Int64(counts.shakes))
        object.add("commands", Int64(counts.commands))
        object.add("writes", Int64(writes.times.count))
        object.add("write_seconds", writes.times.sum, decimals: 3)
        object.add("write_median_seconds", writes.times.quantile(0.5), decimals: 5)
        object.add("storage_faults", Int64(writes.faults))
        object.add("memory_mb", Double(residentMemory) / 1_048_576, decimals: 1)
        object.add("cpu_seconds", processorTime, decimals: 2)
        guard details else { return object }
        object.add("reconnect_seconds", counts.reconnections.json)
        object.add("write_times", writes.times.json)
        var members = JSONObject()
        for group in groups { members.add(group.name, Int64(group.boards)) }
        if !groups.isEmpty { object.add("groups", members) }
        return object
    }
}

/// What one worker counts about its boards.
struct SwarmCounts: Equatable, Sendable {
    /// Boards that are connected, and of these the ones whose report the broker has acknowledged.
    var online = 0
    var reported = 0
    /// Boards that have been started and not stopped since, whether connected or not.
    var running = 0

    var starts = 0
    var deaths = 0
    var connects = 0
    /// Connections that were lost by themselves, and attempts that failed.
    var losses = 0
    var failures = 0
    /// Why the last connection ended by itself or could not be made.
    var lastFailure: String?
    /// From the loss of a connection to the next one, s.
    var reconnections = DurationHistogram()

    /// Messages given to the client and received from it, with the bytes of their topics and payloads.
    var sent = 0
    var received = 0
    var bytesSent = 0
    var bytesReceived = 0
    var reports = 0
    /// Shakes put into the outboxes, and commands that arrived.
    var shakes = 0
    var commands = 0
    /// State directories that were deleted.
    var lostStores = 0

    /// Adds another worker's counts.
    mutating func add(_ other: SwarmCounts) {
        online += other.online
        reported += other.reported
        running += other.running
        starts += other.starts
        deaths += other.deaths
        connects += other.connects
        losses += other.losses
        failures += other.failures
        lastFailure = other.lastFailure ?? lastFailure
        reconnections.add(other.reconnections)
        sent += other.sent
        received += other.received
        bytesSent += other.bytesSent
        bytesReceived += other.bytesReceived
        reports += other.reports
        shakes += other.shakes
        commands += other.commands
        lostStores += other.lostStores
    }
}

/// The counts of a worker, shared by its boards. Used on the worker's thread only.
final class SwarmTally {
    var counts = SwarmCounts()
    /// Limits the lines about errors, which may concern all boards at the same time.
    var errors = TokenBucket.lines
}

/// Whether a board is online and has reported, as it counts.
struct SwarmPresence {
    private var isOnline = false
    private var hasReported = false
    private var lostAt: Timestamp?

    /// Counts an event of a client.
    mutating func count(_ event: MQTTEvent, in tally: SwarmTally, at now: Timestamp) {
        switch event {
        case .connected:
            tally.counts.connects += 1
            if let lostAt { tally.counts.reconnections.add(now.seconds(since: lostAt)) }
            lostAt = nil
            isOnline = true
            tally.counts.online += 1
        case .message(let message):
            tally.counts.received += 1
            tally.counts.bytesReceived += message.topic.utf8.count + message.payload.count
        case .acknowledged(DeviceCore.report):
            if isOnline, !hasReported {
                hasReported = true
                tally.counts.reported += 1
            }
        case .disconnected(let end):
            if end.retryAfter != nil {
                tally.counts.failures += end.wasConnected ? 0 : 1
                tally.counts.losses += end.wasConnected ? 1 : 0
                tally.counts.lastFailure = "\(end.failure)"
            }
            if end.wasConnected { lostAt = now }
            goOffline(in: tally)
        case .stopped: goOffline(in: tally)
        case .connecting, .subscribed, .subscriptionRefused, .subscriptionLeftOut, .subscriptionRestored, .acknowledged,
            .rejected:
            break
        }
    }

    mutating func goOffline(in tally: SwarmTally) {
        if isOnline { tally.counts.online -= 1 }
        if hasReported { tally.counts.reported -= 1 }
        isOnline = false
        hasReported = false
    }
}

/// Counts durations in classes, each a quarter of an octave wide, from 10 µs to 20 minutes.
struct DurationHistogram: Equatable, Sendable {
    private static let shortest = 1e-5
    private static let classesPerOctave = 4.0
    private static let classes = 108

    private var counts: [Int] = []
    private(set) var count = 0
    /// The sum of all durations, s.
    private(set) var sum = 0.0
    /// The longest duration, s.
    private(set) var longest = 0.0

    init() {}

    /// Adds a duration, s.
    mutating func add(_ seconds: Double) {
        if counts.isEmpty { counts = Array(repeating: 0, count: DurationHistogram.classes) }
        counts[DurationHistogram.index(of: seconds)] += 1
        count += 1
        sum += seconds
        longest = max(longest, seconds)
    }

    /// Adds the durations of another histogram.
    mutating func add(_ other: DurationHistogram) {
        guard other.count > 0 else { return }
        if counts.isEmpty { counts = Array(repeating: 0, count: DurationHistogram.classes) }
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        sum += other.sum
        longest = max(longest, other.longest)
    }

    /// The duration (s) that this fraction of all does not exceed, at most 19 % too long; `nil` if there are none.
    func quantile(_ fraction: Double) -> Double? {
        guard count > 0 else { return nil }
        let wanted = max(1, Int((fraction * Double(count)).rounded(.up)))
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return min(DurationHistogram.upperBound(of: index), longest) }
        }
        return longest
    }

    /// The numbers of durations: count, quantiles and longest, and each class that is not empty by its upper bound.
    var json: JSONObject {
        var object = JSONObject()
        object.add("count", Int64(count))
        object.add("p50", quantile(0.5), decimals: 5)
        object.add("p95", quantile(0.95), decimals: 5)
        object.add("longest", count > 0 ? longest : nil, decimals: 5)
        let filled = counts.enumerated().filter { $0.element > 0 }
        object.add("up_to", filled.map { DurationHistogram.upperBound(of: $0.offset) }, decimals: 5)
        object.add("counts", filled.map { Double($0.element) }, decimals: 0)
        return object
    }

    private static func index(of seconds: Double) -> Int {
        guard seconds > shortest else { return 0 }
        return min(classes - 1, Int((log2(seconds / shortest) * classesPerOctave).rounded(.up)))
    }

    private static func upperBound(of index: Int) -> Double { shortest * exp2(Double(index) / classesPerOctave) }
}
