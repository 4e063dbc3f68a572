internal import Cryptography
internal import HTTPServer
internal import MotionCore

/// Decides who may do what: the names of this page, sessions, links, passwords, tokens.
struct PageAccess {
    /// What it is told at the start.
    struct Rules {
        var hosts: HostNames
        var password: String?
        /// The bearer token for `/metrics`; `nil` if this machine needs none and no other is admitted.
        var metricsToken: String?
        var usesTLS: Bool
        /// Whether visitors may change anything.
        var mayControl: Bool
        var port: UInt16
    }

    let rules: Rules
    private let sessions: Sessions
    private var links: LinkTokens
    /// At most five attempts at once, then one in ten seconds, for all visitors together.
    private var attempts = TokenBucket(capacity: 5, rate: 0.1)

    init(_ rules: Rules, sessions: Sessions, links: LinkTokens) {
        self.rules = rules
        self.sessions = sessions
        self.links = links
    }

    /// The name of the cookie: all ports of a host share their cookies.
    private var cookieName: String { "jostle-page-\(rules.port)" }

    /// Refuses a request to a name that is not this page's.
    func checkHost(of request: HTTPRequest) throws(PageRefusal) {
        guard let host = request.header("Host") else { throw .badRequest("there must be one Host header") }
        if !rules.hosts.allows(host) { throw .host(host) }
    }

    /// Whether the browser is signed in.
    func isSignedIn(_ request: HTTPRequest, at now: Int64) -> Bool {
        request.cookie(cookieName).map { sessions.accepts($0, at: now) } ?? false
    }

    /// Refuses a POST that does not come from this page itself.
    ///
    /// Another site can neither set this header without asking, nor send JSON, nor choose the origin.
    func checkPost(_ request: HTTPRequest) throws(PageRefusal) {
        guard let type = request.header("Content-Type"),
            type.split(separator: ";").first.map({ $0.lowercased() == "application/json" }) == true
        else { throw .mediaType }
        guard request.header("X-Jostle") != nil, let host = request.header("Host"),
            request.header("Origin") == "\(rules.usesTLS ? "https" : "http")://\(host)"
        else { throw .forbidden }
    }

    /// Refuses to show the metrics to a program that has neither the token nor, if there is no token, an address of this
    /// machine. A browser that is signed in sees the same elsewhere.
    func checkMetrics(_ request: HTTPRequest, at now: Int64) throws(PageRefusal) {
        if isSignedIn(request, at: now) { return }
        guard let token = rules.metricsToken else {
            // Proxies that say so forward the requests of other machines.
            let isForwarded = ["forwarded", "via", "x-forwarded-for", "x-real-ip"].contains { name in
                request.headers.contains { $0.name.lowercased() == name }
            }
            if isForwarded || !request.isFromThisMachine { throw .metricsElsewhere }
            return
        }
        let parts = request.header("Authorization")?.split(separator: " ", maxSplits: 1) ?? []
        // The name of the scheme has no case: RFC 9110, section 11.1.
        guard parts.count == 2, parts[0].lowercased() == "bearer",
            MessageAuthentication.isEqual(secret: token, String(parts[1]))
        else { throw .metricsToken }
    }

    /// Signs in with the token of a link; returns the cookie's header, or `nil` if the token is not valid.
    mutating func signIn(link token: String, at now: Int64) -> String? {
        links.use(token, at: now) ? cookie(at: now) : nil
    }

    /// Signs in with the password; returns the cookie's header.
    mutating func signIn(password: String, at now: Int64, monotonic: Timestamp) throws(PageRefusal) -> String {
        guard let right = rules.password else { throw .notFound("password") }
        guard attempts.spend(at: monotonic) else { throw .tooManyAttempts(seconds: 10) }
        guard MessageAuthentication.isEqual(secret: right, password), let cookie = cookie(at: now) else {
            throw .wrongPassword
        }
        return cookie
    }

    private func cookie(at now: Int64) -> String? {
        sessions.issue(at: now).map { cookie($0, seconds: Sessions.lifetime) }
    }

    /// The header that removes the cookie.
    var expiredCookie: String { cookie("", seconds: 0) }

    private func cookie(_ value: String, seconds: Int64) -> String {
        "\(cookieName)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (rules.usesTLS ? "; Secure" : "")
    }
}
