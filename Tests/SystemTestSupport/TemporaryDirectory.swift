import Foundation

/// A directory for a test, two levels deep. It does not exist at first, and is removed with this object.
package final class TemporaryDirectory: Sendable {
    private let top = NSTemporaryDirectory() + "jostle-\(UUID().uuidString)"

    package init() {}

    package var path: String { top + "/state" }
    package var referenceFile: String { path + "/reference-attitude" }

    /// Its entries, including hidden files.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    package func write(_ content: String, to path: String) throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: top)
    }
}
