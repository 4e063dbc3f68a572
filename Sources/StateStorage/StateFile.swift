internal import LinuxSystem

/// The one way in which a state file reaches the disk, for whoever waits for it and for the writer's thread.
enum StateFile {
    /// Replaces a file whole, in a directory that is made if it is missing; `nil` removes the file.
    static func write(_ contents: [UInt8]?, to path: String) throws(SystemFailure) {
        guard let contents else { return try FileContents.remove(path) }
        FileContents.makeDirectories(FileContents.parts(of: path).directory)
        try FileContents.replace(path, with: contents)
    }
}
