import Foundation

/// A directory that is removed with the last reference to it.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path.
    package let path: String

    private let top: String

    /// Creates an empty directory.
    package convenience init() throws {
        self.init(in: "")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    private init(in folder: String) {
        // Chromium's sockets are in it, and a socket's path has at most 107 bytes.
        top = NSTemporaryDirectory() + "jostle-test-" + UUID().uuidString.prefix(8)
        path = top + folder
    }

    /// A directory for a property of a suite. If it cannot be created, what uses it fails.
    package static func new() -> TemporaryDirectory { (try? TemporaryDirectory()) ?? absent() }

    /// The place of a directory that what is tested creates, and its parent too.
    package static func absent() -> TemporaryDirectory { TemporaryDirectory(in: "/state") }

    deinit {
        try? FileManager.default.removeItem(atPath: top)
    }

    /// The path of a file in it.
    package func path(_ name: String) -> String { path + "/" + name }

    /// Its entries, including hidden files.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    /// Writes a file into it, in folders that exist afterwards, and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String, permissions: Int? = nil) throws -> String {
        precondition(!name.hasPrefix("/"), "\(name) is not the name of a file in it")
        let file = URL(fileURLWithPath: path(name))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
        if let permissions {
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path(name))
        }
        return path(name)
    }
}
