internal import Glibc
package import LinuxSystem

/// A directory of files that persist between runs.
///
/// Files are replaced atomically, so after a power cut either the old or the new content is there. Both reading and
/// writing wait for the disk; a thread that must not block writes through a `StateWriter`.
package struct StateDirectory: Sendable {
    package let path: String

    /// The directory at a path; it need not exist yet.
    package init(path: String) {
        self.path = path
    }

    /// The path of one of its files.
    package func path(of name: String) -> String { "\(path)/\(name)" }

    /// The result of reading a file.
    package enum Content: Equatable {
        case text(String)
        /// There is no such file.
        case none
        /// It cannot be read, or is not a regular file.
        case failed(SystemFailure)
    }

    /// Reads a file of the directory, at most `limit` bytes. Jostle's own files are no longer than that; a longer one
    /// is corrupt anyway. A pending write in `writer` takes precedence over the disk.
    package func read(_ name: String, limit: Int = 4096, pendingIn writer: StateWriter? = nil) -> Content {
        switch writer?.pending(path(of: name)) {
        case .contents(let bytes)?: return .text(String(decoding: bytes.prefix(limit), as: UTF8.self))
        case .removed?: return .none
        case nil: break
        }
        do {
            return .text(try FileContents.text(of: path(of: name), limit: limit))
        } catch {
            return error.code == ENOENT ? .none : .failed(error)
        }
    }

    /// Writes a file of the directory atomically, and waits until it is on the disk.
    ///
    /// - Throws: the failure; the old file is then unchanged.
    package func write(_ text: String, to name: String) throws(SystemFailure) {
        try StateDirectory.replace(path(of: name), with: Array(text.utf8))
    }

    /// Removes a file of the directory. A missing file is not an error.
    package func remove(_ name: String) throws(SystemFailure) {
        try StateDirectory.replace(path(of: name), with: nil)
    }

    /// Renames an unusable file so that it can be inspected: rename(2).
    ///
    /// - Returns: its new name; `nil` if the rename failed.
    package func setAside(_ name: String) -> String? {
        rename(path(of: name), path(of: "\(name).bad")) == 0 ? "\(name).bad" : nil
    }

    /// Replaces a file atomically, creating its directory if necessary; `nil` removes the file.
    static func replace(_ path: String, with contents: [UInt8]?) throws(SystemFailure) {
        guard let contents else { return try FileContents.remove(path) }
        FileContents.makeDirectories(FileContents.parts(of: path).directory)
        try FileContents.replace(path, with: contents)
    }
}

/// A write that has not reached the disk.
package struct StateFault: Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The last attempt failed and will be retried.
        case failed(SystemFailure)
        /// The disk has not answered for more than a second.
        case stuck
    }

    /// The file; `nil` for a job.
    package var path: String?
    package var reason: Reason

    /// The time of the first failed attempt, or the start of the attempt that is stuck.
    package var since: ContinuousClock.Instant
}

extension StateFault: CustomStringConvertible {
    package var description: String {
        let what = path ?? "the disk"
        return switch reason {
        case .failed(let failure): "\(what): cannot be written: \(failure)"
        case .stuck: "\(what): the disk does not answer"
        }
    }
}
