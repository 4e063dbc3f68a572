internal import LinuxSensors
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// Writes a running manager's samples into a recording file, for a bounded time and up to a bounded size.
///
/// It writes on a thread of its own: a disk that stalls delays no gesture.
package final class SampleRecorder: Sendable {
    /// What a recording may come to.
    package struct Limits: Equatable, Sendable {
        /// From the first sample to the last, s.
        package var seconds: Double
        /// The file's size.
        package var bytes: Int

        /// Makes limits.
        package init(seconds: Double, bytes: Int) {
            self.seconds = seconds
            self.bytes = bytes
        }
    }

    /// Why a recording ended.
    package enum End: Equatable, Sendable {
        /// It is as long, or as large, as it was to be.
        case time
        case size
        /// Somebody stopped it, or the manager.
        case stopped
        /// No samples came for so long that the time was over nonetheless.
        case silence
        case failed(RecordingError)
    }

    /// What a recording came to.
    package struct Outcome: Equatable, Sendable {
        package var end: End
        package var samples = 0
        package var bytes = 0
        /// From the first sample to the last.
        package var seconds = 0.0
        /// Samples that are missing because the disk did not keep up.
        package var lost = 0
    }

    private struct State {
        var waiting: [MotionSample] = []
        var lost = 0
        var shouldStop = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
        /// The recorder's thread's alone, once that runs.
        let writer = Mutex<RecordingWriter?>(nil)
        let wake: WakeSignal

        init(_ wake: WakeSignal) {
            self.wake = wake
        }
    }

    /// Samples that may wait for the disk: 20 s at 200 Hz.
    private static let mostWaiting = 4096

    /// Seconds without samples that a recording's end is waited for.
    private static let patience = 5.0

    private let shared: Shared
    private let token: HandlerToken
    private let thread: Mutex<WorkerThread?>

    /// Makes the file and begins; `onEnd` is called on the recorder's thread when it is closed.
    ///
    /// - Throws: `RecordingError.system` where the file cannot be made, the manager does not run (ENODEV), or the system has
    ///   no thread or descriptor left (EAGAIN).
    package init(
        _ manager: MotionManager, path: String, limits: Limits, onEnd: @escaping @Sendable (Outcome) -> Void
    ) throws(RecordingError) {
        guard let info = manager.sensorInfo else { throw .system(path: path, .noDevice) }
        guard let wake = WakeSignal() else { throw .system(path: path, .noResources) }
        let shared = Shared(wake)
        let failure: RecordingError? = shared.writer.withLock { writer in
            do throws(RecordingError) {
                writer = try RecordingWriter(
                    path: path, accelerometerRange: info.accelerometerRange, gyroscopeRange: info.gyroscopeRange,
                    hasTemperature: true)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        let thread = WorkerThread(name: "jostle-record") {
            onEnd(shared.writer.withLock { Self.run(&$0, shared, limits) })
        }
        guard let thread else { throw .system(path: path, .noResources) }
        self.shared = shared
        self.thread = Mutex(thread)
        token = manager.addSampleHandler { samples in
            shared.state.withLock { state in
                if state.waiting.count + samples.count <= Self.mostWaiting {
                    state.waiting += samples
                } else {
                    state.lost += samples.count
                }
            }
            wake.signal()
        }
    }

    deinit {
        stop()
    }

    /// Ends the recording with what has come; it is closed when this returns, unless the disk stalls.
    package func stop() {
        token.remove()
        shared.state.withLock { $0.shouldStop = true }
        shared.wake.signal()
        thread.withLock { $0.take() }?.join(within: 1)
    }

    // MARK: On its thread

    private static func run(_ writer: inout RecordingWriter?, _ shared: Shared, _ limits: Limits) -> Outcome {
        var outcome = Outcome(end: .stopped)
        let clock = SystemClock()
        let deadline = clock.now().advanced(bySeconds: limits.seconds + patience)
        var first: Timestamp?
        do throws(RecordingError) {
            recording: while true {
                let (samples, lost, shouldStop) = shared.state.withLock { state in
                    defer { state.waiting = [] }
                    return (state.waiting, state.lost, state.shouldStop)
                }
                outcome.lost = lost
                for sample in samples {
                    let start = first ?? sample.timestamp
                    first = start
                    let seconds = sample.timestamp.seconds(since: start)
                    outcome.end = seconds >= limits.seconds ? .time : .size
                    // A row has a hundred bytes at most.
                    if seconds >= limits.seconds || writer?.bytes ?? 0 > limits.bytes - 100 { break recording }
                    try writer?.write(sample)
                    outcome.samples += 1
                    outcome.seconds = seconds
                }
                outcome.end = .stopped
                if shouldStop { break }
                let left = deadline.seconds(since: clock.now())
                outcome.end = .silence
                if left <= 0 { break }
                shared.wake.wait(seconds: left)
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
