internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem

/// A place for recordings that somebody commands from afar: a directory with a few numbered files, of which the oldest make
/// room for new ones. No name comes from outside.
package struct RecordingDirectory: Sendable {
    /// Files that are kept at most.
    package static let capacity = 8

    /// Bytes that are to stay free on the disk.
    static let reserve: UInt64 = 64 << 20

    /// The directory.
    package let path: String

    /// Makes a shelf in a state directory; the directory is made with the first file.
    package init(stateDirectory: String) {
        path = "\(stateDirectory)/recordings"
    }

    /// A recording's name and path.
    package struct Slot: Equatable, Sendable {
        package let name: String
        package let path: String
    }

    /// Makes room for a file of at most `bytes`.
    ///
    /// - Throws: `system` where there is no directory to be had, or the disk is too full (ENOSPC).
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

    /// The numbers of the files that are there, the oldest first. Other files are left alone.
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
