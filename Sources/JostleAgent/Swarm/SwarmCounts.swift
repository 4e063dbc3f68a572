internal import MotionCore

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
