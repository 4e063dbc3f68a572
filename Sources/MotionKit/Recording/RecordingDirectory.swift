internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem

/// The directory for recordings made by remote command: a few numbered files, the oldest of which is replaced by a new
/// one. The requester does not choose the names.
package struct RecordingDirectory: Sendable {
    /// The maximum number of files.
    package static let capacity = 8

    /// Bytes that must stay free on the disk.
    static let reserve: UInt64 = 64 << 20

    /// The directory.
    package let path: String

    /// The directory below a state directory. The first call of `next` creates it.
    package init(stateDirectory: String) {
        path = "\(stateDirectory)/recordings"
    }

    /// A recording's name and path.
    package struct Slot: Equatable, Sendable {
        package let name: String
        package let path: String
    }

    /// Returns the name for a new file of at most `bytes`, after removing the oldest files if there are too many.
    ///
    /// - Throws: `system` if the directory cannot be used or the disk is too full (ENOSPC).
    package func next(bytes: Int) throws(RecordingError) -> Slot {
        FileContents.makeDirectories(path)
        let numbers = try numbers()
        for number in numbers.dropLast(RecordingDirectory.capacity - 1) { unlink("\(path)/\(name(number))") }
        var disk = statvfs()
        guard statvfs(path, &disk) == 0 else { throw .system(path: path, SystemFailure(code: errno)) }
        guard UInt64(disk.f_bavail) * UInt64(disk.f_frsize) >= UInt64(bytes) + RecordingDirectory.reserve else {
            throw .system(path: path, SystemFailure(code: ENOSPC))
        }
        let name = name((numbers.last ?? 0) + 1)
        return Slot(name: name, path: "\(path)/\(name)")
    }

    private static let prefix = "recording-"
    private static let suffix = ".csv"

    private func name(_ number: Int) -> String { "\(RecordingDirectory.prefix)\(number)\(RecordingDirectory.suffix)" }

    /// The numbers of the existing recordings, the oldest first. Other files in the directory are ignored.
    private func numbers() throws(RecordingError) -> [Int] {
        guard let directory = opendir(path) else { throw .system(path: path, SystemFailure(code: errno)) }
        defer { closedir(directory) }
        var numbers: [Int] = []
        while let entry = readdir(directory) {
            let file = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard file.hasPrefix(RecordingDirectory.prefix), file.hasSuffix(RecordingDirectory.suffix) else { continue }
            let digits = file.dropFirst(RecordingDirectory.prefix.count).dropLast(RecordingDirectory.suffix.count)
            guard let number = Int(digits), number > 0, number < .max, name(number) == file else { continue }
            numbers.append(number)
        }
        return numbers.sorted()
    }
}
