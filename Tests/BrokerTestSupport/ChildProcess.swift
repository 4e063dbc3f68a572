import Foundation

/// A child process with a channel to its standard input and output.
///
/// Foundation's `Process` waits in a run loop, which blocks the few threads that tests share, and lets other children
/// inherit its pipes. One task at a time may use it.
package final class ChildProcess: @unchecked Sendable {
    /// The process, until it has been reaped.
    package let identifier: pid_t

    private let channel: Int32
    private var status: Int32?

    /// Starts a program (`posix_spawnp`), with its standard error in a file if one is given.
    ///
    /// - Throws: `commandFailed` if the system does not start it.
    package init(_ arguments: [String], in directory: TemporaryDirectory, errors: String = "/dev/null") throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw TestBrokerError.commandFailed("socketpair") }
        defer { close(ends[1]) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)

        // Otherwise the child would keep the test's connections open after the test has closed its descriptors.
        for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }

        // Test threads block signals, and a shell that inherits the mask does not notice the end of its children.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        // The program runs in the directory, because openssl writes to its working directory.
        let words = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory.path] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        var identifier = pid_t()
        let code = posix_spawn(&identifier, "/bin/sh", &actions, &attributes, pointers, environ)
        guard code == 0 else {
            close(ends[0])
            throw TestBrokerError.commandFailed("posix_spawn: \(code)")
        }
        self.identifier = identifier
        channel = ends[0]
    }

    deinit {
        close(channel)
    }

    /// Writes to its standard input.
    package func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Foundation.write(channel, bytes, bytes.count)
    }

    /// Reads up to 256 bytes of its output.
    func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = Foundation.read(channel, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }

    /// Waits for its end and returns its exit status; 128 and more for a signal.
    @discardableResult
    package func wait() -> Int32 { ended(0) ?? -1 }

    /// Kills it and waits for its end. Has no effect if it has ended.
    package func kill() {
        if exitStatus() == nil { Foundation.kill(identifier, SIGKILL) }
        wait()
    }

    /// Its exit status as in `wait`; `nil` while it runs.
    package func exitStatus() -> Int32? { ended(WNOHANG) }

    private func ended(_ options: Int32) -> Int32? {
        if let status { return status }
        var code: Int32 = 0
        var answer = waitpid(identifier, &code, options)
        while answer < 0, errno == EINTR { answer = waitpid(identifier, &code, options) }
        if answer == 0 { return nil }
        let signal = code & 0x7F
        status = answer < 0 ? -1 : signal == 0 ? code >> 8 & 0xFF : 128 + signal
        return status
    }
}

/// Runs a program to its end.
///
/// - Throws: `commandFailed` with its standard error output.
package func runCommand(_ arguments: [String], in directory: TemporaryDirectory) throws {
    let errors = directory.path("errors.txt")
    let child = try ChildProcess(arguments, in: directory, errors: errors)
    if child.wait() != 0 {
        let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        throw TestBrokerError.commandFailed(arguments.joined(separator: " ") + ": " + text)
    }
}
