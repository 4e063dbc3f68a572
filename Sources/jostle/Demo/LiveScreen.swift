internal import Documents
internal import Glibc
internal import IMUDrivers
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit

/// How a view shows what an agent in the same process reports.
protocol LiveFormat: AnyObject {
    /// Shows one more note.
    func note(_ text: String)
    func show(_ motion: MotionState)
    func show(_ event: GestureEvent)
    func show(_ event: SensorEvent)
    func show(_ change: Agent.ConnectionChange)
    /// Restores the terminal.
    func end()
}

/// Draws an agent in the same process as `jostle watch` draws one at a broker, with the command to subscribe below.
///
/// What the agent reports becomes the messages that it publishes, and those go through the model of `watch`. So both show
/// the same.
final class LiveScreen: LiveFormat {
    /// The shortest time between two screens, seconds.
    private static let period = 1.0 / 15

    private let id: String
    private let topics: Topics
    private let introduction: Introduction
    private var notes: [String]
    private let last: DemoScreen.LastLine?
    private let glyphs: Glyphs
    private let screen = TerminalScreen()
    private let errors = HeldErrors()
    private var model: FleetModel
    private var connection = ConnectionStatus()
    private var eventCount = 0
    private var size: ScreenSize
    private var drawn = Timestamp(nanoseconds: .min / 2)
    private var hasEnded = false

    /// Takes over the terminal.
    init(
        id: String, prefix: String, glyphs: Glyphs, introduction: Introduction, notes: [String],
        last: DemoScreen.LastLine?
    ) {
        self.id = id
        topics = Topics(prefix: prefix, id: id)
        self.introduction = introduction
        self.notes = notes
        self.last = last
        self.glyphs = glyphs
        model = FleetModel(prefix: prefix, onlyDevice: id)
        size = TerminalScreen.currentSize
        screen.enter(mayBeSuspended: false)
    }

    /// Restores the terminal, and prints what was held back meanwhile.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        screen.leave()
        errors.release()
    }

    func note(_ text: String) { notes.append(text) }

    // MARK: What the agent reports

    func show(_ motion: MotionState) {
        guard WallClock.monotonic.seconds(since: drawn) >= LiveScreen.period else { return }
        let time = WallClock.milliseconds(at: motion.timestamp)
        take(topics.attitude, Payloads.attitude(motion, at: time))
        take(topics.motion, Payloads.motion(motion, at: time))
        take(topics.state, Payloads.state(DeviceState(motion, isSimulated: false), at: time))
        draw()
    }

    func show(_ event: GestureEvent) {
        eventCount += 1
        let time = WallClock.milliseconds(at: event.timestamp)
        take(
            "\(topics.events)\(event.gesture.word)",
            Payloads.event(event, id: "\(eventCount)", at: time, isSimulated: event.isSimulated))
        draw()
    }

    func show(_ event: SensorEvent) {
        var health = JSONObject()
        health.add("sensor", introduction.sensor)
        switch event {
        case .none: return
        case .streaming, .gap: health.add("sensor_state", "streaming")
        case .failed(let fault):
            health.add("sensor_state", "lost")
            health.add("sensor_fault", fault.explanation)
            health.add("problems", ["sensor"])
        }
        take(topics.health, health)
        draw()
    }

    func show(_ change: Agent.ConnectionChange) {
        switch change {
        case .connected(let new):
            _ = connection.update(with: .connected(broker: "\(new.broker)", version: "\(new.version)"))
            take(topics.availability, "online")
        case .notConnected(let broker, let failure):
            _ = connection.update(with: .failed("\(broker): \(failure)", retryAfter: nil))
            take(topics.availability, "offline")
        }
        draw()
    }

    private func take(_ topic: String, _ payload: JSONObject) { take(topic, payload.description) }

    private func take(_ topic: String, _ text: String) {
        _ = model.update(with: MQTTMessage(topic: topic, text: text), at: WallClock.monotonic)
    }

    // MARK: Drawing

    private func draw() {
        guard !hasEnded else { return }
        let now = WallClock.monotonic
        drawn = now
        let newSize = TerminalScreen.currentSize
        if newSize != size { screen.invalidate() }
        size = newSize
        let device = model.boards[id] ?? FleetBoard(id: id)
        let lines = DemoScreen(glyphs: glyphs).lines(
            device, connection, page: introduction.page, listen: introduction.listen,
            notes: notes + (errors.lastLine.map { [$0] } ?? []), last: last, at: now, size: size)
        let keys = screen.takeKeys()
        if keys.contains(0x0C) { screen.invalidate() }
        let isThere = screen.draw(lines)
        // The main thread waits for the signals that end the agent.
        if !isThere || keys.contains(UInt8(ascii: "q")) || keys.contains(UInt8(ascii: "Q")) { kill(getpid(), SIGTERM) }
    }
}

