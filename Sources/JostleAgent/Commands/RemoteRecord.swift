internal import Documents
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionKit
internal import Synchronization

/// `record`: records samples to a file in the board's state directory.
struct RemoteRecord: RemoteCommand, Equatable {
    /// The allowed durations, s, and the maximum file size, bytes. Ten minutes at 200 Hz are 9 MB.
    static let durations = 1.0...600.0
    static let maximumBytes = 16 << 20

    /// The length of the recording, s; `nil` to stop one.
    let seconds: Double?

    init(_ arguments: CommandArguments) throws {
        seconds = try arguments.duration(within: RemoteRecord.durations, default: 10)
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard let seconds else { return host.stop(.record) }
        try host.requireIdle(.record)
        try host.requireSamples()
        host.begin(try Recording(seconds: seconds, host, reply), of: .record)
        return nil
    }
}

/// A recording in progress. A thread of its own creates the file, so that the loop does not wait for the disk.
private final class Recording: CommandJob {
    /// State shared by the loop and the recording's threads.
    private final class Shared: Sendable {
        struct State {
            var recorder: SampleRecorder?
            var isEnding = false
        }

        let state = Mutex(State())
        let flag = EndFlag()
    }

    let needsSensor = true
    private let shared = Shared()
    private let thread: WorkerThread

    init(seconds: Double, _ host: CommandHost, _ reply: CommandReply) throws {
        let shared = self.shared
        let manager = host.manager
        let log = host.log
        let (recordings, limits) = (host.recorder.recordings, host.recorder.limits)
        let thread = WorkerThread(name: "jostle-record") {
            do {
                try Recording.begin(manager, recordings, limits, seconds: seconds, reply, shared)
            } catch {
                let refusal = CommandRefusal(.resources, "\(error)")
                log.warning(refusal.line(for: JostleSettings.Command.record.rawValue))
                reply.refuse(refusal)
                shared.flag.raise()
            }
        }
        guard let thread else { throw CommandRefusal(.resources, "the system cannot create another thread") }
        self.thread = thread
    }

    deinit {
        thread.join(within: 0)
    }

    var isOver: Bool { shared.flag.isRaised }

    func end() {
        let recorder = shared.state.withLock { state in
            state.isEnding = true
            return state.recorder
        }
        recorder?.stop()
    }

    /// Creates the file, sends the first reply and starts to record. Stops at once if `end` was called meanwhile.
    private static func begin(
        _ manager: MotionManager, _ recordings: RecordingDirectory, _ bounds: RecordingDirectory.Limits,
        seconds: Double, _ reply: CommandReply, _ shared: Shared
    ) throws {
        let limits = SampleRecorder.Limits(seconds: seconds, bytes: min(RemoteRecord.maximumBytes, bounds.bytes))
        let rows = seconds * (manager.sensorInfo?.nominalRate ?? 0) * RecentSamples.rateTolerance
        let file = try recordings.next(
            bytes: min(limits.bytes, Int(rows) * RecentSamples.largestRow), within: bounds)
        let recorder: SampleRecorder
        do {
            recorder = try record(manager, recordings, file, limits, reply, shared)
        } catch {
            recordings.close(file)
            throw error
        }
        var answer = JSONObject()
        answer.add("file", file.name)
        answer.add("seconds", seconds, decimals: 1)
        answer.add("done", false)
        reply.send(answer)
        let isEnding = shared.state.withLock { state in
            state.recorder = recorder
            return state.isEnding
        }
        if isEnding { recorder.stop() }
    }

    /// Starts to record; the last reply comes at the end.
    private static func record(
        _ manager: MotionManager, _ recordings: RecordingDirectory, _ file: RecordingDirectory.NewFile,
        _ limits: SampleRecorder.Limits, _ reply: CommandReply, _ shared: Shared
    ) throws -> SampleRecorder {
        try SampleRecorder(manager, path: file.path, limits: limits) { outcome in
            recordings.close(file)
            if case .failed(let error) = outcome.end {
                reply.refuse(CommandRefusal(.failed, "\(error)"))
            } else {
                reply.send(Recording.answer(outcome, file))
            }
            shared.flag.raise()
        }
    }

    private static func answer(_ outcome: SampleRecorder.Outcome, _ file: RecordingDirectory.NewFile) -> JSONObject {
        var answer = JSONObject()
        answer.add("file", file.name)
        answer.add("seconds", outcome.seconds, decimals: 3)
        answer.add("samples", Int64(outcome.samples))
        answer.add("bytes", Int64(outcome.bytes))
        answer.add("lost_samples", Int64(outcome.lost))
        answer.add("end", outcome.end.word)
        answer.add("done", true)
        return answer
    }
}

extension SampleRecorder.End {
    fileprivate var word: String {
        switch self {
        case .time: "time"
        case .size: "size"
        case .stopped: "stopped"
        case .noSamples: "sensor_lost"
        case .failed: "failed"
        }
    }
}

/// Set by a job's thread when the job has ended.
final class EndFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
