import Foundation
import Synchronization

/// What one test starts: brokers, programs and their connections. They end, the last one first, with this object, a
/// property of the suite: each test has an instance of its suite for itself.
package final class Rig: Sendable {
    private let ends = Mutex<[@Sendable () -> Void]>([])

    package init() {}

    deinit {
        for end in ends.withLock({ $0 }).reversed() { end() }
    }

    /// Calls `end` at the end of the test.
    package func atEnd(_ end: @escaping @Sendable () -> Void) { ends.withLock { $0.append(end) } }

    /// A broker that is not running yet.
    package func stoppedBroker() throws -> TestBroker {
        let broker = try TestBroker()
        atEnd { broker.kill() }
        return broker
    }

    /// A running broker, as `TestBroker.started`.
    package func broker(
        directory: TemporaryDirectory? = nil, listener: String = "", settings: String = "allow_anonymous true"
    ) async throws -> TestBroker {
        let broker = try await TestBroker.started(directory: directory, listener: listener, settings: settings)
        atEnd { broker.kill() }
        return broker
    }

    /// A running broker of another make that accepts everybody.
    package func broker(_ make: BrokerMake) async throws -> TestBroker {
        let broker = try TestBroker(make)
        atEnd { broker.kill() }
        try await broker.start()
        return broker
    }

    /// A running broker that accepts everybody, with access rules.
    package func broker(rules: String) async throws -> TestBroker {
        let directory = try TemporaryDirectory()
        let file = try directory.write(rules, to: "acl")
        return try await broker(directory: directory, settings: "allow_anonymous true\nacl_file \(file)")
    }

    /// A running broker that admits only these users, with their passwords.
    package func broker(users: [String: String]) async throws -> TestBroker {
        let directory = try TemporaryDirectory()
        // The broker drops root privileges before it reads the file.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        let file = try directory.write("", to: "accounts")
        for (name, password) in users {
            try runCommand(["mosquitto_passwd", "-b", file, name, password], in: directory)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        return try await broker(directory: directory, settings: "allow_anonymous false\npassword_file \(file)")
    }

    /// A server with the test's answer, as `FakeBroker.init`.
    package func fakeBroker(answer: @escaping @Sendable (_ connect: [UInt8]) -> [UInt8]?) throws -> FakeBroker {
        let broker = try FakeBroker(answer: answer)
        atEnd { broker.end() }
        return broker
    }
}
