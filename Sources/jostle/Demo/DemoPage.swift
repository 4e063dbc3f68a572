internal import Glibc
internal import LinuxSystem
internal import MosquittoClient
internal import Synchronization

/// The web page beside a demonstration: the program `jostle-page` at the private broker, which ends with it.
final class DemoPage: Sendable {
    /// Where it is if nothing else uses that: as without a configuration.
    private static let usual = "127.0.0.1:8088"
    /// How long it may take until it prints its address, seconds.
    private static let patience = 10.0

    /// What it is started with.
    struct Plan {
        var broker: BrokerAddress
        /// The first part of the topics.
        var prefix: String
        /// The login at the broker, and the settings `page.…` of the command line: `key=value`.
        var settings: [String]
        /// Whether one of them is the address.
        var hasAddress: Bool
        /// A directory for the files of the page.
        var directory: String
    }

    /// The address with which one browser signs in.
    let address: String
    private let program: CompanionProgram
    private let isReported = Mutex(false)

    /// Starts it and waits for its address. If the usual port is in use, it takes a free one.
    ///
    /// Call it on the main thread: see `CompanionProgram`.
    ///
    /// - Throws: why it cannot be started.
    init(_ plan: Plan, signals: SignalWaiter) throws {
        guard let path = OtherProgram.page.installedPath else {
            throw Failure(.unavailable, OtherProgram.page.absence)
        }
        FileContents.makeDirectories(plan.directory)
        let listen = plan.hasAddress ? [[]] : [["--listen", DemoPage.usual], ["--listen", "127.0.0.1:0"]]
        var failure = Failure(.unavailable, "it was interrupted")
        for words in listen {
            let (program, line) = try DemoPage.start(path, words, plan, signals)
            if let line {
                (self.program, address) = (program, line)
                return
            }
            failure = Failure(.unavailable, DemoPage.reason(plan) ?? "jostle-page printed no address within 10 s")
            // Its output ends a moment before the program does.
            guard program.exitStatus(within: 1) == ExitStatus.unavailable.rawValue else { break }
        }
        throw failure
    }

    /// Stops it.
    func stop() { program.stop() }

    /// That it has ended by itself, once.
    func takeEnd() -> String? {
        guard let status = program.exitStatus else { return nil }
        let isNew = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        return isNew ? "The web page has ended, status \(status); the demonstration goes on." : nil
    }

    // MARK: The start

    private static func messages(_ plan: Plan) -> String { "\(plan.directory)/messages" }

    /// - Returns: the program, and the address that it printed; `nil` if it has ended or printed none in time.
    private static func start(
        _ path: String, _ listen: [String], _ plan: Plan, _ signals: SignalWaiter
    ) throws -> (program: CompanionProgram, line: String?) {
        // Nothing of this board's configuration, which may be for a page that others reach.
        let settings = ["page.control=true", "log.level=warning", "mqtt.prefix=\(plan.prefix)"] + plan.settings
        let arguments =
            ["--config", "/dev/null", "--broker", "\(plan.broker)"] + listen + settings.flatMap { ["--set", $0] }
        unlink(messages(plan))
        let (output, outputEnd) = try ChildProgram.channel()
        defer { close(output) }
        let program: CompanionProgram
        do {
            defer { close(outputEnd) }
            program = try CompanionProgram(
                path, arguments, variables: ["STATE_DIRECTORY": plan.directory],
                output: outputEnd, messages: messages(plan))
        } catch {
            throw Failure(.unavailable, "jostle-page cannot be started: setpriv: \(error)")
        }
        return (program, firstLine(from: output, signals))
    }

    /// The first line that arrives; `nil` if none does before the end of the output, in time, or before a signal.
    private static func firstLine(from descriptor: Int32, _ signals: SignalWaiter) -> String? {
        var bytes: [UInt8] = []
        let deadline = MonotonicTime.seconds + patience
        while MonotonicTime.seconds < deadline, !signals.isPending, bytes.count < 4096 {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 50) > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 512)
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return nil }
            bytes += buffer.prefix(count)
            if let end = bytes.firstIndex(of: 0x0A) { return String(decoding: bytes[..<end], as: UTF8.self) }
        }
        return nil
    }

    /// What the program said about its failure, without its name.
    private static func reason(_ plan: Plan) -> String? {
        let text = FileContents.text(ofOptional: messages(plan), limit: 4096) ?? ""
        let name = "jostle-page: "
        return text.split(whereSeparator: \.isNewline).first.map { line in
            String(line.hasPrefix(name) ? line.dropFirst(name.count) : line)
        }
    }
}
