internal import Glibc
internal import LinuxSensors
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// Writes a running manager's samples to a recording file, up to a maximum duration and size.
///
/// It writes on its own thread, so that a stalled disk delays no gesture.
package final class SampleRecorder: Sendable {
    /// The maximum duration and size of a recording.
    package struct Limits: Equatable, Sendable {
        /// From the first sample to the last, s.
        package var seconds: Double
        /// The file's size.
        package var bytes: Int

        package init(seconds: Double, bytes: Int) {
            self.seconds = seconds
            self.bytes = bytes
        }
    }

    /// Why a recording ended.
    package enum End: Equatable, Sendable {
        /// It reached the maximum duration.
        case time
        /// It reached the maximum size.
        case size
        /// The recorder was stopped.
        case stopped
        /// The time ran out because samples were missing.
        case noSamples
        case failed(RecordingError)
    }

    /// The result of a recording.
    package struct Outcome: Equatable, Sendable {
        package var end: End
        package var samples = 0
        package var bytes = 0
        /// From the first sample to the last.
        package var seconds = 0.0
        /// Samples that were lost because the disk did not keep up.
        package var lost = 0
    }

    /// The file, which only the recorder's thread uses once that runs.
    private final class File: Sendable {
        let writer = Mutex<RecordingWriter?>(nil)
    }

    /// Seconds beyond the maximum duration to wait for samples.
    private static let timeoutMargin = 5.0

    private let queue: SampleQueue
    private let thread: Mutex<WorkerThread?>

    /// Creates the file and starts to record. `onEnd` is called on the recorder's thread after the file is closed.
    ///
    /// - Throws: `RecordingError.system` if the file cannot be created, the manager is not running (ENODEV), or the system
    ///   has no thread or file descriptor left (EAGAIN).
    package init(
        _ manager: MotionManager, path: String, limits: Limits, onEnd: @escaping @Sendable (Outcome) -> Void
    ) throws(RecordingError) {
        guard let info = manager.sensorInfo else { throw .system(path: path, SystemFailure(code: ENODEV)) }
        guard let queue = SampleQueue(manager) else { throw .system(path: path, .noResources) }
        let file = File()
        let failure: RecordingError? = file.writer.withLock { writer in
            do throws(RecordingError) {
                writer = try RecordingWriter(
                    path: path, accelerometerRange: info.accelerometerRange, gyroscopeRange: info.gyroscopeRange,
                    hasTemperature: true, sensor: "\(info.name)")
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        let thread = WorkerThread(name: "jostle-record") {
            onEnd(file.writer.withLock { Self.run(&$0, queue, limits) })
        }
        guard let thread else { throw .system(path: path, .noResources) }
        self.queue = queue
        self.thread = Mutex(thread)
    }

    deinit {
        stop()
    }

    /// Ends the recording after the samples received so far, and waits until the file is closed, for a second at most.
    package func stop() {
        queue.close()
        thread.withLock { $0.take() }?.join(within: 1)
    }

    // MARK: On its thread

    private static func run(_ writer: inout RecordingWriter?, _ queue: SampleQueue, _ limits: Limits) -> Outcome {
        var outcome = Outcome(end: .stopped)
        let clock = SystemClock()
        let deadline = clock.now().advanced(bySeconds: limits.seconds + timeoutMargin)
        var first: Timestamp?
        do throws(RecordingError) {
            recording: while true {
                let left = deadline.seconds(since: clock.now())
                let batch = queue.next(within: left)
                outcome.lost = batch.lost
                for sample in batch.samples {
                    let start = first ?? sample.timestamp
                    first = start
                    let seconds = sample.timestamp.seconds(since: start)
                    outcome.end = seconds >= limits.seconds ? .time : .size
                    // A row is at most a hundred bytes long.
                    if seconds >= limits.seconds || writer?.bytes ?? 0 > limits.bytes - 100 { break recording }
                    try writer?.write(sample)
                    outcome.samples += 1
                    outcome.seconds = seconds
                }
                outcome.end = batch.isClosed ? .stopped : .noSamples
                if batch.isClosed || left <= 0 { break }
            }
            try writer?.flush()
        } catch {
            outcome.end = .failed(error)
        }
        outcome.bytes = writer?.bytes ?? 0
        writer = nil
        return outcome
    }
}
