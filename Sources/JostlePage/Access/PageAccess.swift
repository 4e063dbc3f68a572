internal import Cryptography
internal import HTTPServer
internal import MotionCore

/// Decides who may do what: the names of this page, sessions, links, passwords, tokens.
struct PageAccess {
    /// What it is told at the start.
    struct Rules {
        var hosts: HostNames
        var password: String?
        var metricsToken: String?
        /// Whether only this machine can connect.
        var isLoopback: Bool
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

    /// Why a request is not answered at all; `nil` if it is.
    func refusal(of request: HTTPRequest) -> PageRefusal? {
        guard let host = request.header("Host") else { return .badRequest("there must be one Host header") }
        return rules.hosts.allows(host) ? nil : .host(host)
    }

    /// Whether the browser is signed in.
    func isSignedIn(_ request: HTTPRequest, at now: Int64) -> Bool {
        request.cookie(cookieName).map { sessions.accepts($0, at: now) } ?? false
    }

    /// Why a POST is refused; `nil` if it comes from this page itself.
    ///
    /// Another site can neither set this header without asking, nor send JSON, nor choose the origin.
    func refusal(ofPost request: HTTPRequest) -> PageRefusal? {
        guard let type = request.header("Content-Type"),
            type.split(separator: ";").first.map({ $0.lowercased() == "application/json" }) == true
        else { return .mediaType }
        guard request.header("X-Jostle") != nil, let host = request.header("Host"),
            request.header("Origin") == "\(rules.usesTLS ? "https" : "http")://\(host)"
        else { return .forbidden }
        return nil
    }

    /// Signs in with the token of a link; returns the cookie's header, or `nil` if the token is not valid.
    mutating func signIn(link token: String, at now: Int64) -> String? {
        links.use(token, at: now) ? cookie(at: now) : nil
    }

    /// The outcome of an attempt to sign in with a password.
    enum Attempt: Equatable {
        case cookie(String)
        case wrong
        case noPassword
        /// Too many attempts: the seconds to wait.
        case tooMany(Int)
    }

    /// Signs in with the password.
    mutating func signIn(password: String, at now: Int64, monotonic: Timestamp) -> Attempt {
        guard let right = rules.password else { return .noPassword }
        guard attempts.spend(at: monotonic) else { return .tooMany(10) }
        // The digests have the same length, whatever was typed.
        let isRight = MessageAuthentication.isEqual(
            SHA256Digest(of: right.utf8).hexadecimal, SHA256Digest(of: password.utf8).hexadecimal)
        guard isRight, let cookie = cookie(at: now) else { return .wrong }
        return .cookie(cookie)
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

    /// Whether a request may read the metrics: from this machine everyone, else with the token or signed in.
    func mayReadMetrics(_ request: HTTPRequest, at now: Int64) -> Bool {
        if rules.isLoopback || isSignedIn(request, at: now) { return true }
        guard let token = rules.metricsToken, let header = request.header("Authorization"), header.hasPrefix("Bearer ")
        else { return false }
        return MessageAuthentication.isEqual(
            SHA256Digest(of: token.utf8).hexadecimal, SHA256Digest(of: header.dropFirst(7).utf8).hexadecimal)
    }
}
