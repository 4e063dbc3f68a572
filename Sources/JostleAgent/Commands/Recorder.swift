internal import Documents
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit
internal import StateStorage
internal import Synchronization

/// Turns the last seconds of samples into recordings, and works on the recordings in the state directory.
///
/// Used on the loop's thread only. All work on the disk is done in order by a thread of its own, so that neither the loop nor
/// the outbox waits for it.
final class Recorder {
    /// The most jobs that wait for the disk.
    private static let mostJobs = 16

    let recordings: RecordingDirectory
    let limits: RecordingDirectory.Limits

    private let manager: MotionManager
    private let log: Log
    private var schedule: KeepSchedule
    /// The replies to the commands that wait for a recording.
    private var replies: [String: CommandReply] = [:]
    /// Its thread begins with the first job.
    private let disk = StateWriter()
    private let jobs = JobCount()

    init(_ settings: JostleSettings.Recorder, manager: MotionManager, stateDirectory: String, log: Log) {
        recordings = RecordingDirectory(stateDirectory: stateDirectory)
        limits = RecordingDirectory.Limits(files: settings.maximumFiles, bytes: settings.maximumBytes)
        schedule = KeepSchedule(settings)
        self.manager = manager
        self.log = log
    }

    /// Has the manager keep the last seconds from its next start on, and reads the directory. Call it before the loop runs.
    func prepare() {
        manager.memorySeconds = schedule.seconds
        recordings.prepare()
    }

    // MARK: Keeping

    /// The name of the recording in which an event will be; `nil` if it is not kept.
    func keep(on event: GestureEvent) -> String? {
        schedule.keep(on: event, at: WallClock.monotonic) { recordings.newName(for: $0) }
    }

    /// Keeps the last seconds with a label; returns the name of the recording, `nil` if nothing is kept.
    func keep(last seconds: Double, label: String) -> String? {
        try? schedule.keep(before: seconds, after: 0, label: label, at: WallClock.monotonic) {
            recordings.newName(for: $0)
        }.name
    }

    /// Keeps what a command asks for, and replies when it is written.
    func keep(before: Double?, after: Double?, label: String?, _ reply: CommandReply) throws -> KeepSchedule.Kept {
        let kept = try schedule.keep(before: before, after: after, label: label, at: WallClock.monotonic) {
            recordings.newName(for: $0)
        }
        replies[kept.name] = reply
        return kept
    }

    /// When a recording is complete.
    var nextDeadline: Timestamp? { schedule.nextDeadline }

    /// Has the recordings written that are complete.
    func advance(to now: Timestamp) {
        for kept in schedule.takeDue(at: now) { write(kept) }
    }

    /// Has everything written that there is, because the sensor stops.
    func flush() {
        for kept in schedule.takeDue(at: nil) { write(kept) }
    }

    /// The same at the end of the program; waits for the disk for at most `seconds`.
    func finish(within seconds: Double) {
        flush()
        disk.finish(within: seconds)
    }

    private func write(_ kept: KeepSchedule.Kept) {
        let reply = replies.removeValue(forKey: kept.name)
        // Copied now: the memory goes on, however long the disk takes.
        let samples = manager.recentSamples(from: kept.start, to: kept.end)
        let (limits, log) = (limits, log)
        do {
            guard let samples, !samples.samples.isEmpty else {
                throw CommandRefusal(.sensorUnavailable, "there are no samples of that time in memory")
            }
            try onDisk { recordings in
                do {
                    let bytes = try recordings.write(samples, to: kept.name, label: kept.label, within: limits)
                    var answer = JSONObject()
                    answer.add("recording", kept.name)
                    answer.add("seconds", samples.seconds, decimals: 3)
                    answer.add("samples", Int64(samples.samples.count))
                    answer.add("bytes", Int64(bytes))
                    answer.add("done", true)
                    reply?.send(answer)
                } catch {
                    Recorder.fail(CommandRefusal(.resources, "\(error)"), kept.name, reply, log)
                }
            }
        } catch {
            Recorder.fail(CommandRefusal(error), kept.name, reply, log)
        }
    }

    private static func fail(_ refusal: CommandRefusal, _ name: String, _ reply: CommandReply?, _ log: Log) {
        log.warning("\(name) is not kept: \(refusal.message)")
        reply?.refuse(refusal)
    }

    // MARK: Recordings

    /// Labels a recording; `nil` removes its labels.
    func setLabel(_ label: String?, of name: String, _ reply: CommandReply) throws {
        if schedule.setLabel(label, of: name) {
            return reply.send(Recorder.answer(name, label))
        }
        try carryOut(reply) { recordings in
            try recordings.setLabel(label, of: name)
            return Recorder.answer(name, label)
        }
    }

    private static func answer(_ name: String, _ label: String?) -> JSONObject {
        var answer = JSONObject()
        answer.add("recording", name)
        answer.add("label", label ?? "")
        return answer
    }

    /// Does work on the recordings, and replies with its result or its failure.
    func carryOut(
        _ reply: CommandReply, _ work: @escaping @Sendable (RecordingDirectory) throws -> JSONObject
    ) throws {
        try onDisk { recordings in
            do {
                reply.send(try work(recordings))
            } catch {
                reply.refuse(CommandRefusal(recordings: error))
            }
        }
    }

    private func onDisk(_ job: @escaping @Sendable (RecordingDirectory) -> Void) throws {
        let jobs = jobs
        guard jobs.begin(atMost: Recorder.mostJobs) else {
            throw CommandRefusal(.resources, "the disk does not answer in time")
        }
        disk.perform { [recordings] in
            job(recordings)
            jobs.end()
        }
    }
}

/// The number of jobs that wait for the disk.
private final class JobCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Counts another job; returns false if there are enough.
    func begin(atMost limit: Int) -> Bool {
        guard count.load(ordering: .relaxed) < limit else { return false }
        count.add(1, ordering: .relaxed)
        return true
    }

    func end() { count.subtract(1, ordering: .relaxed) }
}

extension CommandRefusal {
    /// The refusal for a failure of work on recordings.
    fileprivate init(recordings error: any Error) {
        switch error {
        case let refusal as CommandRefusal: self = refusal
        case RecordingError.system(let name, let failure) where failure.isMissing:
            self.init(.badArguments, "there is no recording \"\(name.prefix(128))\"")
        default: self.init(.failed, "\(error)")
        }
    }
}
