internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore

/// Formats received messages as lines, one per change, for a file, a pipe, or a terminal without a full screen.
struct WatchLines {
    let glyphs: Glyphs

    /// When each device's attitude may be printed again: once per second.
    private var nextAttitude: [String: Timestamp] = [:]

    /// The last printed state of each device. Changes of tilt and vibration level alone are not printed.
    private var printedState: [String: String] = [:]

    init(glyphs: Glyphs) {
        self.glyphs = glyphs
    }

    /// The line for a change of a device; `nil` if it is not worth one.
    mutating func line(
        _ change: WatchModel.Change, of device: WatchedDevice, at now: Timestamp, time: String
    ) -> String? {
        guard let text = text(change, device, now) else { return nil }
        return glyphs.clean("\(time)  \(device.id)  \(text)")
    }

    private mutating func text(_ change: WatchModel.Change, _ device: WatchedDevice, _ now: Timestamp) -> String? {
        switch change {
        case .availability: return WatchText.availability(device)
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
        case .health:
            guard let health = device.health else { return nil }
            let problems = health.problems.isEmpty ? "" : "problems: \(health.problems.joined(separator: ", ")), "
            return "health  \(problems)\(WatchText.health(health).joined(separator: ", "))"
        case .configuration:
            guard let configuration = device.configuration else { return "configuration  no layers" }
            return "configuration  \(WatchText.configuration(configuration))"
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
        do throws(ConfigurationProblem) {
            _ = try JSONReader.read(bytes, source: .message("payload"))
        } catch {
            return JSONText.quoted(String(decoding: bytes, as: UTF8.self))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
