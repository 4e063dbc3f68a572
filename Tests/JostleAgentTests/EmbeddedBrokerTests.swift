import BrokerTestSupport
import Foundation
import Testing

@testable import JostleAgent

/// Requirement: without a broker of one's own there is one, on this machine only, as long as the agent lives.
@Suite(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct EmbeddedBrokerTests {
    @Test func itTakesConnectionsUntilItIsStopped() async throws {
        try await onThreadOfItsOwn {
            let broker = try EmbeddedBroker()
            #expect(Loopback.accepts(broker.port))
            let process = broker.process
            broker.stop()
            #expect(!Loopback.accepts(broker.port))
            #expect(kill(process, 0) == -1 && errno == ESRCH)
            broker.stop()
        }
    }

    @Test func itEndsWithTheLastReference() async throws {
        try await onThreadOfItsOwn {
            let port = try EmbeddedBroker().port
            #expect(!Loopback.accepts(port))
        }
    }

    @Test func itIsRevivedOnTheSamePort() async throws {
        try await onThreadOfItsOwn {
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

    @Test func oneThatHangsIsEndedAllTheSame() async throws {
        try await onThreadOfItsOwn {
            let broker = try EmbeddedBroker()
            let process = broker.process
            kill(process, SIGSTOP)
            broker.stop()
            #expect(kill(process, 0) == -1 && errno == ESRCH)
        }
    }

    @Test func itsConfigurationIsNotLeftBehind() async throws {
        try await onThreadOfItsOwn {
            let broker = try EmbeddedBroker()
            let words = try String(contentsOfFile: "/proc/\(broker.process)/cmdline", encoding: .utf8)
            let file = try #require(words.split(separator: "\0").last.map(String.init))
            #expect(file.contains("jostle-broker-"))
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    /// The broker dies with the thread that starts it, which a thread of the test's pool may do at any time.
    private func onThreadOfItsOwn(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