/// Writes what an agent does as lines, for a pipe, a file or a terminal that cannot show a screen: one for each event,
/// and the attitude once a second.
final class LiveLines: LiveFormat {
    let glyphs: Glyphs
    private let start = WallClock.monotonic
    private var nextAttitude = Timestamp(nanoseconds: .min)
    /// Whether a line that is too long would fill a window.
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init(glyphs: Glyphs) {
        self.glyphs = glyphs
    }

    func note(_ text: String) { write(text) }

    func end() {}

    func show(_ motion: MotionState) {
        guard motion.timestamp >= nextAttitude else { return }
        nextAttitude = motion.timestamp.advanced(bySeconds: 1)
        let angles = motion.relativeAttitude.eulerAngles
        write(
            "attitude  roll \(degrees(angles.roll))  pitch \(degrees(angles.pitch))  yaw \(degrees(angles.yaw))  "
                + "\(motion.side.word) up  \(motion.isMoving ? "moving" : "still")", mayBeCut: true)
    }

    func show(_ event: GestureEvent) { write(EventRow.sentence(event)) }

    func show(_ event: SensorEvent) {
        switch event {
        case .none: break
        case .streaming: write("the sensor is measuring")
        case .gap(let seconds, let fault):
            write("\(decimal(seconds, 3)) s of samples are missing: \(fault.explanation)")
        case .failed(let fault): write("the sensor is lost: \(fault.explanation)")
        }
    }

    func show(_ change: Agent.ConnectionChange) {
        switch change {
        case .connected(let connection): write("connected to \(connection.broker), MQTT \(connection.version)")
        case .notConnected(let broker, let failure): write("not connected to \(broker): \(failure)")
        }
    }

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

/// Holds back what is written to standard error while a screen is shown on the same terminal, and writes it afterwards.
///
/// The text goes to a temporary file without a name. If standard error is not a terminal, nothing changes.
final class HeldErrors {
    private static let limit = 1 << 16

    /// The file, and the terminal; negative if nothing is held.
    private var file: Int32 = -1
    private var terminal: Int32 = -1

    init() {
        guard isatty(STDERR_FILENO) == 1 else { return }
        var template = Array("\(FileContents.temporaryPlace)/jostle-errors-XXXXXX".utf8CString)
        file = mkstemp(&template)
        guard file >= 0 else { return }
        unlink(template)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        if terminal >= 0 { dup2(file, STDERR_FILENO) }
    }

    deinit {
        release()
    }

    /// The last line that was held back; `nil` if there is none.
    var lastLine: String? {
        guard terminal >= 0 else { return nil }
        return String(decoding: bytes(last: 1000), as: UTF8.self).split(separator: "\n").last.map(String.init)
    }

    /// Writes what was held back, at most the last 64 KB, and lets further text through.
    func release() {
        if terminal >= 0 {
            let bytes = bytes(last: HeldErrors.limit)
            dup2(terminal, STDERR_FILENO)
            close(terminal)
            if !bytes.isEmpty { Output.errors(held: bytes) }
        }
        if file >= 0 { close(file) }
        (file, terminal) = (-1, -1)
    }

    private func bytes(last count: Int) -> [UInt8] {
        let size = Int(lseek(file, 0, SEEK_END))
        guard size > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: min(count, size))
        let read = pread(file, &buffer, buffer.count, off_t(size - buffer.count))
        return Array(buffer.prefix(max(0, read)))
    }
}

/// The screen of a demonstration: that of `jostle watch`, above it how to open the page, below it the command with which to
/// subscribe, and at the end why there is no sensor.
struct DemoScreen {
    /// Why there is no sensor, and what to do.
    struct LastLine {
        let reason: String

