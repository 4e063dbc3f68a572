internal import CLinuxSystem
internal import Glibc

/// Runs a program that talks to the user: with the input, the output and the terminal of this process.
package enum ForegroundProgram {
    /// Runs it to its end.
    ///
    /// - Returns: its exit status; 128 and more after a signal.
    /// - Throws: if it cannot be started: `ENOENT` if there is no such program.
    package static func run(_ words: [String]) throws(SystemFailure) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process may block some signals, and ignore SIGPIPE.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        var ordinary = sigset_t()
        sigemptyset(&ordinary)
        sigaddset(&ordinary, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let code = posix_spawnp(&process, words[0], nil, &attributes, &arguments, environ)
        guard code == 0 else { throw SystemFailure(code: code) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw SystemFailure(code: errno) }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}
