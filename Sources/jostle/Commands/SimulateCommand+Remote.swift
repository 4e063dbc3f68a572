internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle simulate --on`: asks a running agent to act as if it was moved, and shows what it makes of it.
extension SimulateCommand {
    /// Seconds within which the agent has to answer.
    private static let answerTime = 5.0

    /// Seconds for which messages may be under way.
    private static let latency = 0.3

    /// Seconds for which the end of a gesture is awaited after the movement: the agent itself cancels it before.
    private static let patience = 20.0

    static func runRemotely(
        _ movement: String, on id: String, _ arguments: Arguments, _ settings: JostleSettings, _ signals: SignalWaiter
    ) throws(CommandFailure) {
        if arguments.has("once") {
            throw CommandFailure(.usage, "with --on a movement is made once anyway; --count N makes it N times")
        }
        try RemoteAsking.check(id)
        var order = JSONObject()
        order.add("movement", movement)
        order.add("count", try arguments.count("count", within: SimulatedMovement.counts).map { Int64($0) })
        order.add("seconds", try arguments.seconds("for"), decimals: 3)

        let device: RemoteDevice
        let answer: RemoteAnswer
        do throws(RemoteDeviceError) {
            device = try RemoteDevice(id: id, settings: settings)
            answer = try device.ask("simulate", order, within: answerTime, signals: signals)
        } catch {
            throw CommandFailure(error)
        }
        guard answer.isAccepted else { throw CommandFailure(refusal: answer) }
        let seconds = answer.number("seconds") ?? 0
        Output.line("\(id): \(answer.text("movement") ?? movement), over in \(decimal(seconds, 1)) s")
        Output.flush()
        listen(to: device, for: seconds, signals)
    }

    /// Prints the events until the movement is over and what began has ended.
    private static func listen(to device: RemoteDevice, for seconds: Double, _ signals: SignalWaiter) {
        let start = WallClock.monotonic
        var open: Set<String> = []
        var simulated = 0
        while true {
            let time = WallClock.monotonic.seconds(since: start)
            for event in device.takeEvents() {
                Output.line(
                    "\(formatted(time, "%7.1f")) s  \(event.gesture) \(event.phase)  \(ForeignText.json(event.json))")
                Output.flush()
                guard event.isSimulated else { continue }
                simulated += 1
                switch event.phase {
                case "began": open.insert(event.gesture)
                case "ended", "cancelled": open.remove(event.gesture)
                default: break
                }
            }
            let isOver = time >= seconds + latency && open.isEmpty || time >= seconds + patience
            if isOver || signals.wait(seconds: 0.02) { break }
        }
        if simulated == 0 { Output.line("No gesture was recognised in it.") }
        if !open.isEmpty { Output.line("Without an end: \(open.sorted().joined(separator: ", "))") }
    }
}
