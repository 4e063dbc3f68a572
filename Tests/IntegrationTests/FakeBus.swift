import Foundation
import Synchronization

/// Paths for the fake adapter.
enum FakeBus {
    private static let count = Atomic<Int>(0)

    /// A device file's path that no other test has, in this process or another: the lock on a chip is the machine's.
    static func unusedPath() -> String {
        "/dev/i2c-\(getpid())\(500 + count.add(1, ordering: .relaxed).newValue)"
    }

    /// Whether there is a real bus.
    static var machineHasOne: Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: "/dev"))?.contains { $0.hasPrefix("i2c-") } ?? false
    }
}

/// Reading JSON.
enum JSON {
    /// The object that a text is; nil where it is something else.
    static func object(_ text: String) throws -> [String: Any]? {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }
}
