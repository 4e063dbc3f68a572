internal import Glibc
internal import LinuxSystem

/// The directory in which a run that is not the service keeps its state. A temporary one is deleted by `remove`.
package struct RunState {
    package let path: String
    private let isTemporary: Bool
    /// The longest time in which it is deleted, seconds.
    private static let removalTime = 5.0

    /// Creates the directory, or a temporary one with `name` in its name if `path` is `nil`.
    ///
    /// - Throws: status 73 if that is not possible.
    package init(_ path: String?, name: String) throws {
        guard let path else {
            let place = "cannot create a directory for the state in \(FileContents.temporaryPlace)"
            self.path = try Failure.about(place, .cannotCreate) {
                try FileContents.makeTemporaryDirectory("jostle-\(name)")
            }
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

    /// Deletes a temporary directory. A disk that does not answer does not keep the program from ending.
    package func remove() {
        guard isTemporary else { return }
        let path = path
        guard let thread = WorkerThread(name: "jostle-removal", { FileContents.removeDirectory(path) }) else {
            return FileContents.removeDirectory(path)
        }
        if !thread.join(within: RunState.removalTime) {
            Output.warn("\(path) is left behind: the disk does not remove it in time")
        }
    }
}
