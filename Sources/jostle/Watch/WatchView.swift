internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// Shows what a listener receives: as a full screen, as lines, as JSON, or as it is.
final class WatchView {
    /// The output format.
    enum Format {
        case screen
        case lines
        case json
        case raw

        /// Whether every message is printed, and nothing else.
        var isVerbatim: Bool { self == .json || self == .raw }
    }

    /// The shortest time between two screens, seconds: more than fifteen per second would not look better.
    private static let period = 1.0 / 15

    /// Seconds after which the screen is redrawn even if nothing arrived, because displayed ages grow.
    private static let idlePeriod = 1.0

    /// Seconds within which retained messages arrive after the subscription was granted.
    private static let settlingTime = 0.5

    private let listener: BrokerView
    private let format: Format
    private let screen = TerminalScreen()
    private let glyphs = Glyphs.ofTerminal
    private var lines: WatchLines
    private var model: FleetModel
    private var connection = ConnectionStatus()

    /// Whether the choice between one device and the fleet is still open, and when it will be made.
    private var isChoiceOpen: Bool
    private var choiceTime: Timestamp?

    /// Which devices have been asked for their state, and when the retained messages have arrived and the next are asked.
    private var requests = StateRequests()
    private var askTime: Timestamp?
    /// When an unknown device is reported: the others have then arrived.
    private var othersTime: Timestamp?
    /// How many devices were left out when that was last reported.
    private var reportedLeftOut = 0
    /// Why no device is known: perhaps because the broker does not send what it holds.
    private var check: WildcardCheck?

    private var isChanged = true
    private var drawn = Timestamp(nanoseconds: .min / 2)

    /// Creates a view of the device `id`; if it is `nil`, of the only device at the broker, or of all, the `known` ones first.
    init(_ listener: BrokerView, prefix: String, id: String?, known: KnownDevices, format: Format) {
        self.listener = listener
        self.format = format
        lines = WatchLines(glyphs: glyphs)
        model = FleetModel(prefix: prefix, onlyDevice: id)
        model.remember(known)
        isChoiceOpen = id == nil
    }

