internal import CLinuxSystem
internal import Glibc

/// Runs another program to its end and takes what it prints: posix_spawnp(3), poll(2), waitpid(2).
package struct ChildProgram: Sendable {
    /// How a run ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
        /// It did not end in time, or the caller was interrupted, and it was killed.
        case stopped
    }

    /// What a program printed, and how it ended. Invalid UTF-8 is replaced.
    package struct Outcome: Equatable, Sendable {
        package var output: String
        package var errors: String
        package var end: End
        /// Whether it printed more than was kept.
        package var isCut: Bool
    }

    private let path: String
    private let arguments: [String]

    /// A program with its arguments. A name without a slash is searched for in `PATH`.
    package init(_ path: String, _ arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    /// The most bytes of input. A pipe takes them at once, whether the program reads them or not.
    package static let longestInput = 1 << 15

    /// Runs it in English, and keeps the first `limit` bytes of each output. What it starts is killed with it if it does not
    /// end within `seconds`, or as soon as `isInterrupted` returns true.
    ///
    /// `input` is its standard input; `variables` are added to those of this process, without those of a service.
    ///
    /// - Throws: if it cannot be started: `ENOENT` if there is no such program.
    package func run(
        within seconds: Double, limit: Int = 1 << 16, input: [UInt8] = [], variables: [String: String] = [:],
        isInterrupted: () -> Bool = { false }
    ) throws(SystemFailure) -> Outcome {
        let all = variables.merging(["LC_ALL": "C.UTF-8"]) { mine, _ in mine }
        let (process, output, errors) = try start(input, all)
        defer {
            close(output)
            close(errors)
        }
        var readers = [OutputReader(output, limit: limit), OutputReader(errors, limit: limit)]
        let end = ChildProgram.wait(for: process, &readers, seconds, isInterrupted)
        return Outcome(
            output: String(decoding: readers[0].bytes, as: UTF8.self),
            errors: String(decoding: readers[1].bytes, as: UTF8.self), end: end,
            isCut: readers.contains { $0.isCut })
    }

    /// Starts it, and returns the descriptors at which its outputs arrive. Those of the child are closed here, so that they
    /// end with it.
    private func start(
        _ input: [UInt8], _ variables: [String: String]
    ) throws(SystemFailure) -> (process: pid_t, output: Int32, errors: Int32) {
        let source = try ChildProgram.source(of: input)
        defer { if let source { close(source) } }
        let (output, outputEnd) = try ChildProgram.channel()
        defer { close(outputEnd) }
        let errors: (mine: Int32, its: Int32)
        do { errors = try ChildProgram.channel() } catch {
            close(output)
            throw error
        }
        defer { close(errors.its) }
        var process = pid_t()
        let code = ChildProgram.spawn(
            &process, [path] + arguments, adding: variables, without: ChildProgram.serviceVariables
        ) { actions in
            if let source { posix_spawn_file_actions_adddup2(&actions, source, STDIN_FILENO) }
            posix_spawn_file_actions_adddup2(&actions, outputEnd, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, errors.its, STDERR_FILENO)
        }
        guard code == 0 else {
            close(output)
            close(errors.mine)
            throw SystemFailure(code: code)
        }
        return (process, output, errors.mine)
    }

    /// A pipe with an input in it; `nil` without any: pipe2(2). No socket, because of one a shell thinks that somebody has
    /// logged in.
    private static func source(of input: [UInt8]) throws(SystemFailure) -> Int32? {
        guard !input.isEmpty else { return nil }
        guard input.count <= longestInput else { throw SystemFailure(code: E2BIG) }
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemFailure(code: errno) }
        let count = write(ends[1], input, input.count)
        let failure = errno
        close(ends[1])
        guard count == input.count else {
            close(ends[0])
            throw SystemFailure(code: failure)
        }
        return ends[0]
    }

    /// The variables by which systemd knows a service, and not the programs that it starts.
    static let serviceVariables = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"]

    /// What it prints if it succeeds; `nil` if it fails, does not end in time or is not installed.
    package func output(within seconds: Double) -> String? {
        do {
            let outcome = try run(within: seconds)
            return outcome.end == .exited(0) ? outcome.output : nil
        } catch {
            return nil
        }
    }

    /// Two connected sockets: one for this process, and one that becomes an output of a child. The descriptors are closed
    /// in other children from the start.
    package static func channel() throws(SystemFailure) -> (mine: Int32, its: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemFailure(code: errno) }
        return (ends[0], ends[1])
    }

    /// Starts a program, in a process group of its own, which can be killed as a whole, and which Ctrl-C does
    /// not reach. `outputs` says where its outputs go, and where its input comes from, if it has any; variables of this process are added, replaced or left out.
    ///
    /// - Returns: 0, or the errno of the failure.
    static func spawn(
        _ process: inout pid_t, _ command: [String], adding variables: [String: String], without omitted: [String] = [],
        outputs: (inout posix_spawn_file_actions_t) -> Void
    ) -> Int32 {
        var attributes = attributes(flags: POSIX_SPAWN_SETPGROUP)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        outputs(&actions)
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var entries = environment(adding: variables, without: omitted) + [nil]
        defer { for pointer in words + entries { free(pointer) } }
        return posix_spawnp(&process, command[0], &actions, &attributes, &words, &entries)
    }

    /// Attributes with which a program gets ordinary signals. This process may block some, and ignores SIGPIPE.
    private static func attributes(flags: Int32 = 0) -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        var ordinary = sigset_t()
        sigemptyset(&ordinary)
        sigaddset(&ordinary, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | flags))
        return attributes
    }

    /// Runs a program that talks to the user: with the input, the output and the terminal of this process.
    ///
    /// - Throws: if it cannot be started: `ENOENT` if there is no such program.
    package func runInForeground() throws(SystemFailure) -> End {
        var attributes = ChildProgram.attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process = pid_t()
        let code = posix_spawnp(&process, path, nil, &attributes, &words, environ)
        guard code == 0 else { throw SystemFailure(code: code) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw SystemFailure(code: errno) }
        }
        return ChildProgram.end(ofStatus: status)
    }

    /// What a status of waitpid(2) says.
    static func end(ofStatus status: Int32) -> End {
        status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
    }

    /// The variables of this process with others added or replaced, and without some. The caller frees them.
    private static func environment(
        adding added: [String: String], without omitted: [String]
    ) -> [UnsafeMutablePointer<CChar>?] {
        let replaced = omitted + added.keys
        var variables: [UnsafeMutablePointer<CChar>?] = added.map { strdup("\($0.key)=\($0.value)") }
        var next = environ
        while let variable = next.pointee {
            let name = String(cString: variable).prefix { $0 != "=" }
            if !replaced.contains(String(name)) { variables.append(strdup(variable)) }
            next += 1
        }
        return variables
    }

    private static func wait(
        for process: pid_t, _ readers: inout [OutputReader], _ seconds: Double, _ isInterrupted: () -> Bool
    ) -> End {
        let deadline = MonotonicTime.seconds + seconds
        var end: End?
        // When a program has ended, what it started may keep its output open.
        var lastByte = MonotonicTime.seconds
        while true {
            var entries = readers.map { pollfd(fd: $0.isOpen ? $0.descriptor : -1, events: Int16(POLLIN), revents: 0) }
            _ = poll(&entries, nfds_t(entries.count), 20)
            for index in entries.indices where entries[index].revents != 0 {
                readers[index].read()
                lastByte = MonotonicTime.seconds
            }
            if end == nil {
                var status: Int32 = 0
                if waitpid(process, &status, WNOHANG) == process {
                    end = ChildProgram.end(ofStatus: status)
                }
            }
            if let end, !readers.contains(where: \.isOpen) || MonotonicTime.seconds - lastByte > 0.2 { return end }
            guard MonotonicTime.seconds < deadline, !isInterrupted() else {
                kill(-process, SIGKILL)
                guard let end else {
                    var status: Int32 = 0
                    while waitpid(process, &status, 0) < 0, errno == EINTR {}
                    return .stopped
                }
                return end
            }
            // Without open outputs, poll would return at once until the program has ended.
            if !readers.contains(where: \.isOpen) { usleep(10_000) }
        }
    }
}

/// The beginning of what arrives at a descriptor.
private struct OutputReader {
    let descriptor: Int32
    private let limit: Int
    private(set) var bytes: [UInt8] = []
    private(set) var isOpen = true
    private(set) var isCut = false

    init(_ descriptor: Int32, limit: Int) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Reads once. What is beyond the limit is dropped, so that the program does not wait.
    mutating func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else {
            isOpen = false
            return
        }
        let kept = min(count, limit - bytes.count)
        bytes += buffer.prefix(kept)
        isCut = isCut || kept < count
    }
}
