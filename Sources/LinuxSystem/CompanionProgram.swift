internal import Glibc
internal import Synchronization

/// A program that runs beside this one and ends with it, however this one ends: posix_spawnp(3), setpriv(1).
package final class CompanionProgram: Sendable {
    /// How long a program may take to end when it is asked to, seconds.
    private static let patience = 2.0

    /// Where its output goes.
    package struct Streams {
        /// The descriptor that becomes its standard output.
        package var output: Int32
        /// The file that its messages are appended to.
        package var messages: String

        package init(output: Int32, messages: String) {
            self.output = output
            self.messages = messages
        }
    }

    /// Its process, and its exit status once it has ended: 128 and the number of a signal that killed it.
    private struct State {
        var process: pid_t
        var status: Int32?
    }

    private let state: Mutex<State>

    /// Starts the program at a path, or one in `PATH`, without input. `variables` are added to the environment.
    ///
    /// Call it on the main thread: the kernel ends the program when the thread that started it ends.
    ///
    /// - Throws: if it cannot be started: `ENOENT` if there is no setpriv. Without the program itself, setpriv ends at
    ///   once, with a message.
    package init(
        _ path: String, _ arguments: [String], variables: [String: String], _ streams: Streams
    ) throws(SystemFailure) {
        var process = pid_t()
        let code = CompanionProgram.spawn(&process, [path] + arguments, variables, streams)
        guard code == 0 else { throw SystemFailure(code: code) }
        state = Mutex(State(process: process))
    }

    deinit {
        stop()
    }

    /// Its exit status, 128 or more if a signal killed it; `nil` while it runs: waitpid(2).
    package var exitStatus: Int32? {
        state.withLock { state in
            if state.status == nil {
                var status: Int32 = 0
                if waitpid(state.process, &status, WNOHANG) == state.process {
                    state.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
                }
            }
            return state.status
        }
    }

    /// Its exit status as soon as it has ended; `nil` if it still runs after so many seconds.
    package func exitStatus(within seconds: Double) -> Int32? {
        let deadline = MonotonicTime.seconds + seconds
        while exitStatus == nil, MonotonicTime.seconds < deadline { usleep(5000) }
        return exitStatus
    }

    /// Asks it to end, and kills it if it does not.
    package func stop() {
        guard exitStatus == nil else { return }
        let process = state.withLock { $0.process }
        kill(process, SIGTERM)
        while exitStatus(within: CompanionProgram.patience) == nil { kill(process, SIGKILL) }
    }

    /// - Returns: 0, or the errno of the failure.
    private static func spawn(
        _ process: inout pid_t, _ command: [String], _ variables: [String: String], _ streams: Streams
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process may block some signals, and ignores SIGPIPE.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // A process group of its own, so that Ctrl-C ends only this program, which then stops the other one.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(
            &actions, STDERR_FILENO, streams.messages, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let launcher = ["setpriv", "--pdeathsig", "TERM"]
        var words: [UnsafeMutablePointer<CChar>?] = (launcher + command).map { strdup($0) } + [nil]
        var entries: [UnsafeMutablePointer<CChar>?] = environment(variables) + [nil]
        defer { for pointer in words + entries { free(pointer) } }
        return posix_spawnp(&process, "setpriv", &actions, &attributes, &words, &entries)
    }

    /// The variables of this process with others added or replaced, without those by which systemd knows this one.
    private static func environment(_ added: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
        let left = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"] + added.keys
        var entries: [UnsafeMutablePointer<CChar>?] = added.map { strdup("\($0.key)=\($0.value)") }
        var next = environ
        while let variable = next.pointee {
            let name = String(cString: variable).prefix { $0 != "=" }
            if !left.contains(String(name)) { entries.append(strdup(variable)) }
            next += 1
        }
        return entries
    }
}
