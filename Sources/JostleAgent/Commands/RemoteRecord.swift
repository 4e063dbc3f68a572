internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// `record`: samples into a recording file on the board, in its state directory and nowhere else.
struct RemoteRecord: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.record
    static let argumentNames = ["seconds", "stop"]

    /// How long a recording may be, s, and how large: ten minutes at 200 Hz are 9 MB.
    static let durations = 1.0...600.0
    static let largest = 16 << 20

    /// How long it is to be, s; `nil` to end it.
    let seconds: Double?

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        seconds = try arguments.duration(within: RemoteRecord.durations, default: 10)
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard let seconds else { return JSONObject(stopped: host.end(RemoteRecord.name)) }
        try host.requireIdle(RemoteRecord.name)
        try host.requireSamples()
        host.begin(try Recording(seconds: seconds, host, reply), of: RemoteRecord.name)
        return nil
    }
}

/// A recording under way. Its file is made on a thread of its own: the loop does not wait for the disk.
private final class Recording: CommandJob {
    /// What the loop and the recording's threads share.
    private final class Shared: Sendable {
        struct State {
            var recorder: SampleRecorder?
            var isEnding = false
        }

        let state = Mutex(State())
        let flag = EndFlag()
    }

    let needsSensor = true
    /// Its own threads see to everything.
    let deadline: Timestamp? = nil
    private let shared = Shared()
    private let thread: WorkerThread

    init(seconds: Double, _ host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) {
        let shared = self.shared
        let manager = host.manager
        let log = host.log
        let shelf = RecordingDirectory(stateDirectory: host.identity.stateDirectory)
        let thread = WorkerThread(name: "jostle-record") {
            do throws(RecordingError) {
                try Recording.begin(manager, shelf, seconds: seconds, reply, shared)
            } catch {
                let refusal = CommandRefusal(.resources, "\(error)")
                log.warning(refusal.line(for: RemoteRecord.name))
                reply.refuse(refusal)
                shared.flag.raise()
            }
        }
        guard let thread else { throw CommandRefusal(.resources, "the system has no thread left") }
        self.thread = thread
    }

    deinit {
        thread.join(within: 0)
    }

    var isOver: Bool { shared.flag.isRaised }
    func advance(to now: Timestamp) {}

    func end() {
        let recorder = shared.state.withLock { state in
            state.isEnding = true
            return state.recorder
        }
        recorder?.stop()
    }

    /// Makes the file, answers, and begins to write, unless the end was wanted meanwhile.
    private static func begin(
        _ manager: MotionManager, _ shelf: RecordingDirectory, seconds: Double, _ reply: CommandReply, _ shared: Shared
    ) throws(RecordingError) {
        let slot = try shelf.next(bytes: RemoteRecord.largest)
        let limits = SampleRecorder.Limits(seconds: seconds, bytes: RemoteRecord.largest)
        let recorder = try SampleRecorder(manager, path: slot.path, limits: limits) { outcome in
            if case .failed(let error) = outcome.end {
                reply.refuse(CommandRefusal(.failed, "\(error)"))
            } else {
                reply.send(Recording.answer(outcome, slot))
            }
            shared.flag.raise()
        }
        var answer = JSONObject()
        answer.add("file", slot.name)
        answer.add("seconds", seconds, decimals: 1)
        answer.add("done", false)
        reply.send(answer)
        let isEnding = shared.state.withLock { state in
            state.recorder = recorder
            return state.isEnding
        }
        if isEnding { recorder.stop() }
    }

    private static func answer(_ outcome: SampleRecorder.Outcome, _ slot: RecordingDirectory.Slot) -> JSONObject {
        var answer = JSONObject()
        answer.add("file", slot.name)
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
        case .silence: "sensor_lost"
        case .failed: "failed"
        }
    }
}

/// Raised by the thread of a job when that is over.
final class EndFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
