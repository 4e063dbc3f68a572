internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `simulate`: the events of a movement that nobody makes, so that what they set off can be tried.
struct RemoteSimulate: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.simulate
    static let argumentNames = ["movement", "count", "seconds", "stop"]

    /// What to simulate; `nil` to end what is being simulated.
    let movement: SimulatedMovement?

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        if try arguments.truth("stop") ?? false {
            guard arguments.isAlone("stop") else {
                throw CommandRefusal(.badArguments, "stop ends what is being simulated: alone, without a movement")
            }
            movement = nil
            return
        }
        guard let name = try arguments.text("movement") else {
            let names = SimulatedMovement.known.map(\.name).joined(separator: ", ")
            throw CommandRefusal(.badArguments, "movement is missing; there are \(names)")
        }
        let count = try arguments.wholeNumber("count") ?? 1
        let seconds = try arguments.number("seconds")
        do throws(SimulationError) {
            movement = try SimulatedMovement(name, count: count, seconds: seconds)
        } catch {
            throw CommandRefusal(error)
        }
    }

    /// The sensor need not work for it: when it does not, automations are tried all the more.
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
    /// Why a movement is not simulated.
    fileprivate init(_ error: SimulationError) {
        let code: Code =
            switch error {
            case .unknownMovement, .badCount, .badLength, .endsByItself, .endless, .tooLong: .badArguments
            case .busy: .busy
            case .notRunning: .sensorUnavailable
            case .resources: .resources
            }
        self.init(code, "\(error)")
    }
}
