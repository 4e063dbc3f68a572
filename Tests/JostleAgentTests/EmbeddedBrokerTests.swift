import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import LinuxSystem
import Testing

@testable import JostleAgent

/// Requirement: the embedded broker is available on this machine only, for as long as the agent runs.
@Suite(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct EmbeddedBrokerTests {
    @Test func acceptsConnectionsUntilStopped() async throws {
        try await onDedicatedThread {
            let broker = try EmbeddedBroker()
            #expect(Loopback.accepts(broker.port))
            let process = broker.process
            broker.stop()
            #expect(!Loopback.accepts(broker.port))
            #expect(kill(process, 0) == -1 && errno == ESRCH)
            broker.stop()
        }
    }

    @Test func endsWithLastReference() async throws {
        try await onDedicatedThread {
            let port = try EmbeddedBroker().port
            #expect(!Loopback.accepts(port))
        }
    }

    @Test func restartsOnSamePort() async throws {
        try await onDedicatedThread {
            let broker = try EmbeddedBroker()
            #expect(try broker.restartIfEnded() == false)
            let first = broker.process
            kill(first, SIGKILL)
            let deadline = Date() + 15
            while try !broker.restartIfEnded() {
                try #require(Date() < deadline)
                usleep(1000)
            }
            #expect(broker.process != first)
            #expect(Loopback.accepts(broker.port))
            #expect(try broker.restartIfEnded() == false)
        }
    }

    @Test func killsHangingBroker() async throws {
        try await onDedicatedThread {
            let broker = try EmbeddedBroker()
            let process = broker.process
            kill(process, SIGSTOP)
            broker.stop()
            #expect(kill(process, 0) == -1 && errno == ESRCH)
        }
    }

    @Test func removesConfigurationFile() async throws {
        try await onDedicatedThread {
            let broker = try EmbeddedBroker()
            let words = try String(contentsOfFile: "/proc/\(broker.process)/cmdline", encoding: .utf8)
            let file = String(try #require(words.split(separator: "\0").last))
            #expect(file.contains("jostle-broker-"))
            let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test func admitsOnlyItsUsers() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("hush-1\n", to: "password", permissions: 0o600)
        var settings = JostleSettings()
        settings.mqtt.username = "me"
        settings.mqtt.passwordFile = directory.path("password")
        let users = try #require(try settings.embeddedUsers())
        try await onDedicatedThread {
            let broker = try EmbeddedBroker(users: users)
            defer { broker.stop() }
            let address = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-t", "a", "-m", "1"]
            try runCommand(["mosquitto_pub", "-u", "me", "-P", "hush-1"] + address, in: directory)
            #expect(throws: (any Error).self) { try runCommand(["mosquitto_pub"] + address, in: directory) }
            #expect(throws: (any Error).self) {
                try runCommand(["mosquitto_pub", "-u", "me", "-P", "hush-2"] + address, in: directory)
            }
            let words = try String(contentsOfFile: "/proc/\(broker.process)/cmdline", encoding: .utf8)
            #expect(!words.contains("hush"))
        }
        // Its file of passwords has a colon after the name.
        settings.mqtt.username = "m:e"
        #expect(throws: Failure.self) { try settings.embeddedUsers() }
    }

    /// The broker dies with the thread that starts it, and a pool thread may end at any time.
    private func onDedicatedThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
