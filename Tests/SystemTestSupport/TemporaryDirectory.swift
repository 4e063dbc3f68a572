import Foundation

/// A directory of a test that is not there yet, two levels deep, removed with it.
package final class TemporaryDirectory: Sendable {
    private let top = NSTemporaryDirectory() + "jostle-\(UUID().uuidString)"

    package init() {}

    package var path: String { top + "/state" }
    package var referenceFile: String { path + "/reference-attitude" }

    /// What is in it, hidden files too.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    package func write(_ content: String, to path: String) throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: top)
    }
}
