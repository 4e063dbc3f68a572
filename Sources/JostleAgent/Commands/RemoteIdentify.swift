internal import Documents
internal import JostleConfiguration
internal import JostleRuntime
internal import MotionCore

/// `identify`: blinks an LED on the board, so that a person can find the board.
struct RemoteIdentify: RemoteCommand, Equatable {
    /// The allowed durations, s.
    static let durations = 1.0...60.0

    /// How long to blink, s; `nil` to stop.
    let seconds: Double?

    init(_ arguments: CommandArguments) throws {
        seconds = try arguments.duration(within: RemoteIdentify.durations, default: 10)
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard let seconds else { return host.stop(.identify) }
        try host.requireIdle(.identify)
        let light: StatusLight
        do {
            light = try StatusLight.first(in: host.lights)
        } catch {
            host.log.info("identify: this is \(host.identity.id), but no LED can blink: \(error)")
            throw CommandRefusal(.unavailable, "\(error); the request is in the log of \(host.identity.id)")
        }
        host.log.info("identify: this is \(host.identity.id), blinking \(light.name) for \(seconds.rounded(to: 1)) s")
        host.begin(Blinking(light, seconds: seconds, reply), of: .identify)
        var answer = JSONObject()
        answer.add("light", light.name)
        answer.add("seconds", seconds, decimals: 1)
        answer.add("done", false)
        return answer
    }
}

/// A light that blinks for a while and is then restored.
private final class Blinking: CommandJob {
    /// Seconds between changes.
    private static let interval = 0.2

    let needsSensor = false
    private(set) var isOver = false
    private let light: StatusLight
    private let reply: CommandReply
    private let finish: Timestamp
    private var next: Timestamp
    private var isLit = false

    init(_ light: StatusLight, seconds: Double, _ reply: CommandReply) {
        self.light = light
        self.reply = reply
        next = WallClock.monotonic
        finish = next.advanced(bySeconds: seconds)
    }

    deinit {
        guard !isOver else { return }
        // No requester is waiting for a reply, so the failure cannot be reported.
        do { try light.restore() } catch {}
    }

    var deadline: Timestamp? { next }

    func advance(to now: Timestamp) {
        guard now < finish else { return end() }
        isLit.toggle()
        // Ignored: the next change may succeed, and `end` reports whether the light was restored.
        do { try light.set(isLit) } catch {}
        next = min(finish, now.advanced(bySeconds: Blinking.interval))
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        do {
            try light.restore()
        } catch {
            reply.refuse(CommandRefusal(.failed, "\(light.name) blinked and could not be restored: \(error)"))
            return
        }
        var answer = JSONObject()
        answer.add("light", light.name)
        answer.add("done", true)
        reply.send(answer)
    }
}
