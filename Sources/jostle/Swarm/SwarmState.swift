internal import Glibc
internal import LinuxSystem

/// The directory below which the boards of a swarm keep their state. A temporary one is deleted by `remove`.
struct SwarmState {
    let path: String
    private let isTemporary: Bool

    /// Creates the directory, or a temporary one (mkdtemp(3)) if `path` is `nil`.
    ///
    /// - Throws: status 73 if that is not possible.
    init(_ path: String?) throws(CommandFailure) {
        guard let path else {
            let base = Configuration.variable("TMPDIR") ?? "/tmp"
            var template = Array("\(base)/jostle-swarm-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else {
                throw CommandFailure(
                    .cannotCreate, "cannot create a directory for the state in \(base): \(systemMessage(errno))")
            }
            self.path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            isTemporary = true
            return
        }
        FileContents.makeDirectories(path)
        guard access(path, W_OK | X_OK) == 0 else {
            throw CommandFailure(.cannotCreate, "--state \(path): \(systemMessage(errno))")
        }
        self.path = path
        isTemporary = false
    }

    /// Deletes a temporary directory.
    func remove() {
        if isTemporary { FileContents.removeDirectory(path) }
    }
}
