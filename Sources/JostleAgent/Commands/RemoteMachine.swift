internal import Documents
internal import JostleConfiguration
internal import MotionCore

/// What is known of the machine. The loop implements it.
protocol MachineKeeper: AnyObject {
    /// What was last published of it.
    var machineState: JSONObject? { get }
    /// Its runs, the newest last.
    var machineRuns: [JSONObject] { get }
}

/// `machine`: says how the machine is now, so that the board need not learn it, and lists its runs.
struct RemoteMachine: RemoteCommand, Equatable {
    /// `nil` only lists the runs.
    let now: MachineStatement?

    init(_ arguments: CommandArguments) throws {
        guard let word = try arguments.string("now") else {
            now = nil
            return
        }
        guard let statement = MachineStatement(word: word) else {
            let words = MachineStatement.allCases.map(\.word)
            throw CommandRefusal(
                .badArguments, "now is \"\(word.prefix(64))\"; it is one of \(CommandArguments.list(words))")
        }
        now = statement
    }

    /// Whether it changes nothing that was learnt, but for an acknowledgement.
    var isHarmless: Bool { now == nil || now == .fine }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        if let now {
            try host.requireSamples()
            host.manager.learnMachine(now)
        }
        var answer = JSONObject()
        answer.add("now", now?.word)
        answer.add("state", host.machine?.machineState)
        answer.add("runs", host.machine?.machineRuns ?? [])
        return answer
    }
}
