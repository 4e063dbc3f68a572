internal import Glibc
internal import LinuxSystem

/// Finds the process that holds a lock on one byte of a file, by the locks that /proc lists for each open file
/// (proc_pid_fdinfo(5)).
///
/// Only root can read those of other users' processes.
struct LockSearch {
    let file: DeviceFile
    let offset: UInt8

    /// The first process that holds the lock; `nil` if none is found.
    func holder() -> Int32? {
        SystemFiles.names(in: "/proc").compactMap { Int32($0) }.sorted().first { isHolder($0) == true }
    }

    /// Whether a process holds the lock; `nil` if that cannot be determined.
    func isHolder(_ process: Int32) -> Bool? {
        guard let names = readableNames(in: "/proc/\(process)/fdinfo") else { return nil }
        var isKnown = true
        for name in names {
            let description: String
            do throws(SystemFailure) {
                description = try FileContents.text(of: "/proc/\(process)/fdinfo/\(name)", limit: 4096)
            } catch {
                // It may have been closed meanwhile.
                if error.code != ENOENT { isKnown = false }
                continue
            }
            guard Self.locks(in: description).contains(where: matches) else { continue }
            // The same inode number may exist on another file system. Other files are not accessed, because a file of
            // a server that has gone might block.
            if DeviceFile(path: "/proc/\(process)/fd/\(name)")?.isSame(as: file) == true { return true }
        }
        return isKnown ? false : nil
    }

    private func matches(_ lock: Lock) -> Bool {
        lock.inode == file.inode && lock.range.contains(UInt64(offset))
    }

    /// The names in a directory; `nil` if it cannot be read or is empty.
    private func readableNames(in path: String) -> [String]? {
        let names = SystemFiles.names(in: path).filter { Int32($0) != nil }
        return names.isEmpty ? nil : names
    }

    /// A lock on a range of a file.
    struct Lock: Equatable {
        var inode: UInt64
        var range: ClosedRange<UInt64>
    }

    /// The locks in the description of an open file, that is, in lines such as
    /// `lock:  1: OFDLCK ADVISORY  WRITE -1 00:06:337 104 104`. Those of flock(2) are left out, which are independent.
    static func locks(in description: String) -> [Lock] {
        description.split(separator: "\n").compactMap { line in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count == 9, words[0] == "lock:", words[2] == "OFDLCK" || words[2] == "POSIX",
                let inode = words[6].split(separator: ":").last.flatMap({ UInt64($0) }),
                let first = UInt64(words[7]),
                let last = words[8] == "EOF" ? UInt64.max : UInt64(words[8]), first <= last
            else { return nil }
            return Lock(inode: inode, range: first...last)
        }
    }
}
