internal import JostleConfiguration
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore

/// What is watched as lines, one for each thing that happens, for a file, a pipe or a person who wants no screen.
struct WatchLines {
    let glyphs: Glyphs

    /// When each device's attitude may be told again: once a second.
    private var nextAttitude: [String: Timestamp] = [:]

    /// What was told of each device's state: tilt and vibration change without being worth a line.
    private var toldState: [String: String] = [:]

    init(glyphs: Glyphs) {
        self.glyphs = glyphs
    }

    /// The line about news of a device; `nil` where it is not worth one.
    mutating func line(_ news: WatchModel.News, of device: WatchedDevice, at now: Timestamp, time: String) -> String? {
        guard let words = words(news, device, now) else { return nil }
        return glyphs.clean("\(time)  \(device.id)  \(words)")
    }

    private mutating func words(_ news: WatchModel.News, _ device: WatchedDevice, _ now: Timestamp) -> String? {
        switch news {
        case .availability: return WatchWords.availability(device)
        case .attitude:
            guard let attitude = device.attitude, nextAttitude[device.id].map({ now >= $0 }) ?? true else { return nil }
            nextAttitude[device.id] = now.advanced(bySeconds: 1)
            let angles = [("roll", attitude.roll), ("pitch", attitude.pitch), ("heading", attitude.yaw)]
            return "attitude  " + angles.map { "\($0.0) \(formatted($0.1, "%.1f"))°" }.joined(separator: "  ")
        case .motion: return nil
        case .state:
            guard let state = device.state.map(WatchWords.state), toldState[device.id] != state else { return nil }
            toldState[device.id] = state
            return "state  \(state)"
        case .health:
            guard let health = device.health else { return nil }
            let problems = health.problems.isEmpty ? "" : "problems: \(health.problems.joined(separator: ", ")), "
            return "health  \(problems)\(WatchWords.health(health).joined(separator: ", "))"
        case .event(let event): return WatchWords.event(event)
        case .malformed(let reason): return "malformed  \(reason)"
        }
    }

    /// A message as a JSON object in a line: the payload as it is if it is JSON, else as text. Its values may contain
    /// control characters and line breaks, which `Output` escapes.
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
