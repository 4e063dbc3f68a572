internal import Glibc
internal import IMUDrivers
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import MotionKit

/// Writes what an agent does as lines, for a pipe, a file or a terminal that cannot show a screen: one for each event,
/// and the attitude once a second.
struct LiveLines {
    let glyphs: Glyphs
    private let start = WallClock.monotonic
    private var nextAttitude = Timestamp(nanoseconds: .min)
    /// Whether a line that is too long would fill a window.
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(glyphs: Glyphs) {
        self.glyphs = glyphs
    }

    /// Writes a note.
    func note(_ text: String) { write(text) }

    mutating func show(_ change: LiveChange) {
        switch change {
        case .motion(let motion): show(motion)
        case .gesture(let event): show(event)
        case .sensor(let event): show(event)
        case .connection(let change): show(change)
        }
    }

    private mutating func show(_ motion: MotionState) {
        guard motion.timestamp >= nextAttitude else { return }
        nextAttitude = motion.timestamp.advanced(bySeconds: 1)
        let angles = motion.relativeAttitude.eulerAngles
        write(
            "attitude  roll \(degrees(angles.roll))  pitch \(degrees(angles.pitch))  yaw \(degrees(angles.yaw))  "
                + "\(motion.side.word) up  \(motion.isMoving ? "moving" : "still")", mayBeCut: true)
    }

    private func show(_ event: GestureEvent) { write(EventRow.sentence(event)) }

    private func show(_ event: SensorEvent) {
        if let text = LiveText.sensor(event) { write(text) }
    }

    private func show(_ change: Agent.ConnectionChange) { write(LiveText.connection(change)) }

    /// Writes a line that begins with the time since the start.
    private func write(_ text: String, mayBeCut: Bool = false) {
        let tenths = Int((WallClock.monotonic.seconds(since: start) * 10).rounded())
        let time = "\(tenths / 10).\(tenths % 10)"
        let column = String(repeating: " ", count: max(0, 7 - time.count)) + time
        let line = glyphs.clean("\(column) s  \(text)")
        Output.line(mayBeCut && isTerminal ? glyphs.cut(line, TerminalScreen.currentSize.columns) : line)
        Output.flush()
    }

    private func degrees(_ angle: Double) -> String { formatted(angle * degreesPerRadian, "%7.1f") + "°" }
}

/// Texts of the live view.
enum LiveText {
    /// What happened to the sensor; `nil` if nothing did.
    static func sensor(_ event: SensorEvent) -> String? {
        switch event {
        case .none: nil
        case .streaming: "the sensor is measuring"
        case .gap(let seconds, let fault): "\(decimal(seconds, 3)) s of samples are missing: \(fault.explanation)"
        case .failed(let fault): "the sensor is lost: \(fault.explanation)"
        }
    }

    /// What happened to the connection.
    static func connection(_ change: Agent.ConnectionChange) -> String {
        switch change {
        case .connected(let connection): "connected to \(connection.broker), MQTT \(connection.version)"
        case .notConnected(let broker, let failure): "not connected to \(broker): \(failure)"
        }
    }
}
