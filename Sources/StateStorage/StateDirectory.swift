internal import Glibc
package import LinuxSystem

/// A directory of files that outlive a run.
///
/// Every file is replaced whole, so that a power cut leaves the old one or the new one. Reading waits for the disk and so does
/// writing; a thread that must not wait writes with a `StateWriter`.
package struct StateDirectory: Sendable {
    package let path: String

    /// The directory at a path, which need not exist yet.
    package init(path: String) {
        self.path = path
    }

    /// The path of one of its files.
    package func path(of name: String) -> String { "\(path)/\(name)" }

    /// What a file turned out to hold.
    package enum Content: Equatable {
        case text(String)
        /// There is no such file.
        case none
        /// It cannot be read, or lies there and is no file.
        case failed(SystemFailure)
    }

    /// Reads a file of the directory: one of ours is at most `limit` bytes, whatever is longer is as good as torn.
    package func read(_ name: String, limit: Int = 4096) -> Content {
        do throws(SystemFailure) {
            return .text(try FileContents.text(of: path(of: name), limit: limit))
        } catch {
            return error.code == ENOENT ? .none : .failed(error)
        }
    }

    /// The same with what a writer was last ordered to write there and has not written yet.
    package func read(_ name: String, limit: Int = 4096, pendingIn writer: StateWriter) -> Content {
        switch writer.pending(path(of: name)) {
        case .contents(let bytes): .text(String(decoding: bytes.prefix(limit), as: UTF8.self))
        case .removed: .none
        case nil: read(name, limit: limit)
        }
    }

    /// Writes a file of the directory, whole or not at all, and waits until it is on the disk.
    ///
    /// - Throws: what failed; the old file is then still there.
    package func write(_ text: String, to name: String) throws(SystemFailure) {
        try StateFile.write(Array(text.utf8), to: path(of: name))
    }

    /// Removes a file of the directory; one that is not there is no failure.
    package func remove(_ name: String) throws(SystemFailure) {
        try StateFile.write(nil, to: path(of: name))
    }

    /// Puts a file that cannot be used aside, so that somebody may look at it: rename(2).
    ///
    /// - Returns: its new name, or `nil` if it stays.
    package func setAside(_ name: String) -> String? {
        rename(path(of: name), path(of: "\(name).bad")) == 0 ? "\(name).bad" : nil
    }
}
