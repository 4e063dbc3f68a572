import BrokerTestSupport
import Testing

/// How a browser signs in at the page.
@Suite(.needsPage) struct PageSignInTests {
    private let rig = Rig()

    @Test func theFirstAddressSignsOneBrowserIn() async throws {
        let broker = try await rig.broker()
        let page = try await rig.page(broker: broker.port)

        let line = "    \(page.base)/?token=\(page.token)"
        #expect(line.count <= 60, "it fits on a narrow terminal: \(line)")
        #expect(try RawHTTP.get(page.port, "/api/session").status == 401)
        let first = try RawHTTP.get(page.port, "/?token=\(page.token)")
        #expect(first.status == 303)
        #expect(first.header("Location") == "/")
        let cookie = try #require(first.header("Set-Cookie"))
        #expect(cookie.hasSuffix("; HttpOnly; SameSite=Strict"))
        let header: RawHTTP.Header = ("Cookie", String(cookie.prefix { $0 != ";" }))
        #expect(try RawHTTP.get(page.port, "/api/session", [header]).status == 200)

        let second = try RawHTTP.get(page.port, "/?token=\(page.token)")
        #expect(second.header("Location") == "/login")
        #expect(second.header("Set-Cookie") == nil)
        #expect(!page.program.errors.contains(page.token), "a token is never logged")
    }
}
