internal import Documents
internal import MotionKit

/// `keep`: writes the last seconds, and those that follow, to a recording in the state directory.
struct RemoteKeep: RemoteCommand, Equatable {
    /// Seconds before and after now; `nil` for the usual ones.
    let before: Double?
    let after: Double?
    let label: String?

    init(_ arguments: CommandArguments) throws {
        func seconds(_ name: String) throws -> Double? {
            guard let value = try arguments.number(name) else { return nil }
            guard value >= 0 else { throw CommandRefusal(.badArguments, "\(name) must not be negative") }
            return value
        }
        before = try seconds("before")
        after = try seconds("after")
        label = try arguments.label("label")
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        try host.requireSamples()
        let kept = try host.recorder.keep(before: before, after: after, label: label, reply)
        var answer = JSONObject()
        answer.add("recording", kept.name)
        answer.add("seconds", kept.end.seconds(since: kept.start), decimals: 3)
        answer.add("label", label)
        answer.add("done", false)
        return answer
    }
}

extension CommandArguments {
    /// An argument that is the label of a recording; `nil` if it is absent.
    func label(_ name: String) throws -> String? {
        guard let label = try string(name) else { return nil }
        guard RecordingLabels.isLabel(label) else {
            throw CommandRefusal(.badArguments, "\(name) must be \(RecordingLabels.allowedLabels)")
        }
        return label
    }
}
