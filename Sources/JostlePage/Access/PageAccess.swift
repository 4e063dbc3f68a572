internal import Cryptography
internal import HTTPServer
internal import JostleConfiguration
internal import LinuxSystem
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
        /// The path below which a proxy serves the page: `/jostle`, or nothing.
        var basePath = ""
        /// The proxies whose word counts.
        var proxies: [AddressRange] = []
    }

    /// What a browser has sent, as far as it is known: behind a trusted proxy, what that says.
    private struct Origin {
        var client: String
        var host: String?
        var usesTLS: Bool
        /// Whether there may be a proxy that does not say to which name the browser went, or whether it used TLS.
        var hidesHost: Bool
        var hidesScheme: Bool
    }

    let rules: Rules
    private var sessions: Sessions
    private var links: LinkTokens
    private var attempts = SignInAttempts()

    init(_ rules: Rules, sessions: Sessions, links: LinkTokens) {
        self.rules = rules
        self.sessions = sessions
        self.links = links
    }

    /// The name of the cookie: all ports of a host share their cookies.
    private var cookieName: String { "jostle-page-\(rules.port)" }

    private func isTrusted(_ address: String) -> Bool { rules.proxies.contains { $0.contains(address) } }

    private func origin(of request: HTTPRequest) -> Origin {
        let mayBeProxy = request.isFromThisMachine
        var origin = Origin(
            client: request.client, host: request.header("Host"), usesTLS: rules.usesTLS, hidesHost: mayBeProxy,
            hidesScheme: mayBeProxy)
        guard isTrusted(request.client) else { return origin }
        // Each proxy adds who has asked it. What stands before the first that is not trusted, anybody can have written.
        let hops = request.list("X-Forwarded-For").map { HostNames.host($0) ?? $0 }
        if let client = hops.last(where: { !isTrusted($0) }) ?? hops.first { origin.client = client }
        let (host, scheme) = (request.list("X-Forwarded-Host").last, request.list("X-Forwarded-Proto").last)
        if let host { origin.host = host }
        if let scheme { origin.usesTLS = scheme == "https" }
        (origin.hidesHost, origin.hidesScheme) = (host == nil, scheme == nil)
        return origin
    }

    /// The path of a request, without the one below which a proxy serves the page.
    func path(of request: HTTPRequest) -> String {
        let base = rules.basePath
        guard !base.isEmpty, request.path.hasPrefix("\(base)/") else { return request.path }
        return String(request.path.dropFirst(base.count))
    }

    /// Refuses a request to a name that is not this page's.
    func checkHost(of request: HTTPRequest) throws(PageRefusal) {
        guard request.header("Host") != nil, let host = origin(of: request).host else {
            throw .badRequest("there must be one Host header")
        }
        if !rules.hosts.allows(host) { throw .host(host) }
    }

    /// The name of the session of a browser that is signed in; `nil` if it is not.
    func session(_ request: HTTPRequest, at now: Int64) -> String? {
        request.cookie(cookieName).flatMap { sessions.name(of: $0, at: now) }
    }

    /// Whether the browser is signed in.
    func isSignedIn(_ request: HTTPRequest, at now: Int64) -> Bool { session(request, at: now) != nil }

    /// Ends a session, or all of them with `nil`.
    ///
    /// - Throws: why it is not stored. It has ended all the same, until the program starts again.
    mutating func signOut(_ session: String?, at now: Int64) throws(SystemFailure) {
        if let session { try sessions.end(session, at: now) } else { try sessions.endAll() }
    }

    /// Refuses a POST that does not come from this page itself.
    ///
    /// Another site can neither set this header without asking, nor send JSON, nor choose the origin.
    func checkPost(_ request: HTTPRequest) throws(PageRefusal) {
        guard let type = request.header("Content-Type"),
            type.split(separator: ";").first.map({ $0.lowercased() == "application/json" }) == true
        else { throw .mediaType }
        guard request.header("X-Jostle") != nil, let sent = request.header("Origin"),
            request.header("Host") != nil, isOwn(sent, request)
        else { throw .forbidden }
    }

    private func isOwn(_ sent: String, _ request: HTTPRequest) -> Bool {
        let origin = origin(of: request)
        let schemes = origin.hidesScheme ? ["https", "http"] : [origin.usesTLS ? "https" : "http"]
        return schemes.contains { scheme in
            guard sent.hasPrefix("\(scheme)://") else { return false }
            let host = String(sent.dropFirst(scheme.count + 3))
            // A name that the proxy does not say is one of those in the configuration.
            return host == origin.host || origin.hidesHost && rules.hosts.lists(host)
        }
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
    mutating func signIn(_ request: HTTPRequest, link token: String, at now: Int64) -> String? {
        links.use(token, at: now) ? cookie(request, at: now) : nil
    }

    /// Signs in with the password; returns the cookie's header.
    mutating func signIn(
        _ request: HTTPRequest, password: String, at now: Int64, monotonic: Timestamp
    ) throws(PageRefusal) -> String {
        guard let right = rules.password else { throw .notFound("password") }
        guard attempts.spend(origin(of: request).client, at: monotonic) else { throw .tooManyAttempts(seconds: 10) }
        guard MessageAuthentication.isEqual(secret: right, password), let cookie = cookie(request, at: now) else {
            throw .wrongPassword
        }
        return cookie
    }

    private func cookie(_ request: HTTPRequest, at now: Int64) -> String? {
        sessions.issue(at: now).map { cookie(request, $0, seconds: Sessions.lifetime) }
    }

    /// The header that removes the cookie.
    func expiredCookie(_ request: HTTPRequest) -> String { cookie(request, "", seconds: 0) }

    private func cookie(_ request: HTTPRequest, _ value: String, seconds: Int64) -> String {
        "\(cookieName)=\(value); Path=\(rules.basePath)/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (origin(of: request).usesTLS ? "; Secure" : "")
    }
}

/// How often a password may be tried: five times at once, then once in ten seconds, by each client. So who guesses keeps
/// nobody else out.
private struct SignInAttempts {
    /// The most clients that are remembered.
    private static let most = 1000

    private var clients: [String: TokenBucket] = [:]

    /// Whether a client with this address may try now.
    mutating func spend(_ address: String, at now: Timestamp) -> Bool {
        let client = AddressRange.client(of: address)
        if clients[client] == nil, clients.count >= SignInAttempts.most, let other = clients.keys.first {
            clients[other] = nil
        }
        return clients[client, default: TokenBucket(capacity: 5, rate: 0.1)].spend(at: now)
    }
}
