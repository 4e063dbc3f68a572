internal import Glibc
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import Synchronization

/// Does the tasks of rules, each on a thread of its own: runs programs, posts events.
///
/// In a service, which has a sandbox, a socket of systemd starts `jostle run-action` for a program:
/// `JOSTLE_RUN_SOCKET` names it. Without that variable the agent runs programs itself.
final class ActionStarter: Sendable {
    /// Seconds that a post may take.
    private static let postLimit = 10
    /// Seconds that systemd and `jostle run-action` may take besides the program.
    private static let socketLimit = 20.0

    private let socket: String?
    private let version: String
    private let log: Log
    private let isStopped = Atomic<Bool>(false)

    init(version: String, log: Log) {
        self.version = version
        self.log = log
        let name = getenv("JOSTLE_RUN_SOCKET").map { String(cString: $0) } ?? ""
        socket = name.isEmpty ? nil : name
    }

    /// Starts a job; `done` is called on its thread.
    func start(_ job: ActionQueue.Job, done: @escaping @Sendable (ActionOutcome) -> Void) {
        let thread = WorkerThread(name: "action", stackSize: 1 << 19) { [self] in done(outcome(of: job)) }
        guard let thread else { return done(.failed("\(SystemFailure.noResources)", mayRetry: true)) }
        // Nobody waits for it, not even at the end of the program.
        thread.join(within: 0)
    }

    /// Ends the programs that the agent runs itself.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func outcome(of job: ActionQueue.Job) -> ActionOutcome {
        switch job.lane.task {
        case .run(let words, let seconds):
            let request = ProgramRequest(title: job.lane.title, words: words, seconds: seconds, event: job.event)
            return run(request).map { .failed($0, mayRetry: false) } ?? .done
        case .post(let webhook): return post(job.event, to: webhook, of: job.lane.title)
        }
    }

    // MARK: Programs

    /// Runs a program; returns why it failed.
    private func run(_ request: ProgramRequest) -> String? {
        if let socket { return send(request, to: socket) }
        return request.run {
            isStopped.load(ordering: .relaxed)
        } line: { line in
            log.info("action \(request.title): \(line)")
        }
    }

    /// Lets the service of the socket run a program; returns why it failed.
    private func send(_ request: ProgramRequest, to path: String) -> String? {
        let program = request.words.first ?? ""
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return "\(program): \(systemMessage(errno))" }
        defer { close(descriptor) }
        setTimeout(SO_SNDTIMEO, ActionStarter.socketLimit, of: descriptor)
        setTimeout(SO_RCVTIMEO, request.seconds + ActionStarter.socketLimit, of: descriptor)
        guard let address = UnixSocketAddress(path) else { return "\(program): \(path) is no path of a socket" }
        guard address.connect(descriptor) == 0 else {
            let code = errno
            let advice =
                code == EACCES || code == EPERM
                ? "only the user of the service may write to it" : "sudo systemctl start jostle-run.socket"
            return "\(program) cannot be run: \(path): \(systemMessage(code)); \(advice)"
        }
        let bytes = request.bytes
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return "\(program) cannot be run: \(path): \(systemMessage(errno))" }
            sent += count
        }
        shutdown(descriptor, Int32(SHUT_WR))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while answer.count < 1 << 16 {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            answer += buffer.prefix(count)
        }
        do { return try ProgramRequest.failure(in: answer) } catch {
            return "\(program) cannot be run: no answer from jostle-run@.service; see journalctl -u 'jostle-run@*'"
        }
    }

    private func setTimeout(_ option: Int32, _ seconds: Double, of descriptor: Int32) {
        var time = timeval(tv_sec: Int(seconds.rounded(.up)), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    // MARK: Posts

    /// Posts an event with curl(1), which gets the URL on its standard input, so that no list of processes shows it.
    private func post(_ event: String, to webhook: JostleSettings.Webhook, of title: String) -> ActionOutcome {
        let url: String
        do { url = try JostleSettings.url(of: webhook) } catch { return .failed("\(error)", mayRetry: false) }
        // No redirection is followed. The first option keeps it from reading a file of its user.
        let options = [
            ("url", url), ("data-raw", event), ("header", "Content-Type: application/json"),
            ("user-agent", "jostle/\(version)"), ("proto", "=http,https"), ("max-time", "\(ActionStarter.postLimit)"),
            ("output", "/dev/null"), ("write-out", "%{http_code}"),
        ]
        let lines = options.map { "\($0) = \(ActionStarter.quoted($1))\n" } + ["silent\n", "show-error\n", "globoff\n"]
        do {
            let outcome = try ChildProgram("curl", ["--disable", "--config", "-"]).run(
                within: Double(ActionStarter.postLimit) + 2, limit: 4096, input: Array(lines.joined().utf8)
            ) { isStopped.load(ordering: .relaxed) }
            return ActionStarter.judge(outcome, without: url)
        } catch {
            guard error.isMissing else { return .failed("curl: \(error)", mayRetry: true) }
            return .failed("post needs curl, which is not installed: sudo apt install curl", mayRetry: false)
        }
    }

    /// What became of a post.
    static func judge(_ outcome: ChildProgram.Outcome, without url: String) -> ActionOutcome {
        switch outcome.end {
        case .stopped: return .failed("no answer within \(postLimit) s", mayRetry: true)
        case .killed(let signal): return .failed("curl was killed by signal \(signal)", mayRetry: true)
        case .exited(0):
            guard let status = Int(outcome.output.prefix { $0.isNumber }) else {
                return .failed("curl reports no status", mayRetry: true)
            }
            if (200...299).contains(status) { return .done }
            let advice = (300...399).contains(status) ? ", a redirection, which is not followed" : ""
            return .failed(
                "the web server answered \(status)\(advice)",
                mayRetry: status >= 500 || status == 408 || status == 429)
        case .exited(let status):
            let line = outcome.errors.split(whereSeparator: \.isNewline).first.map(String.init) ?? "status \(status)"
            // 1 and 3: a URL that curl does not take.
            return .failed(
                ForeignText.excerpt(line.replacing(url, with: "[URL]"), limit: 200),
                mayRetry: status != 1 && status != 3)
        }
    }

    /// A value in the syntax of curl's configuration.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "\\": quoted += "\\\\"
            case "\"": quoted += "\\\""
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }
}