        var text: String { "No sensor: \(reason). This one is virtual. More: jostle doctor" }
        /// For a small window.
        var shortText: String { "No sensor, a virtual one: jostle doctor" }
    }

    let glyphs: Glyphs
    /// Formats milliseconds since 1970 as the time of day.
    var timeOfDay: (Int64) -> String = { WallClock.timeOfDay(milliseconds: $0) }

    /// The screen's lines, cut to the size of the window. The address of the page and the command stay in view while the
    /// window has room for them and for three more lines, and the last line always.
    func lines(
        _ device: FleetBoard, _ connection: ConnectionStatus, page: PageInvitation?, listen: String,
        notes: [String], last: LastLine?, at now: Timestamp, size: ScreenSize
    ) -> [ScreenLine] {
        let last = last.map { lastLines($0, size) } ?? []
        let size = ScreenSize(columns: size.columns, rows: size.rows - last.count)
        let header = header(page, size)
        let command = DemoScreen.wrapped(listen, columns: size.columns).map { ScreenLine(glyphs.clean($0), .bold) }
        let title = ScreenLine(glyphs.clean("Listen from another terminal (Ctrl-C or q stops):"), .dim)
        var footer = notes.suffix(2).map { ScreenLine(glyphs.clean($0), .warning) } + [title] + command
        // A small window keeps the command and leaves out what explains it.
        if size.rows < header.count + footer.count + 18 { footer = command }
        if size.rows < header.count + footer.count + 3 { footer = [] }
        let room = ScreenSize(columns: size.columns, rows: size.rows - header.count - footer.count)
        var lines = DeviceScreen(glyphs: glyphs, timeOfDay: timeOfDay).lines(device, connection, at: now, size: room)
        while !(footer + last).isEmpty, lines.count < room.rows { lines.append(ScreenLine("")) }
        return header + lines + (footer + last).map { ScreenLine(glyphs.cut($0.text, size.columns), $0.style) }
    }

    /// The last line, of which a large window has room for all.
    private func lastLines(_ last: LastLine, _ size: ScreenSize) -> [ScreenLine] {
        guard size.rows > 0 else { return [] }
        let whole = DemoScreen.wrapped(glyphs.clean(last.text), columns: size.columns, continuation: "")
        let fits = whole.count <= size.rows / 6 && whole.allSatisfy { $0.count <= size.columns }
        return (fits ? whole : [glyphs.clean(last.shortText)]).map { ScreenLine($0, .warning) }
    }

    /// How to open the page. A small window leaves out what explains the address, then the address.
    private func header(_ page: PageInvitation?, _ size: ScreenSize) -> [ScreenLine] {
        guard let page else { return [] }
        let address = divided(page.address, .title, size)
        guard size.rows >= address.count + 3 else { return [] }
        var lines: [ScreenLine] = []
        for (title, text) in page.steps {
            lines.append(ScreenLine(glyphs.cut("\(title):", size.columns), .bold))
            lines += text == page.address ? address : divided(text, .bold, size)
        }
        return size.rows < lines.count + 17 ? address : lines
    }

    /// A text on full lines, so that it can be copied.
    private func divided(_ text: String, _ style: ScreenLine.Style, _ size: ScreenSize) -> [ScreenLine] {
        guard size.columns > 0 else { return [] }
        var rest = glyphs.clean(text)[...]
        var lines: [ScreenLine] = []
        while !rest.isEmpty {
            lines.append(ScreenLine(String(rest.prefix(size.columns)), style))
            rest = rest.dropFirst(size.columns)
        }
        return lines
    }

    /// A command on lines of at most `columns`, continued as a shell does, so that it can be copied. A word that is
    /// longer is not divided. With an empty `continuation` it may be any text.
    static func wrapped(_ command: String, columns: Int, continuation: String = " \\") -> [String] {
        guard command.count > columns else { return [command] }
        var lines: [String] = []
        var line = ""
        for word in command.split(separator: " ").map(String.init) {
            if line.isEmpty {
                line = word
            } else if line.count + 1 + word.count + continuation.count <= columns {
                line += " " + word
            } else {
                lines.append(line + continuation)
                line = (continuation.isEmpty ? "" : "  ") + word
            }
        }
        return lines + [line]
    }
}
