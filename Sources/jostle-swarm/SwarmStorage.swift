internal import Glibc
internal import JostleRuntime
internal import LinuxSystem
internal import StateStorage

/// Writes the state of a swarm's boards, with several writers: each board has one of them for all its files.
///
/// One write needs two fsync calls, which most disks carry out together with those of other threads.
final class SwarmStorage: Sendable {
    /// Writers. On a disk on which one thread wrote 1,000 files in 9.5 s, two needed 3.7 s, four 2.6 s, eight 1.4 s.
    private static let writerCount = 8

    /// The figures of all writers.
    struct Statistics: Sendable {
        /// The time of each attempt to write a file, and of each batch of an outbox, s.
        var times = DurationHistogram()
        /// Files that could not be written and are tried again.
        var faults = 0
    }

    /// Measures writes, and makes them slower if asked.
    private final class Meter: Sendable {
        private struct Shared {
            var times = DurationHistogram()
            var delay = 0.0
        }

        private let state = Locked(Shared())

        var times: DurationHistogram { state.withLock { $0.times } }

        func setDelay(_ seconds: Double) { state.withLock { $0.delay = seconds } }

        /// Counts a write, and waits for as long as the disk is to be slower. On a writer's thread only.
        func wrote(_ time: Duration) {
            let delay = state.withLock { shared in
                shared.times.add(time / .seconds(1))
                return shared.delay
            }
            if delay > 0 { usleep(UInt32(delay * 1e6)) }
        }
    }

    private let meter: Meter
    private let writers: [StateWriter]

    init() {
        let meter = Meter()
        self.meter = meter
        writers = (0..<SwarmStorage.writerCount).map { _ in StateWriter { meter.wrote($0) } }
    }

    /// The writer of the board with this number.
    func writer(of board: Int) -> StateWriter { writers[board % writers.count] }

    /// From now on, each write takes this much longer, s.
    func setDelay(_ seconds: Double) { meter.setDelay(seconds) }

    /// Measures a job that writes. On a writer's thread only.
    func measure<Result>(_ job: () -> Result) -> Result {
        let start = ContinuousClock.now
        let result = job()
        meter.wrote(start.duration(to: .now))
        return result
    }

    /// The figures so far.
    var statistics: Statistics {
        Statistics(times: meter.times, faults: writers.reduce(0) { $0 + $1.faults.count })
    }

    /// Makes one attempt at each pending request and ends the writers.
    ///
    /// - Returns: whether everything is on the disk.
    func finish(within seconds: Double) -> Bool {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        var isDone = true
        for writer in writers where !writer.finish(within: deadline.remaining(at: WallClock.monotonic)) {
            isDone = false
        }
        return isDone
    }
}
