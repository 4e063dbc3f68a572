internal import LinuxSystem

/// Writes state files, both for callers that wait and for the writer thread.
enum StateFile {
    /// Replaces a file atomically, creating its directory if necessary; `nil` removes the file.
    static func write(_ contents: [UInt8]?, to path: String) throws(SystemFailure) {
        guard let contents else { return try FileContents.remove(path) }
        FileContents.makeDirectories(FileContents.parts(of: path).directory)
        try FileContents.replace(path, with: contents)
    }
}
