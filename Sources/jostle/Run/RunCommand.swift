internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem

/// `jostle run`: the agent, as a service.
enum RunCommand {
    static let usage = CommandUsage(
        name: "run", summary: "read the sensor and publish attitude and gestures, until stopped by a signal",
        details: """
            Without --config the configuration is $JOSTLE_CONFIG, else /etc/jostle/jostle.yaml, else the built-in
            defaults; without mqtt.broker the broker is the one on this machine. If several agents run on a board, each
            has its name in $JOSTLE_INSTANCE: the instance left reads /etc/jostle/left.yaml and has -left in its default
            device.id.

            Without a terminal, as a service, SIGHUP makes it read the configuration again.
            """,
        options: CommandUsage.configurationOptions + [Option("for", value: "SECONDS", help: "stop after this time")])

    static func run(_ arguments: Arguments) throws {
        let configuration = try Configuration.load(arguments, boardFile: .replaceable)
        let seconds = try arguments.seconds("for")
        // Until here, a signal ends the program: a configuration may be a pipe that delivers nothing.
        let signals = SignalWaiter(mayReload: true)
        let agent = try Agent(
            configuration: configuration, version: version, stateDirectory: Configuration.stateDirectory,
            log: Log(level: configuration.settings.log.level, keepsLines: true),
            readAgain: Configuration.reading(arguments))
        if case .restart = try agent.run(for: seconds, signals: signals) {
            throw Failure(.temporary, "restarting, as requested over MQTT")
        }
    }
}

/// `jostle run-action`: runs one program for a rule of the agent, whose service has a sandbox that would bind it.
///
/// systemd starts it for each connection to the socket that only the agent may write to (jostle-run.socket). The request is
/// its standard input, and the answer its standard output. Which programs may run is in a file of root.
enum RunActionCommand {
    static let usage = CommandUsage(
        name: "run-action", summary: "run the program of a rule, as the agent asks for it on the standard input",
        details: "jostle-run@.service starts it. What the program prints goes to the log.",
        options: [
            Option("programs", value: "FILE", help: "the programs that may run; \(ProgramList.path) by default")
        ], isHidden: true)

    /// Seconds within which the request must have arrived.
    private static let requestLimit = 5.0

    static func run(_ arguments: Arguments) throws {
        let log = Log(level: .info)
        guard let bytes = request(), let request = ProgramRequest(bytes) else {
            throw Failure(.badData, "what came on the standard input is no request of the agent")
        }
        let list = ProgramList(arguments.value("programs") ?? ProgramList.path)
        let failure =
            list.refusal(of: request.words.first ?? "")
            ?? request.run { log.info("action \(request.title): \($0)") }
        if let failure { log.warning("action \(request.title): \(failure)") }
        Output.text(String(decoding: ProgramRequest.answer(failure), as: UTF8.self))
        Output.flush()
    }

    /// Reads the standard input to its end; `nil` if that does not come, or too late: poll(2).
    private static func request() -> [UInt8]? {
        let deadline = WallClock.monotonic.advanced(bySeconds: requestLimit)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= ProgramRequest.maximumBytes {
            let left = deadline.remaining(at: WallClock.monotonic)
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&entry, 1, Int32(left * 1000) + 1) > 0 else { return nil }
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += buffer.prefix(count)
        }
        return nil
    }
}
