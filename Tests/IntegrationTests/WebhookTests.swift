import BrokerTestSupport
import Foundation
import HTTPServer
import HTTPTestSupport
import Synchronization
import Testing

/// Requirement: a gesture is posted to a web server, whose address stays a secret.
@Suite(
    .needsBroker, .enabled(if: OptionalProgram.path("curl") != nil, "curl is not installed"))
struct WebhookTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// What arrived at a web server, and what it answers.
    private final class Hook: Sendable {
        let requests = Mutex<[HTTPRequest]>([])
        let statuses: Mutex<[Int]>

        init(_ statuses: [Int]) { self.statuses = Mutex(statuses) }

        /// Answers with each status once, and then with the last.
        func answer(_ request: HTTPRequest) -> HTTPReply {
            requests.withLock { $0.append(request) }
            let status = statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return HTTPReply(status, (300...399).contains(status) ? [("Location", "/elsewhere")] : [])
        }

        var count: Int { requests.withLock { $0.count } }
        var first: HTTPRequest? { requests.withLock { $0.first } }
    }

    private func server(
        _ statuses: Int..., certificate: HTTPServer.Certificate? = nil
    ) throws -> (hook: Hook, port: UInt16) {
        let hook = Hook(statuses)
        let server = try ServerRig(certificate: certificate) { hook.answer($0) }
        rig.atEnd { server.stop() }
        return (hook, server.port)
    }

    private func observedAgent(
        _ rule: String, environment: [String: String] = [:]
    ) async throws -> (Observer, JostleProgram) {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", ["actions=[{on: tap, name: hook, simulated: true, \(rule)}]"],
            environment: environment)
        await observer.expect(agent) { !$0.messages("attitude").isEmpty }
        try observer.publish("jostle/dut/command/simulate", #"{"movement":"tap"}"#)
        await observer.expect(agent) { !$0.messages("event/tap").isEmpty }
        return (observer, agent)
    }

    /// The URL is in a file that only its owner can read.
    @Test func eventIsPosted() async throws {
        let (hook, port) = try server(204)
        let file = try directory.write("http://127.0.0.1:\(port)/hush-token?a=1\n", to: "hook", permissions: 0o600)
        let (observer, agent) = try await observedAgent("post: {url_file: \(file)}")
        #expect(await eventually { hook.count == 1 }, "\(agent.errors)")
        let request = try #require(hook.first)
        #expect(request.method == "POST" && request.path == "/hush-token" && request.argument("a") == "1")
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.header("User-Agent")?.hasPrefix("jostle/") == true)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(event["gesture"] as? String == "tap" && event["device"] as? String == "dut")
        let published = try observer.objects("event/tap").first
        #expect(event["id"] as? String == published?["id"] as? String)
        #expect(await agent.terminate() == 0)
        #expect(!agent.errors.contains("hush-token"))
    }

    /// It is tried again after a failure of the server, which is logged once.
    @Test func failureIsTriedAgain() async throws {
        let (hook, port) = try server(503, 503, 200)
        let (_, agent) = try await observedAgent("post: 'http://127.0.0.1:\(port)/hush-token'")
        #expect(await agent.logs("action hook: it works again"), "\(agent.errors)")
        #expect(hook.count == 3)
        #expect(await agent.terminate() == 0)
        #expect(agent.errors.components(separatedBy: "the web server answered 503").count == 2, "\(agent.errors)")
        #expect(!agent.errors.contains("hush-token"))
    }

    @Test func redirectionIsNotFollowed() async throws {
        let (hook, port) = try server(307)
        let (_, agent) = try await observedAgent("post: 'http://127.0.0.1:\(port)/a'")
        #expect(
            await agent.logs("action hook: the web server answered 307, a redirection, which is not followed"),
            "\(agent.errors)")
        #expect(hook.count == 1)
        #expect(await agent.terminate() == 0)
    }

    /// The certificate must be signed by an authority that the board trusts.
    @Test(.enabled(if: TestCertificates.isAvailable, "openssl is not installed")) func certificateIsVerified()
        async throws
    {
        let certificates = try TestCertificates(directory: directory)
        try certificates.makeServerCertificate(name: "localhost")
        func bytes(_ name: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.path(name))))
        }
        let certificate = HTTPServer.Certificate(certificate: try bytes("server.pem"), key: try bytes("server.key"))
        let (hook, port) = try server(200, certificate: certificate)
        let rule = "post: 'https://localhost:\(port)/hush-token'"
        let (_, stranger) = try await observedAgent(rule)
        #expect(await stranger.logs("action hook: curl: (60)"), "\(stranger.errors)")
        #expect(await stranger.terminate() == 0)
        #expect(hook.count == 0 && !stranger.errors.contains("hush-token"))
        let (_, agent) = try await observedAgent(rule, environment: ["CURL_CA_BUNDLE": certificates.caFile])
        #expect(await eventually { hook.count == 1 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// Neither the list of processes nor their environments show the URL.
    @Test func noListOfProcessesShowsTheURL() async throws {
        let isSeen = DispatchSemaphore(value: 0)
        let server = try ServerRig { _ in
            // So that curl waits.
            _ = isSeen.wait(timeout: .now() + 8)
            return HTTPReply(200)
        }
        rig.atEnd {
            isSeen.signal()
            server.stop()
        }
        let (_, agent) = try await observedAgent("post: 'http://127.0.0.1:\(server.port)/hush-token'")
        var found = ""
        #expect(
            await eventually {
                found = Self.processes().first { $0.contains("curl") && $0.contains("--config") } ?? ""
                return !found.isEmpty
            }, "\(agent.errors)")
        #expect(!found.contains("hush-token"), "\(found)")
        #expect(await agent.terminate() == 0)
    }

    private static func processes() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.filter { Int($0) != nil }.compactMap { name in
            FileManager.default.contents(atPath: "/proc/\(name)/cmdline").map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test func badFileIsNamed() async throws {
        let file = try directory.write("ftp://a/b\n", to: "hook", permissions: 0o600)
        let (_, agent) = try await observedAgent("post: {url_file: \(file)}")
        #expect(
            await agent.logs("action hook: actions.post.url_file: \(file): its first line is no URL that begins with"),
            "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }
}
