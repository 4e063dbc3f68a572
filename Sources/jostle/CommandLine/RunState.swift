internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

/// The directory in which a run that is not the service keeps its state. A temporary one is deleted by `remove`.
struct RunState {
    let path: String
    private let isTemporary: Bool

    /// Creates the directory, or a temporary one with `name` in its name if `path` is `nil`.
    ///
    /// - Throws: status 73 if that is not possible.
    init(_ path: String?, name: String) throws {
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

    /// Deletes a temporary directory.
    func remove() {
        if isTemporary { FileContents.removeDirectory(path) }
    }
}

/// Validates the device id of the commands that send requests to a running agent.
enum DeviceIDArgument {
    /// Checks the value of `--on`, or of another option.
    static func check(_ id: String, option: String = "on") throws {
        guard JostleSettings.Device.isID(id) else {
            throw Failure(.usage, "--\(option) is \"\(id)\", not a device id: letters, digits, _ and -")
        }
    }

    static func check(operand id: String) throws {
        guard JostleSettings.Device.isID(id) else {
            throw Failure(.usage, "\"\(id)\" is not a device id: letters, digits, _ and -")
        }
    }
}
