internal import JostleConfiguration
internal import JostleMessages
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

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject {
        guard let seconds else { return JSONObject(stopped: host.end(RemoteRecord.name)) }
        try host.requireIdle(RemoteRecord.name)
        try host.requireSamples()
        let shelf = RecordingShelf(stateDirectory: host.identity.stateDirectory)
        do throws(RecordingError) {
            let slot = try shelf.next(bytes: RemoteRecord.largest)
            host.begin(try Recording(slot, seconds: seconds, host, reply), of: RemoteRecord.name)
            var answer = JSONObject()
            answer.add("file", slot.name)
            answer.add("seconds", seconds, decimals: 1)
            answer.add("done", false)
            return answer
        } catch {
            throw CommandRefusal(.resources, "\(error)")
        }
    }
}

/// A recording under way.
private final class Recording: CommandJob {
    let needsSensor = true
    /// Its own thread sees to everything.
    let deadline: Timestamp? = nil
    private let flag: EndFlag
    private let recorder: SampleRecorder

    init(
        _ slot: RecordingShelf.Slot, seconds: Double, _ host: CommandHost, _ reply: CommandReply
    ) throws(RecordingError) {
        let flag = EndFlag()
        let limits = SampleRecorder.Limits(seconds: seconds, bytes: RemoteRecord.largest)
        recorder = try SampleRecorder(host.manager, path: slot.path, limits: limits) { outcome in
            if case .failed(let error) = outcome.end {
                reply.refuse(CommandRefusal(.failed, "\(error)"))
            } else {
                reply.send(Recording.answer(outcome, slot))
            }
            flag.raise()
        }
        self.flag = flag
    }

    var isOver: Bool { flag.isRaised }
    func advance(to now: Timestamp) {}
    func end() { recorder.stop() }

    private static func answer(_ outcome: SampleRecorder.Outcome, _ slot: RecordingShelf.Slot) -> JSONObject {
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
