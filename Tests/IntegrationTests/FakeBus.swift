import BrokerTestSupport
import Foundation
import Synchronization

/// A file at which programs find a fake adapter, each its own, so that they share the locks on its chips. It exists as
/// long as the test retains it.
final class FakeBus: Sendable {
    let path: String
    private let directory: TemporaryDirectory

    private static let count = Atomic<Int>(0)

    /// Creates the file, with the number of a bus that this machine does not have.
    init() throws {
        directory = try TemporaryDirectory()
        path = try directory.write("", to: "i2c-\(getpid())\(500 + Self.count.add(1, ordering: .relaxed).newValue)")
    }

    /// Removes the file now. A reference in `defer` also keeps the file until then.
    func remove() { unlink(path) }

    /// Whether this machine has a real bus.
    static var machineHasOne: Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: "/dev"))?.contains { $0.hasPrefix("i2c-") } ?? false
    }
}

/// A JSON reader for tests.
enum JSON {
    /// The JSON object in a text; `nil` if it is something else.
    static func object(_ text: some StringProtocol) throws -> [String: Any]? {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }
}
