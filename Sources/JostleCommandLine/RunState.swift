internal import Glibc
internal import LinuxSystem

/// The directory in which a run that is not the service keeps its state. A temporary one is deleted by `remove`.
package struct RunState {
    package let path: String
    private let isTemporary: Bool

    /// Creates the directory, or a temporary one (mkdtemp(3)) with `name` in its name if `path` is `nil`.
    ///
    /// - Throws: status 73 if that is not possible.
    package init(_ path: String?, name: String) throws {
        guard let path else {
            let base = Configuration.variable("TMPDIR") ?? "/tmp"
            var template = Array("\(base)/jostle-\(name)-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else {
                throw Failure(
                    .cannotCreate, "cannot create a directory for the state in \(base): \(systemMessage(errno))")
            }
            self.path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            isTemporary = true
            return
        }
        FileContents.makeDirectories(path)
        guard access(path, W_OK | X_OK) == 0 else {
            throw Failure(.cannotCreate, "--state \(path): \(systemMessage(errno))")
        }
        self.path = path
        isTemporary = false
    }

    /// Deletes a temporary directory.
    package func remove() {
        if isTemporary { FileContents.removeDirectory(path) }
    }
}
