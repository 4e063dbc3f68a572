import BrokerTestSupport
import Foundation
import JostleConfiguration
import MotionCore
import Testing

@testable import HTTPServer
@testable import JostlePage

/// Cookies that this program has signed.
@Suite struct SessionsTests {
    private let directory = TemporaryDirectory.absent()
    private var file: String { directory.path + "/page-key" }

    @Test func aCookieIsAcceptedUntilItExpires() throws {
        let sessions = Sessions(file: file, password: nil)
        let cookie = try #require(sessions.issue(at: 1000))
        #expect(sessions.name(of: cookie, at: 1000) != nil)
        #expect(sessions.name(of: cookie, at: 1000 + Sessions.lifetime - 1) != nil)
        #expect(sessions.name(of: cookie, at: 1000 + Sessions.lifetime) == nil)
    }

    @Test func aCookieSurvivesTheNextStartButNotAnotherPassword() throws {
        let cookie = try #require(Sessions(file: file, password: "one").issue(at: 1000))
        #expect(Sessions(file: file, password: "one").name(of: cookie, at: 1001) != nil)
        #expect(Sessions(file: file, password: "two").name(of: cookie, at: 1001) == nil)
        #expect(Sessions(file: file, password: nil).name(of: cookie, at: 1001) == nil)
        try FileManager.default.removeItem(atPath: file)
        #expect(Sessions(file: file, password: "one").name(of: cookie, at: 1001) == nil)
    }

