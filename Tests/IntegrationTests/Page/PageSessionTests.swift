import BrokerTestSupport
import Foundation
import Testing

/// Passwords, links and how long a browser stays signed in.
@Suite(.needsPage) struct PageSessionTests {
    private let rig = Rig()

    private func login(_ page: PageRig, _ password: String, origin: String? = nil) throws -> RawHTTP.Reply {
        try RawHTTP.send(
            page.port, "POST", "/api/login",
            [("Content-Type", "application/json"), ("X-Jostle", "1"), ("Origin", origin ?? page.base)],
            body: #"{"password":"\#(password)"}"#)
    }

    @Test func passwordsAreTriedSlowly() async throws {
        let broker = try await rig.broker()
        let directory = try TemporaryDirectory()
        let file = try directory.write("correct horse\nanother line\n", to: "password", permissions: 0o600)
        let page = try await rig.page(broker: broker.port, ["page.password_file=\(file)"])

        #expect(try login(page, "correct horse", origin: "http://evil.example").status == 403)
        let right = try login(page, "correct horse")
        #expect(right.status == 204)
        let cookie = String(try #require(right.header("Set-Cookie")).prefix { $0 != ";" })
        let session = try RawHTTP.get(page.port, "/api/session", [("Cookie", cookie)])
        #expect(session.status == 200)
        for guess in ["", "wrong guess", "correct hors", "correct horse\\n"] {
            let wrong = try login(page, guess)
            #expect(wrong.status == 401)
            #expect(wrong.header("Set-Cookie") == nil)
        }
        let late = try login(page, "correct horse")
        #expect(late.status == 429)
        #expect(late.header("Retry-After") == "10")
        let still = try RawHTTP.get(page.port, "/api/session", [("Cookie", cookie)])
        #expect(still.status == 200, "who is signed in stays so")
        for text in ["horse", "guess", cookie] {
            #expect(!page.program.errors.contains(text), "nothing of it is logged")
        }
    }

    /// Requirement: signing out ends a session at the server, with all that its pages receive, or all sessions.
    @Test func signingOutEndsTheSession() async throws {
        let broker = try await rig.broker()
        let directory = try TemporaryDirectory()
        let file = try directory.write("correct horse\n", to: "password", permissions: 0o600)
        let environment = ["STATE_DIRECTORY": directory.path("state")]
        let port = try Loopback.freePort()
        let first = try await PageRig(
            broker: broker.port, ["page.password_file=\(file)"], port: port, environment: environment)
        let cookies: [RawHTTP.Header] = try (0..<3).map { _ in
            let header = try #require(try login(first, "correct horse").header("Set-Cookie"))
            return ("Cookie", String(header.prefix { $0 != ";" }))
        }
        func statuses() throws -> [Int] { try cookies.map { try RawHTTP.get(port, "/api/session", [$0]).status } }
        #expect(try statuses() == [200, 200, 200])
        let streams = try cookies.map { try PageStreamReader(first, "view=boards", $0) }
        #expect(try first.post("/api/logout", "{}", cookies[0]).status == 204)
        #expect(try statuses() == [401, 200, 200])
        #expect(streams[0].next("nothing") == nil, "its page receives nothing any more")
        #expect(streams[1].next("ping") != nil)
        first.program.signal(SIGTERM)
        #expect(await first.program.exitStatus() == 0)
        let second = try await rig.page(
            broker: broker.port, ["page.password_file=\(file)"], port: port, environment: environment)
        #expect(try statuses() == [401, 200, 200])
        #expect(try second.post("/api/logout", #"{"everywhere":true}"#, cookies[1]).status == 204)
        #expect(try statuses() == [401, 401, 401])
        #expect(try login(second, "correct horse").status == 204)
    }

    @Test func aBrowserStaysSignedInWhenThePageStartsAgain() async throws {
        let broker = try await rig.broker()
        let state = try TemporaryDirectory()
        let environment = ["STATE_DIRECTORY": state.path]
        let port = try Loopback.freePort()
        let first = try await PageRig(broker: broker.port, port: port, environment: environment)
        let cookie = try first.signIn()
        first.program.signal(SIGTERM)
        let status = await first.program.exitStatus()
        #expect(status == 0)
        let second = try await rig.page(broker: broker.port, port: port, environment: environment)
        #expect(try RawHTTP.get(port, "/api/session", [cookie]).status == 200)
        let old = try RawHTTP.get(port, "/?token=\(first.token)")
        #expect(old.header("Location") == "/login")
        let new = try RawHTTP.get(port, "/?token=\(second.token)")
        #expect(new.header("Location") == "/")
    }

    @Test func aLinkSignsOneMoreBrowserIn() async throws {
        let broker = try await rig.broker()
        let state = try TemporaryDirectory()
        let environment = ["STATE_DIRECTORY": state.path]
        let page = try await rig.page(broker: broker.port, environment: environment)
        func link() async throws -> String {
            let program = try rig.run(["link"], environment: environment, program: Products.pageProgram)
            defer { program.kill() }
            #expect(await program.exitStatus() == 0, "\(program.errors)")
            let url = try #require(URLComponents(string: program.output.trimmingCharacters(in: .newlines)))
            #expect(url.port == Int(page.port))
            return try #require(url.queryItems?.first { $0.name == "token" }?.value)
        }
        let token = try await link()
        let first = try RawHTTP.get(page.port, "/?token=\(token)")
        #expect(first.header("Set-Cookie") != nil)
        let second = try RawHTTP.get(page.port, "/?token=\(token)")
        #expect(second.header("Set-Cookie") == nil)

        let late = try await link()
        let directory = state.path("page-links")
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -601)], ofItemAtPath: directory + "/" + name)
        }
        let expired = try RawHTTP.get(page.port, "/?token=\(late)")
        #expect(expired.header("Set-Cookie") == nil)
        #expect(!page.program.errors.contains(token) && !page.program.errors.contains(late))
    }

    @Test func withoutARunningPageThereIsNoLink() async throws {
        let program = try rig.run(["link"], program: Products.pageProgram)
        #expect(await program.exitStatus() == 69)
        #expect(program.errors.contains("the page must"))
    }
}