    /// Runs until a signal or a key ends it, or for `seconds`.
    ///
    /// - Throws: `ReaderIsGone`, or status 73 if standard output cannot be written; the listener's failure with its exit status.
    func run(for seconds: Double?, signals: SignalWaiter) throws {
        try listener.start()
        let end = seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }
        if format == .screen { screen.enter() }
        defer {
            screen.leave()
            check?.cancel()
        }
        while true {
            let now = WallClock.monotonic
            if let end, now >= end { return }
            try takeReports(at: now)
            if let choiceTime, now >= choiceTime { try chooseDevice() }
            if let askTime, now >= askTime { try ask(at: now) }
            if let othersTime, now >= othersTime { try reportUnknownDevice() }
            try advanceCheck(at: now)
            if format == .screen { try draw(at: now) }
            // While a redraw is pending, further messages need not wake the view; the next screen shows them.
            let isWaitingToDraw = format == .screen && isChanged
            let sources =
                (isWaitingToDraw ? [] : [listener.wake.descriptor])
                + (format == .screen && screen.hasKeys ? [STDIN_FILENO] : [])
            switch signals.next(within: pause(at: WallClock.monotonic, until: end), orReadable: sources) {
            case .end: return
            case .resize: redraw()
            case .suspend: suspend()
            case .reload, nil: break
            }
            if !isWaitingToDraw { listener.wake.clear() }
            if format == .screen, handleKeys() { return }
        }
    }

    /// Seconds until the next deadline.
    private func pause(at now: Timestamp, until end: Timestamp?) -> Double {
        var next = now.advanced(bySeconds: 60)
        if format == .screen {
            next = drawn.advanced(bySeconds: isChanged ? WatchView.period : WatchView.idlePeriod)
        }
        for time in [choiceTime, askTime, othersTime, check?.deadline] { if let time { next = min(next, time) } }
        if let end { next = min(next, end) }
        return max(0.001, next.seconds(since: now))
    }

    // MARK: The terminal

    private func draw(at now: Timestamp) throws {
        let age = now.seconds(since: drawn)
        guard age >= (isChanged ? WatchView.period : WatchView.idlePeriod) else { return }
        drawn = now
        isChanged = false
        let size = screen.size
        let text: [ScreenLine]
        if let id = model.onlyDevice {
            let device = model.boards[id] ?? FleetBoard(id: id)
            text = DeviceScreen(glyphs: glyphs).lines(device, connection, at: now, size: size)
        } else {
            text = FleetScreen(glyphs: glyphs).lines(model, connection, at: now, size: size)
        }
        if !screen.draw(text) { throw Output.failure() }
    }

    private func redraw() {
        screen.invalidate()
        isChanged = true
        drawn = Timestamp(nanoseconds: .min / 2)
    }

    /// Restores the terminal and stops until the program is continued.
    private func suspend() {
        screen.leave()
        kill(getpid(), SIGSTOP)
        guard format == .screen else { return }
        screen.enter()
        redraw()
    }

    /// Handles the keys typed.
    ///
    /// - Returns: whether the user quit.
    private func handleKeys() -> Bool {
        for key in screen.takeKeys() {
            switch key {
            case UInt8(ascii: "q"), UInt8(ascii: "Q"): return true
            case 0x0C: redraw()
            default: break
            }
        }
        return false
    }

    // MARK: Reports

    private func takeReports(at now: Timestamp) throws {
        let (reports, dropped) = listener.takeReports()
        if dropped > 0 {
            connection.addDropped(dropped)
            try write("\(dropped) messages arrived too fast and were dropped")
        }
        if !reports.isEmpty { isChanged = true }
        for report in reports {
            if case .message(let message) = report {
                if check?.take(message) == true { continue }
                try handle(message, at: now)
            } else if case .listening = report {
                let settled = now.advanced(bySeconds: WatchView.settlingTime)
                if isChoiceOpen { choiceTime = settled }
                askTime = settled
            } else if let line = connection.update(with: report) {
                try write(line)
            }
        }
    }

    private func handle(_ message: MQTTMessage, at now: Timestamp) throws {
        switch format {
        case .json: if !Output.writes(json: WatchLines.json(message)) { throw Output.failure() }
        case .raw: try put("\(message.topic) \(String(decoding: message.payload, as: UTF8.self))")
        case .screen, .lines: break
        }
        let update = model.update(with: message, at: now)
        if update != nil { connection.unknownDevice = nil }
        guard let (id, change) = update, format == .lines, let device = model.boards[id]
        else {
            return
        }
        var time = WallClock.milliseconds(at: now)
        if case .event(let event) = change { time = event.time ?? time }
        if case .nearMiss(let miss) = change { time = miss.time ?? time }
        if let line = lines.line(change, of: device, at: now, time: WallClock.timeOfDay(milliseconds: time)) {
            try put(line)
        }
    }

    /// Chooses the only device at the broker; if there are several or none, the view shows all.
    private func chooseDevice() throws {
        choiceTime = nil
        isChoiceOpen = false
        let known = model.boards.values.filter { $0.isOnline != nil }
        if known.isEmpty { check = try? WildcardCheck(listener, at: WallClock.monotonic) }
        guard known.count == 1, let id = known.first?.id else { return }
        model.narrow(to: id)
        try listener.narrow(to: id, prefix: model.prefix)
    }

    private func advanceCheck(at now: Timestamp) throws {
        try check?.advance(at: now)
        guard let check, check.isOver else { return }
        self.check = nil
        guard check.isLacking == true else { return }
        connection.unknownDevice = "\(BrokerError.withoutRetained)"
        isChanged = true
        try write("\(BrokerError.withoutRetained)")
    }

    // MARK: Asking

    /// Asks devices that have not told their state, and looks for the others if the only device is unknown.
    private func ask(at now: Timestamp) throws {
        askTime = now.advanced(bySeconds: 1)
        try reportLeftOut()
        // They are what others publish, not what this program causes.
        if !format.isVerbatim {
            for id in requests.due(model, at: now) { listener.askForState(of: id, prefix: model.prefix) }
        }
        guard let id = model.onlyDevice, !isKnown(id), connection.unknownDevice == nil, othersTime == nil else {
            return
        }
        othersTime = now.advanced(bySeconds: WatchView.settlingTime)
        try listener.listenForOthers(prefix: model.prefix)
    }

    /// Says that there are too many devices, and again when twice as many are left out.
    private func reportLeftOut() throws {
        guard model.leftOut.boards > 2 * reportedLeftOut, let text = model.leftOutText else { return }
        reportedLeftOut = model.leftOut.boards
        try write("\(text): those that are known here come first")
    }

    private func isKnown(_ id: String) -> Bool { model.boards[id] != nil }

    /// Says that the broker does not know the device, and which ones it knows.
    private func reportUnknownDevice() throws {
        othersTime = nil
        guard let id = model.onlyDevice, !isKnown(id) else { return }
        let text = BrokerError.unknownDevice(id, known: model.otherDevices.sorted())
        connection.unknownDevice = text
        isChanged = true
        try write(text)
    }

    // MARK: Lines

    /// Writes a line about the connection: among the other lines, or to standard error beside messages.
    private func write(_ text: String) throws {
        switch format {
        case .screen: break
        case .lines:
            let time = WallClock.timeOfDay(milliseconds: WallClock.milliseconds(at: WallClock.monotonic))
            try put(glyphs.clean("\(time)  \(text)"))
        case .json, .raw: Output.warn("\(text)")
        }
    }

    private func put(_ line: String) throws {
        if !Output.writes(line: line) { throw Output.failure() }
    }
}

/// Formats received messages as lines, one per change, for a file, a pipe, or a terminal without a full screen.
struct WatchLines {
    let glyphs: Glyphs

    /// When each device's attitude may be printed again: once per second.
    private var nextAttitude: [String: Timestamp] = [:]

