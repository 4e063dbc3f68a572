internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

/// `jostle page`: becomes the program `jostle-page`, which is a package of its own.
enum PageProgram {
    static func run(_ arguments: Arguments) throws {
        let words = Array(CommandLine.arguments.dropFirst(2))
        let path = path
        var pointers: [UnsafeMutablePointer<CChar>?] = ([path] + words).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        // The program that follows gets ordinary signals.
        signal(SIGPIPE, SIG_DFL)
        execvp(path, &pointers)
        let code = errno
        signal(SIGPIPE, SIG_IGN)
        guard code == ENOENT else { throw Failure(.unavailable, "\(path): \(systemMessage(code))") }
        throw Failure(.unavailable, absence)
    }

    /// What to say where it is missing.
    static let absence = "the program jostle-page is not installed; install its package: apt install jostle-page"

    /// Its path; `nil` if it is not installed.
    static var installedPath: String? {
        let path = path
        guard !path.contains("/") else { return path }
        let directories = (Configuration.variable("PATH") ?? "").split(separator: ":")
        return directories.lazy.map { "\($0)/\(path)" }.first { access($0, X_OK) == 0 }
    }

    /// Beside this program, or else where PATH says.
    static var path: String {
        guard let text = realPath("/proc/self/exe") else { return "jostle-page" }
        let beside = text[...(text.lastIndex(of: "/") ?? text.startIndex)] + "jostle-page"
        return access(String(beside), X_OK) == 0 ? String(beside) : "jostle-page"
    }
}
