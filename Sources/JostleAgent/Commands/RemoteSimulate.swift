internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `simulate`: generates the events of a movement that does not happen, to test what they trigger.
struct RemoteSimulate: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.simulate
    static let argumentNames = ["movement", "count", "seconds", "stop"]

    /// The movement to simulate; `nil` to stop a simulation.
    let movement: SimulatedMovement?

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        if try arguments.bool("stop") ?? false {
            guard arguments.isAlone("stop") else {
                throw CommandRefusal(.badArguments, "stop cannot be combined with other arguments")
            }
            movement = nil
            return
        }
        guard let name = try arguments.string("movement") else {
            let names = SimulatedMovement.known.map(\.name).joined(separator: ", ")
            throw CommandRefusal(.badArguments, "movement is missing; the movements are \(names)")
        }
        let count = try arguments.integer("count") ?? 1
        let seconds = try arguments.number("seconds")
        do throws(SimulationError) {
            movement = try SimulatedMovement(name, count: count, seconds: seconds)
        } catch {
            throw CommandRefusal(error)
        }
    }

    /// Does not need a working sensor: automations can be tested without one.
    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard let movement else {
            host.manager.stopSimulation()
            return JSONObject()
        }
        do throws(SimulationError) {
            try host.manager.simulate(movement)
        } catch {
            throw CommandRefusal(error)
        }
        var answer = JSONObject()
        answer.add("movement", movement.name)
        answer.add("count", Int64(movement.count))
        answer.add("seconds", movement.duration, decimals: 1)
        return answer
    }
}

extension CommandRefusal {
    /// The refusal for a simulation error.
    fileprivate init(_ error: SimulationError) {
        let code: Code =
            switch error {
            case .unknownMovement, .badCount, .badLength, .endsByItself, .endless, .tooLong: .badArguments
            case .busy: .busy
            case .notRunning: .sensorUnavailable
            case .resources: .resources
            }
        var suggestion = ""
        if case .unknownMovement(let name, let known) = error {
            suggestion = EditDistance.suggestion(for: name, among: known)
        }
        self.init(code, "\(error)\(suggestion)")
    }
}