    /// The last printed state of each device. Changes of tilt and vibration level alone are not printed.
    private var printedState: [String: String] = [:]

    /// The phase of each device's machine that was last printed, and whether it had changed.
    private var printedMachine: [String: String] = [:]

    init(glyphs: Glyphs) {
        self.glyphs = glyphs
    }

    /// The line for a change of a device; `nil` if it is not worth one.
    mutating func line(
        _ change: FleetModel.Change, of device: FleetBoard, at now: Timestamp, time: String
    ) -> String? {
        guard let text = text(change, device, now) else { return nil }
        return glyphs.clean("\(time)  \(device.id)  \(text)")
    }

    private mutating func text(_ change: FleetModel.Change, _ device: FleetBoard, _ now: Timestamp) -> String? {
        switch change {
        case .availability: return WatchText.availability(device.isOnline)
        case .attitude:
            guard let attitude = device.attitude, nextAttitude[device.id].map({ now >= $0 }) ?? true else { return nil }
            nextAttitude[device.id] = now.advanced(bySeconds: 1)
            let angles = [("roll", attitude.roll), ("pitch", attitude.pitch), ("heading", attitude.yaw)]
            return "attitude  " + angles.map { "\($0.0) \(formatted($0.1, "%.1f"))°" }.joined(separator: "  ")
        case .motion, .identity: return nil
        case .state:
            guard let state = device.state.map(WatchText.state), printedState[device.id] != state else { return nil }
            printedState[device.id] = state
            return "state  \(state)"
        case .machine:
            guard let machine = device.machine else { return nil }
            let shown = "\(machine.phase) \(machine.isChanged)"
            guard printedMachine.updateValue(shown, forKey: device.id) != shown else { return nil }
            return "machine  \(WatchText.machine(machine, at: machine.time ?? 0))"
        case .health:
            guard let health = device.health else { return nil }
            let problems = health.problems.isEmpty ? "" : "problems: \(health.problems.joined(separator: ", ")), "
            return "health  \(problems)\(WatchText.health(health).joined(separator: ", "))"
        case .configuration:
            let layers = device.layers.map(WatchText.layer).joined(separator: ", ")
            return "configuration  \(layers.ifEmpty("no layers"))"
        case .event(let event): return WatchText.event(event)
        case .nearMiss(let miss): return "near miss  \(miss.text)"
        case .malformed(let reason): return "malformed  \(reason)"
        }
    }

    /// A message as a JSON object on one line, with the payload as JSON if it is valid, else as text. Its values may
    /// contain control characters and line breaks, which `Output` escapes.
    static func json(_ message: MQTTMessage) -> String {
        let topic = JSONText.quoted(message.topic)
        return "{\"topic\":\(topic),\"retained\":\(message.retain),\"payload\":\(payload(message.payload))}"
    }

    private static func payload(_ bytes: [UInt8]) -> String {
        do {
            _ = try JSONReader.read(bytes, source: .message("payload"))
        } catch {
            return JSONText.quoted(String(decoding: bytes, as: UTF8.self))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// `jostle watch`: shows what devices publish over MQTT, live in the terminal.
enum WatchCommand {
    static let usage = CommandUsage(
        name: "watch",
        summary: "show live what devices publish over MQTT: attitude, gestures, health",
        details: """
            Subscribes at mqtt.broker. Without --device it shows the only device at the broker, or a list of all. It
            reports a lost or refused connection and tries again. For many devices it leaves out attitude and motion.

            Ctrl-C or q quits, Ctrl-L redraws the screen. If standard output is not a terminal, it prints lines: one for
            each event, health report and change of state or machine, and the attitude once a second.
            """,
        options: [
            Option("device", value: "ID", help: "the device to watch, by its device.id"),
            BrokerArgument.option,
            Option("plain", help: "print lines, also on a terminal"),
            Option("json", help: "print every message as a line {\"topic\":…,\"retained\":…,\"payload\":…}"),
            Option("raw", help: "print every message as a line, its topic and its payload"),
            Option("for", value: "SECONDS", help: "stop after this time"),
        ] + CommandUsage.configurationOptions)

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter(drawsScreen: true)
        let id = arguments.value("device")
        if let id { try DeviceIDArgument.check(id, option: "device") }
        try arguments.exclude("plain", "json", "raw")
        let seconds = try arguments.seconds("for")
        let settings = try Configuration.ofBroker(arguments)
        let format: WatchView.Format =
            arguments.has("json")
            ? .json : arguments.has("raw") ? .raw : arguments.has("plain") || !Output.isTerminal ? .lines : .screen
        let listener = try BrokerView.watching(id, settings)
        let directory = Configuration.stateDirectory
        let history = DocumentHistory(stateDirectory: directory, settings)
        let known = id == nil ? KnownDevices(stateDirectory: directory, history) : KnownDevices()
        let view = WatchView(listener, prefix: settings.mqtt.prefix, id: id, known: known, format: format)
        defer { listener.stop() }
        try view.run(for: seconds, signals: signals)
    }
}
