internal import Documents
internal import JostleConfiguration
internal import MotionCore
internal import MotionKit

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
        if let knowledge = host.manager.machineKnowledge, let info = host.manager.sensorInfo {
            RemoteMachine.add(knowledge, rate: info.nominalRate, to: &answer)
        }
        answer.add("runs", host.machine?.machineRuns ?? [])
        return answer
    }

    /// Adds what was learnt of the octaves: their floors while the machine is off, and their range over the runs at the speed that
    /// was seen most.
    private static func add(_ knowledge: MachineKnowledge, rate: Double, to answer: inout JSONObject) {
        let bands = VibrationBands.octaves(rate: rate)
        let floors = bands.compactMap { knowledge.floor(of: $0) }
        if !floors.isEmpty { answer.add("floors", floors.map(Double.init), decimals: 1) }
        guard let range = knowledge.experience.speeds.mostSeen else { return }
        answer.add("low", bands.map { Double(range.low[$0]) }, decimals: 1)
        answer.add("high", bands.map { Double(range.high[$0]) }, decimals: 1)
    }
}
