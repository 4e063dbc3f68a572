import BrokerTestSupport
import Testing

@testable import HTTPServer
@testable import JostlePage

/// Requirement: who may read the metrics, with and without `page.metrics_token_file`.
@Suite struct MetricsAccessTests {
    private static let token = "0123456789abcdef"
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func access(token: String?) -> PageAccess {
        PageAccess(
            PageAccess.Rules(
                hosts: HostNames([], machine: ""), metricsToken: token, usesTLS: false, mayControl: false, port: 8088),
            sessions: Sessions(file: directory.path("key"), password: nil),
            links: LinkTokens(directory: directory.path("links")))
    }

    /// Why a request is refused; `nil` if it is not.
    private func refusal(
        token: String?, fromThisMachine: Bool = true, _ headers: [(name: String, value: String)] = []
    ) -> PageRefusal? {
        var request = HTTPRequest(method: "GET", path: "/metrics")
        request.client = fromThisMachine ? "127.0.0.1" : "192.0.2.1"
        request.headers = headers
        do throws(PageRefusal) {
            try access(token: token).checkMetrics(request, at: 1000)
            return nil
        } catch {
            return error
        }
    }

    @Test func withoutATokenThisMachineReadsThem() {
        #expect(refusal(token: nil) == nil)
        #expect(refusal(token: nil, fromThisMachine: false) == .metricsElsewhere)
        #expect(refusal(token: nil, fromThisMachine: false, [("Authorization", "Bearer ")]) == .metricsElsewhere)
    }

    @Test(arguments: ["X-Forwarded-For", "x-forwarded-for", "Forwarded", "Via", "X-Real-IP"])
    func aProxyOnThisMachineIsNotThisMachine(_ header: String) {
        #expect(refusal(token: nil, [(header, "192.0.2.1")]) == .metricsElsewhere)
        #expect(refusal(token: nil, [(header, "127.0.0.1"), (header, "127.0.0.1")]) == .metricsElsewhere)
        #expect(refusal(token: Self.token, [(header, "192.0.2.1"), ("Authorization", "Bearer \(Self.token)")]) == nil)
    }

    @Test(arguments: ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER 0123456789abcdef"])
    func theTokenAdmitsFromAnywhere(_ header: String) {
        #expect(refusal(token: Self.token, fromThisMachine: false, [("Authorization", header)]) == nil)
        #expect(refusal(token: Self.token, fromThisMachine: true, [("Authorization", header)]) == nil)
    }

    @Test(
        arguments: [
            "", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0", "Bearer 0123456789abcdef ", "Bearer  x",
            "Bearer 0123456789ABCDEF", "Bearer: 0123456789abcdef",
        ])
    func everythingElseIsRefusedAlsoFromThisMachine(_ header: String) {
        #expect(refusal(token: Self.token, [("Authorization", header)]) == .metricsToken)
    }

    @Test func withATokenEveryRequestNeedsIt() {
        #expect(refusal(token: Self.token) == .metricsToken)
        let right = ("Authorization", "Bearer \(Self.token)")
        #expect(refusal(token: Self.token, [right, right]) == .metricsToken, "two headers are none")
        #expect(PageRefusal.metricsToken.status == 401 && PageRefusal.metricsElsewhere.status == 403)
    }

    @Test func aBrowserThatIsSignedInReadsThem() throws {
        let cookie = try #require(Sessions(file: directory.path("key"), password: nil).issue(at: 1000))
        let header = ("Cookie", "jostle-page-8088=\(cookie)")
        #expect(refusal(token: Self.token, fromThisMachine: false, [header]) == nil)
        #expect(refusal(token: nil, fromThisMachine: false, [header]) == nil)
        #expect(refusal(token: nil, fromThisMachine: false, [("Cookie", "jostle-page-8088=x")]) == .metricsElsewhere)
    }
}
