internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

/// A program of another package: `jostle page` becomes `jostle-page`.
struct OtherProgram {
    static let page = OtherProgram(name: PageUsage.usage.program, package: "./jostle-page_*.deb")
    static let swarm = OtherProgram(name: SwarmUsage.usage.program, package: "./jostle-tools_*.deb")
    static let subscriber = OtherProgram(name: "mosquitto_sub", package: "mosquitto-clients")

    let name: String
    /// What apt installs: the file beside that of this program, or a name.
    let package: String

    func run(_ arguments: Arguments) throws {
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
    var absence: String { "the program \(name) is not installed; install its package: sudo apt install \(package)" }

    /// Its path; `nil` if it is not installed.
    var installedPath: String? {
        let path = path
        guard !path.contains("/") else { return path }
        let directories = (Configuration.variable("PATH") ?? "").split(separator: ":")
        return directories.lazy.map { "\($0)/\(path)" }.first { access($0, X_OK) == 0 }
    }

    /// Beside this program, or else where PATH says.
    var path: String {
        guard let text = realPath("/proc/self/exe") else { return name }
        let beside = text[...(text.lastIndex(of: "/") ?? text.startIndex)] + name
        return access(String(beside), X_OK) == 0 ? String(beside) : name
    }
}
