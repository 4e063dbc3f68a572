import Foundation
import Synchronization

/// Paths for the fake adapter.
enum FakeBus {
    private static let count = Atomic<Int>(0)

    /// A device path that no other test uses, in this process or another, because chip locks are global to the machine.
    static func unusedPath() -> String {
        "/dev/i2c-\(getpid())\(500 + count.add(1, ordering: .relaxed).newValue)"
    }

    /// Whether this machine has a real bus.
    static var machineHasOne: Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: "/dev"))?.contains { $0.hasPrefix("i2c-") } ?? false
    }
}

/// A JSON reader for tests.
enum JSON {
    /// The JSON object in a text; `nil` if it is something else.
    static func object(_ text: String) throws -> [String: Any]? {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }
}