    @Test func aSessionThatHasEndedStaysEnded() throws {
        var sessions = Sessions(file: file, password: nil)
        let (mine, other) = (try #require(sessions.issue(at: 1000)), try #require(sessions.issue(at: 1000)))
        try sessions.end(try #require(sessions.name(of: mine, at: 1001)), at: 1001)
        #expect(sessions.name(of: mine, at: 1001) == nil && sessions.name(of: other, at: 1001) != nil)
        sessions = Sessions(file: file, password: nil)
        #expect(sessions.name(of: mine, at: 1001) == nil, "after the next start too")
        #expect(sessions.name(of: other, at: 1001) != nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: file + "-ended")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        // What has expired is not remembered.
        let late = 1000 + Sessions.lifetime + 1
        let third = try #require(sessions.issue(at: late))
        try sessions.end(try #require(sessions.name(of: third, at: late)), at: late)
        #expect(try String(contentsOfFile: file + "-ended", encoding: .utf8).split(separator: "\n").count == 1)
    }

    @Test func allSessionsEndAtOnce() throws {
        var sessions = Sessions(file: file, password: nil)
        let cookies = try (0..<3).map { _ in try #require(sessions.issue(at: 1000)) }
        try sessions.endAll()
        #expect(cookies.allSatisfy { sessions.name(of: $0, at: 1001) == nil })
        let new = try #require(sessions.issue(at: 1001))
        sessions = Sessions(file: file, password: nil)
        #expect(cookies.allSatisfy { sessions.name(of: $0, at: 1001) == nil })
        #expect(sessions.name(of: new, at: 1002) != nil)
    }

    @Test func onlyTheOwnerReadsTheKey() throws {
        _ = Sessions(file: file, password: nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == 32)
    }

    @Test(arguments: ["", "short", "0123456789abcdef0123456789abcdef0"])
    func aFileThatIsNoKeyIsReplaced(_ content: String) throws {
        try directory.write(content, to: "page-key")
        let cookie = try #require(Sessions(file: file, password: nil).issue(at: 1000))
        #expect(Sessions(file: file, password: nil).name(of: cookie, at: 1001) != nil)
    }

    @Test func aKeyThatCannotBeStoredLastsAsLongAsTheProgram() throws {
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
        let sessions = Sessions(file: file, password: nil)
        let cookie = try #require(sessions.issue(at: 1000))
        #expect(sessions.name(of: cookie, at: 1001) != nil)
        #expect(Sessions(file: file, password: nil).name(of: cookie, at: 1001) == nil)
    }

    @Test func anyChangedCharacterMakesACookieInvalid() throws {
        let sessions = Sessions(file: file, password: nil)
        let cookie = Array(try #require(sessions.issue(at: 1000)).utf8)
        for index in cookie.indices {
            var forged = cookie
            forged[index] = forged[index] == 0x31 ? 0x32 : 0x31
            #expect(sessions.name(of: String(decoding: forged, as: UTF8.self), at: 1001) == nil)
            #expect(sessions.name(of: String(decoding: cookie[..<index], as: UTF8.self), at: 1001) == nil)
        }
        #expect(sessions.name(of: String(decoding: cookie, as: UTF8.self) + "0", at: 1001) == nil)
    }

    @Test(arguments: ["", ".", "..", "1.2.3", "9999999999.00", "\u{0}", "é.é.é"])
    func foreignTextIsNoCookie(_ text: String) {
        #expect(Sessions(file: file, password: nil).name(of: text, at: 0) == nil)
        #expect(Sessions(file: file, password: nil).name(of: String(repeating: text, count: 100), at: 0) == nil)
    }
}

/// Tokens in links.
@Suite struct LinkTokensTests {
    private let directory = TemporaryDirectory.absent()

    private var now: Int64 { Int64(time(nil)) }

    private func links() throws -> LinkTokens {
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        return LinkTokens(directory: directory.path)
    }

    @Test func theFirstTokenWorksOnceAndWhenever() throws {
        var links = try links()
        let token = links.makeInitial()
        let isValid = links.use(token, at: now + 1_000_000)
        #expect(isValid)
        let isValidAgain = links.use(token, at: now)
        #expect(!isValidAgain)
        #expect(directory.names.isEmpty)
    }

    @Test func aTokenOfAnotherProcessWorksOnce() throws {
        var links = try links()
        let token = try LinkTokens.make(in: directory.path)
        #expect(directory.names.count == 1)
        #expect(directory.names != [token], "who reads the directory cannot sign in")
        let isValid = links.use(token, at: now)
        #expect(isValid)
        let isValidAgain = links.use(token, at: now)
        #expect(!isValidAgain)
        #expect(directory.names.isEmpty)
    }

    @Test(arguments: [(-599, true), (-601, false), (599, true), (601, false)])
    func aTokenIsValidForTenMinutes(_ age: Int, _ isValid: Bool) throws {
        var links = try links()
        let token = try LinkTokens.make(in: directory.path)
        let wasValid = links.use(token, at: now - Int64(age))
        #expect(wasValid == isValid)
        #expect(directory.names.isEmpty, "used up in any case")
    }

    @Test func theNameOfAFileIsNoToken() throws {
        var links = try links()
        _ = try LinkTokens.make(in: directory.path)
        let name = try #require(directory.names.first)
        for token in [name, String(name.prefix(24))] {
            let isValid = links.use(token, at: now)
            #expect(!isValid)
        }
        #expect(directory.names.count == 1)
    }

    @Test(arguments: [
        "", "../../x", "..", ".", "/etc/passwd", "a/../../../../../../../../etc/xxxx",
        "ABCDEF0123456789ABCDEF01",
        "0123456789abcdef0123456", "0123456789abcdef012345678", "0123456789abcdef0123456\n",
    ])
    func foreignTextIsNoToken(_ text: String) throws {
        var links = try links()
        try directory.write("", to: "x")
        let isValid = links.use(text, at: now)
        #expect(!isValid)
        #expect(directory.names == ["x"])
    }

    @Test func aDirectoryIsNoToken() throws {
        var links = try links()
        let token = try LinkTokens.make(in: directory.path)
        let path = directory.path + "/" + (try #require(directory.names.first))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let isValid = links.use(token, at: now)
        #expect(!isValid)
    }

    @Test func withoutItsDirectoryThereIsNoToken() {
        #expect(throws: (any Error).self) { try LinkTokens.make(in: directory.path + "/nowhere") }
        var links = LinkTokens(directory: directory.path + "/nowhere")
        let isValid = links.use("0123456789abcdef01234567", at: now)
        #expect(!isValid)
    }
}

/// Who may do what.
@Suite struct PageAccessTests {
    private let directory = TemporaryDirectory.absent()

    private func access(
        password: String? = "right", usesTLS: Bool = false, basePath: String = "", proxies: [String] = []
    ) -> PageAccess {
        PageAccess(
            PageAccess.Rules(
                hosts: HostNames(["page.example.org"], machine: "pi"), password: password, usesTLS: usesTLS,
                mayControl: true, port: 8088, basePath: basePath, proxies: proxies.compactMap { AddressRange($0) }),
            sessions: Sessions(file: directory.path + "/key", password: password),
            links: LinkTokens(directory: directory.path))
    }

    private func request(_ headers: [(String, String)] = [], from client: String = "192.0.2.1") -> HTTPRequest {
        var request = HTTPRequest(method: "POST", path: "/api/set")
        request.client = client
        request.headers = headers.map { (name: $0.0, value: $0.1) }
        return request
    }

    /// The headers of a right request, with one replaced or left out.
    private func post(_ name: String = "", _ value: String? = nil) -> HTTPRequest {
        var headers = [
            "Host": "pi:8088", "Origin": "http://pi:8088", "X-Jostle": "1", "Content-Type": "application/json",
        ]
        if !name.isEmpty { headers[name] = value }
        return request(headers.map { ($0.key, $0.value) })
    }

    @Test func theSamePageMayPost() throws {
        try access().checkPost(post())
        try access().checkPost(post("Content-Type", "Application/JSON; charset=utf-8"))
        #expect(throws: PageRefusal.forbidden) { try access(usesTLS: true).checkPost(post()) }
        try access(usesTLS: true).checkPost(post("Origin", "https://pi:8088"))
    }

    @Test(arguments: [
        "null", "http://pi", "http://pi:80880", "https://pi:8088", "http://evil.example", "http://pi:8088.evil.example",
        "http://evil.example/http://pi:8088", "",
    ])
    func anotherOriginMayNotPost(_ origin: String) {
        #expect(throws: PageRefusal.forbidden) { try access().checkPost(post("Origin", origin)) }
    }

    @Test(arguments: ["Origin", "X-Jostle", "Host"])
    func aPostWithoutAHeaderIsForbidden(_ name: String) {
        #expect(throws: PageRefusal.forbidden) { try access().checkPost(post(name)) }
    }

    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx", ";", ""])
    func aPostOfAFormIsRefused(_ type: String) {
        #expect(throws: PageRefusal.mediaType) { try access().checkPost(post("Content-Type", type)) }
        #expect(throws: PageRefusal.mediaType) { try access().checkPost(post("Content-Type")) }
    }

    @Test func thereMustBeOneHostOfThisPage() throws {
        try access().checkHost(of: request([("Host", "pi:8088")]))
        #expect(throws: PageRefusal.host("evil.example")) {
            try access().checkHost(of: request([("Host", "evil.example")]))
        }
        for headers in [[], [("Host", "pi"), ("Host", "evil.example")]] {
            #expect(throws: PageRefusal.badRequest("there must be one Host header")) {
                try access().checkHost(of: request(headers))
            }
        }
    }

    @Test func thePasswordSignsIn() throws {
        var access = access()
        let header = try access.signIn(request(), password: "right", at: 1000, monotonic: Timestamp(nanoseconds: 0))
        #expect(header.hasPrefix("jostle-page-8088="))
        #expect(header.hasSuffix("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"))
        let cookie = String(header.prefix { $0 != ";" })
        #expect(access.isSignedIn(request([("Cookie", cookie)]), at: 1001))
        #expect(!access.isSignedIn(request([("Cookie", cookie)]), at: 1000 + Sessions.lifetime))
        let other = cookie.replacingOccurrences(of: "8088", with: "8089")
        #expect(!access.isSignedIn(request([("Cookie", other)]), at: 1001), "another port is another page")
        let expired = access.expiredCookie(request())
        #expect(expired.contains("=; ") && expired.contains("Max-Age=0"))
    }

    @Test func withTLSACookieIsForTLSOnly() throws {
        var access = access(usesTLS: true)
        let header = try access.signIn(request(), password: "right", at: 0, monotonic: Timestamp(nanoseconds: 0))
        #expect(header.hasSuffix("; Secure"))
        #expect(access.expiredCookie(request()).hasSuffix("; Secure"))
    }

    /// Requirement: TLS, name and client are those that a trusted proxy states, and nobody else's.
    @Test func onlyATrustedProxySpeaksForBrowsers() throws {
        let headers = [
            ("Host", "127.0.0.1:8088"), ("X-Forwarded-Host", "page.example.org"), ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-For", "198.51.100.9, 203.0.113.7"), ("Origin", "https://page.example.org"), ("X-Jostle", "1"),
            ("Content-Type", "application/json"),
        ]
        var access = access(basePath: "/jostle", proxies: ["192.0.2.0/24"])
        try access.checkHost(of: request(headers))
        try access.checkPost(request(headers))
        let cookie = try access.signIn(
            request(headers), password: "right", at: 0, monotonic: Timestamp(nanoseconds: 0))
        #expect(cookie.contains("; Path=/jostle/; ") && cookie.hasSuffix("; Secure"))
        #expect(throws: PageRefusal.forbidden) { try access.checkPost(request(headers, from: "198.51.100.1")) }
        let evil = headers.map { $0.0 == "X-Forwarded-Host" ? ($0.0, "evil.example") : $0 }
        #expect(throws: PageRefusal.host("evil.example")) { try access.checkHost(of: request(evil)) }
        try access.checkHost(of: request(evil, from: "198.51.100.1"))
    }

    /// A proxy that states nothing, as nginx without further settings: the name is one of `page.hosts`.
    @Test(arguments: [
        ("https://page.example.org", true), ("http://page.example.org:8443", true), ("https://evil.example", false),
        ("http://127.0.0.1:8088", true), ("http://127.0.0.1:3000", false),
        ("https://page.example.org.evil.example", false),
        ("http://pi", false), ("null", false),
    ])
    func aProxyMayStateNothing(_ origin: String, _ isOwn: Bool) {
        let headers = post([("Host", "127.0.0.1:8088"), ("Origin", origin)])
        #expect(mayPost(access(proxies: ["192.0.2.1"]), request(headers)) == isOwn)
        // On this machine it need not be trusted. Elsewhere it must.
        #expect(mayPost(access(), request(headers, from: "127.0.0.1")) == isOwn)
        #expect(mayPost(access(), request(headers)) == (origin == "http://127.0.0.1:8088"))
    }

    /// A proxy that states the name and not TLS, as Apache, or TLS and not the name.
    @Test(arguments: [
        ("X-Forwarded-Host", "page.example.org", "https://page.example.org", true),
        ("X-Forwarded-Host", "page.example.org", "http://page.example.org", true),
        ("X-Forwarded-Host", "pi", "https://page.example.org", false),
        ("X-Forwarded-Host", "page.example.org", "https://127.0.0.1:8088", false),
        ("X-Forwarded-Proto", "https", "https://page.example.org", true),
        ("X-Forwarded-Proto", "https", "http://page.example.org", false),
        ("X-Forwarded-Proto", "http", "https://127.0.0.1:8088", false),
    ])
    func aProxyMayStateAPart(_ name: String, _ value: String, _ origin: String, _ isOwn: Bool) {
        let headers = post([("Host", "127.0.0.1:8088"), ("Origin", origin), (name, value)])
        #expect(mayPost(access(proxies: ["192.0.2.1"]), request(headers)) == isOwn)
    }

    private func post(_ headers: [(String, String)]) -> [(String, String)] {
        headers + [("X-Jostle", "1"), ("Content-Type", "application/json")]
    }

    private func mayPost(_ access: PageAccess, _ request: HTTPRequest) -> Bool {
        (try? access.checkPost(request)) != nil
    }

    /// Requirement: who guesses passwords keeps nobody else out.
    @Test func attemptsAreCountedForEachClient() throws {
        var access = access(proxies: ["192.0.2.1"])
        func attempt(_ password: String, _ request: HTTPRequest) -> PageRefusal? {
            do throws(PageRefusal) {
                _ = try access.signIn(request, password: password, at: 0, monotonic: Timestamp(nanoseconds: 0))
                return nil
            } catch {
                return error
            }
        }
        let guesser = request(from: "198.51.100.1")
        for _ in 0..<20 { _ = attempt("wrong", guesser) }
        #expect(attempt("right", guesser) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", request(from: "198.51.100.2")) == nil)
        // Whoever has an IPv6 address has a whole network of them.
        for number in 0..<20 { _ = attempt("wrong", request(from: "2001:db8::\(number)")) }
        #expect(attempt("right", request(from: "2001:db8::99")) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", request(from: "2001:db8:0:1::99")) == nil)
        for number in 0..<20 { _ = attempt("wrong", request(from: "fe80::\(number)%eth0")) }
        #expect(attempt("right", request(from: "fe80::99%eth0")) == .tooManyAttempts(seconds: 10))
        // Behind a proxy, what the client itself has written before does not matter.
        func forwarded(_ hops: String) -> HTTPRequest { request([("X-Forwarded-For", hops)]) }
        for number in 0..<20 { _ = attempt("wrong", forwarded("10.0.0.\(number), 203.0.113.7")) }
        #expect(attempt("right", forwarded("10.9.9.9, 203.0.113.7")) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", forwarded("203.0.113.8")) == nil)
        // Some proxies add the port.
        #expect(attempt("right", forwarded("203.0.113.7:51234")) == .tooManyAttempts(seconds: 10))
        for number in 0..<20 { _ = attempt("wrong", forwarded("[2001:db8:0:2::1]:\(number)")) }
        #expect(attempt("right", forwarded("2001:db8:0:2::2")) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", forwarded("2001:db8:0:3::2")) == nil)
        // The most clients that are remembered are not exceeded by many.
        for number in 0..<3000 { _ = attempt("wrong", request(from: "10.0.\(number / 256).\(number % 256)")) }
        #expect(attempt("right", request(from: "203.0.113.99")) == nil)
    }

    @Test func attemptsAreLimitedForTheRightPasswordToo() {
        var access = access()
        func attempt(_ password: String, _ seconds: Int64) -> PageRefusal? {
            do throws(PageRefusal) {
                _ = try access.signIn(
                    request(), password: password, at: 0, monotonic: Timestamp(nanoseconds: seconds * 1_000_000_000))
                return nil
            } catch {
                return error
            }
        }
        for _ in 0..<5 { #expect(attempt("wrong", 100) == .wrongPassword) }
        #expect(attempt("right", 100) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", 109) == .tooManyAttempts(seconds: 10))
        #expect(attempt("right", 110) == nil)
        #expect(attempt("right", 111) == .tooManyAttempts(seconds: 10))
    }

    @Test func withoutAPasswordNoneSignsIn() {
        var access = access(password: nil)
        #expect(throws: PageRefusal.notFound("password")) {
            try access.signIn(request(), password: "", at: 0, monotonic: Timestamp(nanoseconds: 0))
        }
    }
}
