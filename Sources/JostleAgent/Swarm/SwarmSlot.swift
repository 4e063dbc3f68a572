internal import MotionCore
internal import StateStorage

/// The place of one board in its worker, through all of the board's runs.
struct SwarmSlot {
    enum State {
        /// Stopped until it is started by an order.
        case stopped
        /// It starts at this time, as soon as the last run's writes are done.
        case waiting(until: Timestamp)
        case running(SwarmBoard)
        /// It leaves cleanly; then it stops, or starts again.
        case leaving(SwarmBoard, startsAgain: Bool)
        /// Its state directory is being deleted; then it stops, or starts again.
        case losingStore(startsAgain: Bool)
    }

    /// Seconds between looks at the writes of the last run, and the pause before a clean start.
    static let pause = 0.02
    /// The longest that a board waits for these, s.
    private static let longestWrite = 5.0

    let place: SwarmPlace
    var state: State
    /// The number of runs so far, so that results for an earlier run are recognised.
    var run = 0
    var isSensorDead = false
    /// When a board that waits for the writes of its last run starts at the latest.
    var latestStart: Timestamp?
    /// Whether the state directory is deleted before the next start.
    var losesStore = false

    /// The board, if there is one.
    var board: SwarmBoard? {
        switch state {
        case .running(let board), .leaving(let board, _): board
        case .stopped, .waiting, .losingStore: nil
        }
    }

    /// Whether files of the last run are still to be written. The next run does not read before, unless the disk cannot
    /// be written: then it starts without them, as a process does.
    mutating func mustAwaitWrites(in writer: StateWriter, at now: Timestamp) -> Bool {
        let directory = StateDirectory(path: place.directory)
        let latest = latestStart ?? now.advanced(bySeconds: SwarmSlot.longestWrite)
        let isPending = StateFile.allCases.contains { writer.pending(directory.path(of: $0.rawValue)) != nil }
        latestStart = isPending && now < latest ? latest : nil
        return latestStart != nil
    }
}
