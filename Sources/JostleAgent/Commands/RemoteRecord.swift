internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
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
        let recordings = RecordingDirectory(stateDirectory: host.identity.stateDirectory)
        let thread = WorkerThread(name: "jostle-record") {
            do {
                try Recording.begin(manager, recordings, seconds: seconds, reply, shared)
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
        _ manager: MotionManager, _ recordings: RecordingDirectory, seconds: Double, _ reply: CommandReply,
        _ shared: Shared
    ) throws {
        let file = try recordings.next(bytes: RemoteRecord.maximumBytes)
        let limits = SampleRecorder.Limits(seconds: seconds, bytes: RemoteRecord.maximumBytes)
        let recorder = try SampleRecorder(manager, path: file.path, limits: limits) { outcome in
            if case .failed(let error) = outcome.end {
                reply.refuse(CommandRefusal(.failed, "\(error)"))
            } else {
                reply.send(Recording.answer(outcome, file))
            }
            shared.flag.raise()
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
