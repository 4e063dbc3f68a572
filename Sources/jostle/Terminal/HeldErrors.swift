internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

/// Holds back what is written to standard error while a screen is shown on the same terminal, and writes it afterwards.
///
/// The text goes to a temporary file without a name. If standard error is not a terminal, nothing changes.
final class HeldErrors {
    private static let limit = 1 << 16

    /// The file, and the terminal; negative if nothing is held.
    private var file: Int32 = -1
    private var terminal: Int32 = -1

    init() {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let directory = Configuration.variable("TMPDIR") ?? "/tmp"
        var template = Array("\(directory)/jostle-errors-XXXXXX".utf8CString)
        file = mkstemp(&template)
        guard file >= 0 else { return }
        unlink(template)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        if terminal >= 0 { dup2(file, STDERR_FILENO) }
    }

    deinit {
        release()
    }

    /// The last line that was held back; `nil` if there is none.
    var lastLine: String? {
        guard terminal >= 0 else { return nil }
        return String(decoding: bytes(last: 1000), as: UTF8.self).split(separator: "\n").last.map(String.init)
    }

    /// Writes what was held back, at most the last 64 KB, and lets further text through.
    func release() {
        if terminal >= 0 {
            let bytes = bytes(last: HeldErrors.limit)
            dup2(terminal, STDERR_FILENO)
            close(terminal)
            if !bytes.isEmpty { Output.errors(held: bytes) }
        }
        if file >= 0 { close(file) }
        (file, terminal) = (-1, -1)
    }

    private func bytes(last count: Int) -> [UInt8] {
        let size = Int(lseek(file, 0, SEEK_END))
        guard size > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: min(count, size))
        let read = pread(file, &buffer, buffer.count, off_t(size - buffer.count))
        return Array(buffer.prefix(max(0, read)))
    }
}
