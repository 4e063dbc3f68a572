internal import Glibc
internal import IMUDrivers
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore
internal import MotionKit

/// Draws an agent in the same process as `jostle watch` draws one at a broker, with the command to subscribe below.
///
/// What the agent reports becomes the messages that it publishes, and those go through the model of `watch`. So both show
/// the same.
final class LiveScreen {
    /// The shortest time between two screens, seconds.
    private static let period = 1.0 / 15

    private let id: String
    private let topics: Topics
    private let introduction: Introduction
    private var notes: [String]
    private let glyphs: Glyphs
    private let screen = TerminalScreen()
    private let errors = HeldErrors()
    private var model: WatchModel
    private var connection = ConnectionStatus()
    private var eventCount = 0
    private var size: ScreenSize
    private var drawn = Timestamp(nanoseconds: .min / 2)
    private var hasEnded = false

    /// Takes over the terminal.
    init(id: String, prefix: String, glyphs: Glyphs, introduction: Introduction, notes: [String]) {
        self.id = id
        topics = Topics(prefix: prefix, id: id)
        self.introduction = introduction
        self.notes = notes
        self.glyphs = glyphs
        model = WatchModel(prefix: prefix, onlyDevice: id)
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

    /// Shows one more note.
    func note(_ text: String) { notes.append(text) }

    // MARK: What the agent reports

    func show(_ change: LiveChange) {
        switch change {
        case .motion(let motion): show(motion)
        case .gesture(let event): show(event)
        case .sensor(let event): show(event)
        case .connection(let change): show(change)
        }
    }

    private func show(_ motion: MotionState) {
        guard WallClock.monotonic.seconds(since: drawn) >= LiveScreen.period else { return }
        let time = WallClock.milliseconds(at: motion.timestamp)
        take(topics.attitude, Payloads.attitude(motion, at: time))
        take(topics.motion, Payloads.motion(motion, at: time))
        take(topics.state, Payloads.state(DeviceState(motion, isSimulated: false), at: time))
        draw()
    }

    private func show(_ event: GestureEvent) {
        eventCount += 1
        let time = WallClock.milliseconds(at: event.timestamp)
        take(
            "\(topics.events)\(event.gesture.word)",
            Payloads.event(event, id: "\(eventCount)", at: time, isSimulated: event.isSimulated))
        draw()
    }

    private func show(_ event: SensorEvent) {
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

    private func show(_ change: Agent.ConnectionChange) {
        switch change {
        case .connected(let new):
            _ = connection.update(with: .connected(broker: "\(new.broker)", version: "\(new.version)"))
        case .notConnected(let broker, let failure):
            _ = connection.update(with: .failed("\(broker): \(failure)", retryAfter: nil))
        }
        let isOnline = if case .connected = change { true } else { false }
        take(topics.availability, isOnline ? "online" : "offline")
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
        let device = model.devices[id] ?? model.emptyDevice(id)
        let lines = DemoScreen(glyphs: glyphs, timeOfDay: { WallClock.timeOfDay(milliseconds: $0) }).lines(
            device, connection, page: introduction.page, listen: introduction.listen,
            notes: notes + (errors.lastLine.map { [$0] } ?? []),
            at: now, size: size)
        let keys = screen.takeKeys()
        if keys.contains(0x0C) { screen.invalidate() }
        let isThere = screen.draw(lines)
        // The main thread waits for the signals that end the agent.
        if !isThere || keys.contains(UInt8(ascii: "q")) || keys.contains(UInt8(ascii: "Q")) { kill(getpid(), SIGTERM) }
    }
}
