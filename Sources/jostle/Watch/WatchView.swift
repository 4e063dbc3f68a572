internal import Glibc
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore

/// Shows what a listener hears until somebody ends it: as a screen, as lines, or as it came.
final class WatchView {
    /// What is shown.
    enum Form {
        case screen
        case lines
        case json
    }

    /// Seconds between two screens at least: fifteen a second are as good as more.
    private static let period = 1.0 / 15

    /// Seconds after which a screen is drawn anew though nothing came: ages grow.
    private static let idlePeriod = 1.0

    /// Seconds within which retained messages come after the subscription was granted.
    private static let settlingTime = 0.5

    private let listener: WatchListener
    private let form: Form
    private let screen = TerminalScreen()
    private let glyphs = Glyphs.ofTerminal
    private var lines: WatchLines
    private var model: WatchModel
    private var link = WatchLink()

    /// Whether it is still open whether there is one device or a fleet, and when that is decided.
    private var isUndecided: Bool
    private var decision: Timestamp?

    private var isChanged = true
    private var drawn = Timestamp(nanoseconds: .min / 2)

    /// Makes a view of the device `id`, or of whatever is there.
    init(_ listener: WatchListener, prefix: String, id: String?, form: Form) {
        self.listener = listener
        self.form = form
        lines = WatchLines(glyphs: glyphs)
        model = WatchModel(prefix: prefix, only: id)
        isUndecided = id == nil
    }

    /// Watches until a signal or a key ends it, or for some seconds.
    ///
    /// - Throws: status 73 where standard output cannot be written, 69 and more where it cannot be listened at all.
    func run(for seconds: Double?, signals: ViewSignals) throws(CommandFailure) {
        do throws(RemoteDeviceError) {
            try listener.start()
        } catch {
            throw CommandFailure(error)
        }
        let end = seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }
        if form == .screen { screen.enter() }
        defer { screen.leave() }
        while true {
            let now = WallClock.monotonic
            if let end, now >= end { return }
            try takeReports(at: now)
            if let decision, now >= decision { try decide() }
            if form == .screen { try draw(at: now) }
            // What comes meanwhile is drawn with the rest when the next screen is due.
            let isWaitingToDraw = form == .screen && isChanged
            for signal in signals.wait(
                seconds: pause(at: WallClock.monotonic, until: end), news: isWaitingToDraw ? nil : listener,
                input: form == .screen && screen.hasKeys)
            {
                switch signal {
                case .end: return
                case .resize: redraw()
                case .suspend: suspend()
                }
            }
            if form == .screen, handleKeys() { return }
        }
    }

    /// Seconds until something is due.
    private func pause(at now: Timestamp, until end: Timestamp?) -> Double {
        var next = now.advanced(bySeconds: 60)
        if form == .screen {
            next = drawn.advanced(bySeconds: isChanged ? WatchView.period : WatchView.idlePeriod)
        }
        if let decision { next = min(next, decision) }
        if let end { next = min(next, end) }
        return max(0.001, next.seconds(since: now))
    }

    // MARK: The terminal

    private func draw(at now: Timestamp) throws(CommandFailure) {
        let age = now.seconds(since: drawn)
        guard age >= (isChanged ? WatchView.period : WatchView.idlePeriod) else { return }
        drawn = now
        isChanged = false
        let size = screen.size
        let timeOfDay: (Int64) -> String = { WallClock.timeOfDay(milliseconds: $0) }
        let text: [ScreenLine]
        if let id = model.only {
            let device = model.devices[id] ?? model.unheard(id)
            text = DeviceScreen(glyphs: glyphs, timeOfDay: timeOfDay).lines(device, link, at: now, size: size)
        } else {
            text = FleetScreen(glyphs: glyphs, timeOfDay: timeOfDay).lines(model, link, size: size)
        }
        if !screen.draw(text) { throw outputFailure() }
    }

    private func redraw() {
        screen.forget()
        isChanged = true
        drawn = Timestamp(nanoseconds: .min / 2)
    }

    /// Leaves the terminal to others until the program is continued.
    private func suspend() {
        screen.leave()
        ViewSignals.stopHere()
        guard form == .screen else { return }
        screen.enter()
        redraw()
    }

    /// Does what keys ask for.
    ///
    /// - Returns: whether somebody ended it.
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

    // MARK: What came

    private func takeReports(at now: Timestamp) throws(CommandFailure) {
        let (reports, leftOut) = listener.takeReports()
        if leftOut > 0 {
            link.note(leftOut: leftOut)
            try write("\(leftOut) messages came too fast and were left out")
        }
        if !reports.isEmpty { isChanged = true }
        for report in reports {
            if case .message(let message) = report {
                try take(message, at: now)
            } else if case .listening = report, isUndecided {
                decision = now.advanced(bySeconds: WatchView.settlingTime)
            } else if let line = link.note(report) {
                try write(line)
            }
        }
    }

    private func take(_ message: MQTTMessage, at now: Timestamp) throws(CommandFailure) {
        if form == .json, !Output.writes(json: WatchLines.json(message)) { throw outputFailure() }
        guard let (id, news) = model.take(message, at: now), form == .lines, let device = model.devices[id] else {
            return
        }
        var time = WallClock.milliseconds(at: now)
        if case .event(let event) = news { time = event.time ?? time }
        if let line = lines.line(news, of: device, at: now, time: WallClock.timeOfDay(milliseconds: time)) {
            try put(line)
        }
    }

    /// The only device that the broker knows, or all there are and will be.
    private func decide() throws(CommandFailure) {
        decision = nil
        isUndecided = false
        let known = model.devices.values.filter { $0.isOnline != nil }
        guard known.count == 1, let id = known.first?.id else { return }
        model.narrow(to: id)
        do throws(RemoteDeviceError) {
            try listener.narrow(to: id)
        } catch {
            throw CommandFailure(error)
        }
    }

    // MARK: Lines

    /// A line about the connection: among the others, or beside those that programs read.
    private func write(_ text: String) throws(CommandFailure) {
        switch form {
        case .screen: break
        case .lines:
            let time = WallClock.timeOfDay(milliseconds: WallClock.milliseconds(at: WallClock.monotonic))
            try put(glyphs.clean("\(time)  \(text)"))
        case .json: Output.errors("jostle: \(text)")
        }
    }

    private func put(_ line: String) throws(CommandFailure) {
        if !Output.writes(line: line) { throw outputFailure() }
    }

    private func outputFailure() -> CommandFailure {
        let reason = errno == EPIPE ? "nobody reads it any more" : String(cString: strerror(errno))
        return CommandFailure(.cannotCreate, "standard output: \(reason)")
    }
}
