internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle simulate --on`: asks a running agent to simulate a movement, and prints the resulting events.
extension SimulateCommand {
    /// Seconds within which the agent must answer.
    private static let answerTime = 5.0

    /// Seconds that a message may take.
    private static let latency = 0.3

    /// Seconds to wait for the end of a gesture after the movement; the agent itself cancels it sooner.
    private static let patience = 20.0

    static func runRemotely(
        _ movement: String, on id: String, _ arguments: Arguments, _ settings: JostleSettings, _ signals: SignalWaiter
    ) throws(CommandFailure) {
        if arguments.has("once") {
            throw CommandFailure(.usage, "with --on, a movement is made only once; use --count N to repeat it")
        }
        try DeviceIDArgument.check(id)
        var request = JSONObject()
        request.add("movement", movement)
        request.add("count", try arguments.count("count", within: SimulatedMovement.counts).map { Int64($0) })
        request.add("seconds", try arguments.seconds("for"), decimals: 3)

        let device: RemoteDevice
        let answer: RemoteAnswer
        do throws(RemoteDeviceError) {
            device = try RemoteDevice(id: id, settings: settings)
            answer = try device.request("simulate", request, within: answerTime, signals: signals)
        } catch {
            throw CommandFailure(error)
        }
        guard answer.isAccepted else { throw CommandFailure(refusal: answer) }
        let seconds = waitingTime(announced: answer.number("seconds"))
        Output.line("\(id): \(answer.text("movement") ?? movement), takes \(decimal(seconds, 1)) s")
        Output.flush()
        printEvents(of: device, for: seconds, signals)
    }

    /// The duration that the device announces, within what a movement can take: an answer may contain anything.
    static func waitingTime(announced seconds: Double?) -> Double {
        guard let seconds, seconds > 0 else { return 0 }
        return min(seconds, SimulatedMovement.maximumDuration)
    }

    /// Prints the events until the movement is over and every open gesture has ended.
    private static func printEvents(of device: RemoteDevice, for seconds: Double, _ signals: SignalWaiter) {
        let start = WallClock.monotonic
        var open: Set<String> = []
        var simulated = 0
        while true {
            let time = WallClock.monotonic.seconds(since: start)
            let taken = device.takeEvents()
            if taken.dropped > 0 {
                Output.errors("jostle: events arrived too fast, or were too long: \(taken.dropped) are not shown")
            }
            for event in taken.events {
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
        if simulated == 0 { Output.line("No gesture was recognised.") }
        if !open.isEmpty { Output.line("Not ended: \(open.sorted().joined(separator: ", "))") }
    }
}
