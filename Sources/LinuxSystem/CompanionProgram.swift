internal import Glibc
internal import Synchronization

/// A program that runs beside this one and ends with it, however this one ends: posix_spawnp(3), setpriv(1).
package final class CompanionProgram: Sendable {
    /// Its process. The number may belong to another one after it has ended.
    package let process: Int32
    /// Its exit status once it has ended: 128 and the number of a signal that killed it.
    private let status = Mutex<Int32?>(nil)

    /// Starts the program at a path, or one in `PATH`, without input. `variables` are added to the environment. `output` is
    /// the descriptor that becomes its standard output, which is dropped without one, and `messages` the file that its
    /// messages are appended to. `launcher` is setpriv with further options for it.
    ///
    /// Call it on the main thread: the kernel ends the program when the thread that started it ends.
    ///
    /// - Throws: if it cannot be started: `ENOENT` if there is no setpriv. Without the program itself, setpriv ends at
    ///   once, with a message.
    package init(
        _ path: String, _ arguments: [String], variables: [String: String] = [:], output: Int32? = nil,
        messages: String = "/dev/null", launcher: [String] = ["setpriv"]
    ) throws(SystemFailure) {
        var process = pid_t()
        let command = launcher + ["--pdeathsig", "TERM", path] + arguments
        // Ctrl-C ends only this program, which then stops the other one.
        let code = ChildProgram.spawn(&process, command, adding: variables, without: ChildProgram.serviceVariables) {
            actions in
            if let output {
                posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
            } else {
                posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            }
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
        guard code == 0 else { throw SystemFailure(code: code) }
        self.process = process
    }

    deinit {
        stop()
    }

    /// Its exit status, 128 or more if a signal killed it; `nil` while it runs: waitpid(2).
    package var exitStatus: Int32? {
        status.withLock { status in
            var code: Int32 = 0
            if status == nil, waitpid(process, &code, WNOHANG) == process {
                switch ChildProgram.end(ofStatus: code) {
                case .exited(let number): status = number
                case .killed(let signal): status = 128 + signal
                case .stopped: break
                }
            }
            return status
        }
    }

    /// Its exit status as soon as it has ended; `nil` if it still runs after so many seconds.
    package func exitStatus(within seconds: Double) -> Int32? {
        let deadline = MonotonicTime.seconds + seconds
        while exitStatus == nil, MonotonicTime.seconds < deadline { usleep(5000) }
        return exitStatus
    }

    /// Asks it to end, and kills it if it does not within so many seconds.
    package func stop(within seconds: Double = 2) {
        guard exitStatus == nil else { return }
        kill(process, SIGTERM)
        while exitStatus(within: seconds) == nil { kill(process, SIGKILL) }
    }
}
