internal import Glibc
internal import IMUDrivers
internal import JostleAgent
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// A live view of the agent: a line of attitude that is updated in place, and a line for each event.
///
/// If standard output is not a terminal, all lines are permanent, with the attitude once per second.
final class TerminalView: Sendable {
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let state = Mutex(State())

    private struct State {
        var start = WallClock.monotonic
        var nextAttitude = Timestamp(nanoseconds: .min)
        var hasLiveLine = false
        var topics: Topics?
    }

    /// The callbacks through which the agent updates the view.
    var observer: Agent.Observer {
        var observer = Agent.Observer()
        observer.motion = { [self] in show($0) }
        observer.gesture = { [self] in show($0) }
        observer.sensor = { [self] in show($0) }
        observer.connection = { [self] in show($0) }
        return observer
    }

    /// Prints the sensor, the broker and how to subscribe.
    func begin(agent: Agent) {
        state.withLock { state in
            state.start = WallClock.monotonic
            state.topics = agent.topics
        }
        guard let broker = agent.brokers.first else { return }
        let tls = broker.usesTLS ? " --capath /etc/ssl/certs" : ""
        Output.text(
            """
            Sensor: \(agent.sensorTitle)
            Broker: \(broker)
            Listen: mosquitto_sub -h \(broker.host) -p \(broker.port)\(tls) -v -t '\(agent.topics.root)/#'
            Press Ctrl-C to stop.


            """)
        Output.flush()
    }

    /// Ends the live line, so that further output starts on a new line.
    func end() {
        state.withLock { state in
            if state.hasLiveLine { Output.line() }
            state.hasLiveLine = false
        }
        Output.flush()
    }

    // MARK: Events

    private func show(_ motion: MotionState) {
        state.withLock { state in
            guard motion.timestamp >= state.nextAttitude else { return }
            state.nextAttitude = motion.timestamp.advanced(bySeconds: isTerminal ? 0.1 : 1)
            let angles = motion.relativeAttitude.eulerAngles
            let words =
                "roll \(degrees(angles.roll))  pitch \(degrees(angles.pitch))  yaw \(degrees(angles.yaw))  "
                + "\(motion.side.word) up  \(motion.isMoving ? "moving" : "still ")"
            if isTerminal {
                Output.live("\(TerminalView.horizon(angles))  \(words)")
                state.hasLiveLine = true
            } else {
                line("attitude  \(words)", &state)
            }
        }
        Output.flush()
    }

    private func show(_ event: GestureEvent) {
        let words = EventRow.sentence(event)
        if isTerminal { write(emphasis: words) } else { write(words) }
    }

    private func show(_ event: SensorEvent) {
        switch event {
        case .none: break
        case .streaming: write("the sensor is measuring")
        case .gap(let seconds, let fault):
            write("\(decimal(seconds, 3)) s of samples are missing: \(fault.explanation)")
        case .failed(let fault): write("the sensor is lost: \(fault.explanation)")
        }
    }

    private func show(_ change: Agent.ConnectionChange) {
        switch change {
        case .connected(let connection): write("connected to \(connection.broker), MQTT \(connection.version)")
        case .notConnected(let broker, let failure): write("not connected to \(broker): \(failure)")
        }
    }

    // MARK: Writing

    private func write(_ text: String = "", emphasis: String = "") {
        state.withLock { line(text, emphasis: emphasis, &$0) }
        Output.flush()
    }

    /// Writes a permanent line that begins with the time since the start.
    private func line(_ text: String, emphasis: String = "", _ state: inout State) {
        let tenths = Int((WallClock.monotonic.seconds(since: state.start) * 10).rounded())
        let time = "\(tenths / 10).\(tenths % 10)"
        let column = String(repeating: " ", count: max(0, 7 - time.count)) + time
        Output.line("\(column) s  \(text)", emphasis: emphasis, replacesLive: state.hasLiveLine)
        state.hasLiveLine = false
    }

    private func degrees(_ angle: Double) -> String {
        let units = Int((angle * degreesPerRadian * 10).rounded())
        let text = "\(units < 0 ? "-" : "")\(abs(units) / 10).\(abs(units) % 10)°"
        return String(repeating: " ", count: max(0, 7 - text.count)) + text
    }

    /// Pitch and roll at a glance: a mark on a scale of ±90°, slanted like the board.
    private static func horizon(_ angles: EulerAngles) -> String {
        let width = 17
        let share = max(-1, min(1, angles.pitch / (.pi / 2)))
        let position = Int(((share + 1) / 2 * Double(width - 1)).rounded())
        let roll = angles.roll * degreesPerRadian
        let mark = roll > 30 ? "\\" : roll < -30 ? "/" : "|"
        var scale = Array(repeating: "·", count: width)
        scale[width / 2] = "+"
        scale[position] = mark
        return "[" + scale.joined() + "]"
    }
}
