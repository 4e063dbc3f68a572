internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore

/// `identify`: a light on the board blinks, so that somebody finds it.
struct RemoteIdentify: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.identify
    static let argumentNames = ["seconds", "stop"]

    /// How long it may blink, s.
    static let durations = 1.0...60.0

    /// How long it blinks, s; `nil` to end it.
    let seconds: Double?

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        seconds = try arguments.duration(within: RemoteIdentify.durations, default: 10)
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard let seconds else { return JSONObject(stopped: host.end(RemoteIdentify.name)) }
        try host.requireIdle(RemoteIdentify.name)
        let light: StatusLight
        do throws(StatusLightError) {
            light = try StatusLight.first(in: host.lights)
        } catch {
            host.log.info("identify: this is \(host.identity.id); \(error)")
            throw CommandRefusal(.unavailable, "\(error); the log says that this is \(host.identity.id)")
        }
        host.log.info("identify: this is \(host.identity.id), blinking \(light.name) for \(seconds.rounded(to: 1)) s")
        host.begin(Blinking(light, seconds: seconds, reply), of: RemoteIdentify.name)
        var answer = JSONObject()
        answer.add("light", light.name)
        answer.add("seconds", seconds, decimals: 1)
        answer.add("done", false)
        return answer
    }
}

/// A light that blinks for a while and is then as it was.
private final class Blinking: CommandJob {
    /// Seconds between two changes.
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
        // Nobody waits for the answer any more, so a failure has no reader.
        do throws(SystemFailure) { try light.restore() } catch {}
    }

    var deadline: Timestamp? { next }

    func advance(to now: Timestamp) {
        guard now < finish else { return end() }
        isLit.toggle()
        // A change that fails is not worth a word: the next one may not, and the end says whether all is as it was.
        do throws(SystemFailure) { try light.set(isLit) } catch {}
        next = min(finish, now.advanced(bySeconds: Blinking.interval))
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        do throws(SystemFailure) {
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
