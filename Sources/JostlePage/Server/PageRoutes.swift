internal import CZlib
internal import Cryptography
internal import Documents
internal import HTTPServer
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import PageAssets

/// Answers the requests of browsers.
struct PageRoutes {
    let server: PageServer
    private let files = PageFile.all()
    /// The most boards in a request.
    private static let mostBoards = 100

    /// What every answer says: what the browser may load and do with it.
    private static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ]

    func reply(to request: HTTPRequest) -> HTTPReply {
        var reply: HTTPReply
        do {
            reply = try answer(request)
        } catch {
            reply = PageRoutes.reply(error)
        }
        server.metrics.count(status: reply.status)
        reply.headers += PageRoutes.headers
        if !reply.headers.contains(where: { $0.name == "Cache-Control" }) {
            reply.headers.append(("Cache-Control", "no-store"))
        }
        return reply
    }

    private func answer(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        switch request.fault {
        case .tooLarge: throw .tooLarge
        case .twoLengths: throw .badRequest("its length is stated twice")
        case nil: break
        }
        try server.access.checkHost(of: request)
        let base = server.access.rules.basePath
        switch (request.method, server.access.path(of: request)) {
        case ("GET", "/"), ("HEAD", "/"): return try index(request)
        case ("GET", base), ("HEAD", base): return redirection("/", request)
        case ("GET", "/login"), ("HEAD", "/login"): return try file("login.html", request)
        case ("GET", "/events"): return try events(request)
        case ("GET", "/api/session"): return try session(request)
        case ("GET", "/api/history"): return try history(request)
        case ("GET", "/metrics"), ("HEAD", "/metrics"): return try metrics(request)
        case ("POST", let path) where path.hasPrefix("/api/"): return try post(request, path)
        case ("GET", let path), ("HEAD", let path): return try file(String(path.dropFirst()), request)
        default: throw .method(allowed: "GET")
        }
    }

    private func isSignedIn(_ request: HTTPRequest) -> Bool {
        server.access.isSignedIn(request, at: PageServer.epochSeconds)
    }

    /// The name of the session.
    @discardableResult
    private func requireSignedIn(_ request: HTTPRequest) throws(PageRefusal) -> String {
        guard let session = server.access.session(request, at: PageServer.epochSeconds) else { throw .signedOut }
        return session
    }

    private static func requireID(_ board: String?) throws(PageRefusal) -> String {
        guard let board, JostleSettings.Device.isID(board) else { throw .badRequest("the board has no valid id") }
        return board
    }

    // MARK: GET

    private func index(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        if let token = request.argument("token") {
            // The token must not stay in the address, where a history keeps it.
            let cookie = server.access.signIn(request, link: token, at: PageServer.epochSeconds)
            let path = cookie == nil && !isSignedIn(request) ? "/login" : "/"
            return redirection(path, request, cookie.map { [("Set-Cookie", $0)] } ?? [])
        }
        return isSignedIn(request) ? try file("index.html", request) : redirection("/login", request)
    }

    /// Sends the browser elsewhere; the view that it asked for goes with it.
    private func redirection(
        _ path: String, _ request: HTTPRequest, _ headers: [(name: String, value: String)] = []
    ) -> HTTPReply {
        var target = server.access.rules.basePath + path
        if let board = request.argument("board"), JostleSettings.Device.isID(board) {
            target += "?board=\(board)"
            if let tab = request.argument("tab"), PageRoutes.isCommand(tab) { target += "&tab=\(tab)" }
        } else if request.argument("view") == "boards" {
            target += "?view=boards"
        }
        return HTTPReply(303, [("Location", target)] + headers)
    }

    private func file(_ name: String, _ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        guard let file = files[name] else { throw .notFound("page with this address") }
        return file.reply(to: request)
    }

    private func session(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        try requireSignedIn(request)
        var object = JSONObject()
        object.add("version", version)
        object.add("control", server.access.rules.mayControl)
        object.add("signedIn", true)
        return PageRoutes.json(200, object)
    }

    private func events(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        let session = try requireSignedIn(request)
        var board = request.argument("board")
        if board != nil { board = try PageRoutes.requireID(board) }
        let viewer = try server.openViewer(
            board: board, wantsStream: request.argument("stream") == "1", session: session)
        // Some proxies, such as nginx, otherwise wait for more before they pass anything on.
        let headers = [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")]
        return HTTPReply(200, headers, body: .stream(viewer.makeStream()))
    }

    private func history(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        try requireSignedIn(request)
        let board = try PageRoutes.requireID(request.argument("board"))
        guard let history = server.history else { throw .notFound("history, because page.history.max_age is 0") }
        func time(_ name: String) throws(PageRefusal) -> Int64? {
            guard let text = request.argument(name) else { return nil }
            // Up to the year 10000.
            guard let time = Int64(text), (0...253_402_300_800_000).contains(time) else {
                throw .badRequest("\(name) is no time in milliseconds since 1970")
            }
            return time
        }
        let now = PageServer.milliseconds
        let end = try time("to") ?? now
        let start = try time("from") ?? max(0, end - 86_400_000)
        guard start < end else { throw .badRequest("from is not before to") }
        let headers = [("Content-Type", "application/json"), ("Vary", "Accept-Encoding")]
        guard Gzip.isAccepted(by: request.header("Accept-Encoding")) else {
            return HTTPReply(200, headers, body: .stream(try history.ask(board, start..<end, at: now)))
        }
        let body = try history.ask(board, start..<end, at: now) { Gzip.compress($0, isQuick: true) ?? [] }
        return HTTPReply(200, headers + [("Content-Encoding", "gzip")], body: .stream(body))
    }

    private func metrics(_ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        try server.access.checkMetrics(request, at: PageServer.epochSeconds)
        let format = MetricsText.Format(accepted: request.header("Accept"))
        let text = server.metricsText(format)
        let reply = HTTPReply(
            200, [("Content-Type", format.contentType), ("Vary", "Accept, Accept-Encoding")], body: .bytes(text))
        return Gzip.reply(reply, to: request) { Gzip.compress(text, isQuick: true) }
    }

    // MARK: POST

    private func post(_ request: HTTPRequest, _ path: String) throws(PageRefusal) -> HTTPReply {
        try server.access.checkPost(request)
        guard let body = try? JSONReader.read(request.body, source: .message("request")) else {
            throw .badRequest("its body is not JSON")
        }
        if path == "/api/login" { return try login(body, request) }
        let session = try requireSignedIn(request)
        switch path {
        case "/api/logout":
            server.signOut(body["everywhere"]?.bool == true ? nil : session)
            return HTTPReply(204, [("Set-Cookie", server.access.expiredCookie(request))])
        case "/api/set", "/api/command", "/api/follow", "/api/forget":
            guard server.access.rules.mayControl else { throw .readOnly }
            switch path {
            case "/api/set": try set(body)
            case "/api/command": try command(body)
            case "/api/follow": try follow(body, session)
            default: return try forget(body)
            }
            var object = JSONObject()
            object.add("ok", true)
            return PageRoutes.json(202, object)
        default: throw .notFound("such request")
        }
    }

    private func login(_ body: JSONValue, _ request: HTTPRequest) throws(PageRefusal) -> HTTPReply {
        guard let password = body["password"]?.string else { throw .badRequest("there is no password") }
        let cookie = try server.access.signIn(
            request, password: password, at: PageServer.epochSeconds, monotonic: WallClock.monotonic)
        return HTTPReply(204, [("Set-Cookie", cookie)])
    }

    /// Sets one value of a board, or clears what was set: an empty message.
    private func set(_ body: JSONValue) throws(PageRefusal) {
        let board = try PageRoutes.requireID(body["board"]?.string)
        guard let key = body["key"]?.string, PageRoutes.isKey(key) else { throw .badRequest("there is no such key") }
        let clears = body["clears"]?.bool == true
        guard let value = clears ? "" : body["value"]?.compactText else { throw .badRequest("there is no value") }
        try server.publish(Array(value.utf8), to: server.topics(of: board).set(key))
    }

    /// Sends a command to a board.
    private func command(_ body: JSONValue) throws(PageRefusal) {
        let board = try PageRoutes.requireID(body["board"]?.string)
        guard let name = body["name"]?.string, PageRoutes.isCommand(name) else {
            throw .badRequest("there is no such command")
        }
        let arguments = body["arguments"]?.compactText ?? "{}"
        try server.publish(Array(arguments.utf8), to: server.topics(of: board).command(name))
    }

    /// Sends what some boards report of their configuration to the page of all boards that asks for it.
    private func follow(_ body: JSONValue, _ session: String) throws(PageRefusal) {
        guard let viewer = body["viewer"]?.integer else { throw .badRequest("there is no number of a page") }
        guard let boards = body["boards"]?.elements, boards.count <= PageRoutes.mostBoards else {
            throw .badRequest("there is no list of at most \(PageRoutes.mostBoards) boards")
        }
        var ids: [String] = []
        for board in boards { ids.append(try PageRoutes.requireID(board.string)) }
        try server.follow(ids, viewer: viewer, session: session)
    }

    /// Forgets a board. The answer comes when the broker has removed what it holds.
    private func forget(_ body: JSONValue) throws(PageRefusal) -> HTTPReply {
        let board = try PageRoutes.requireID(body["board"]?.string)
        let answer = try server.startForgetting(board)
        return HTTPReply(200, [("Content-Type", "application/json")], body: .stream(answer))
    }

    private static func isKey(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy { word in
                !word.isEmpty
                    && word.allSatisfy {
                        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
                    }
            }
    }

    private static func isCommand(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }
    }

    // MARK: Answers

    private static func json(_ status: Int, _ object: JSONObject) -> HTTPReply {
        HTTPReply(status, [("Content-Type", "application/json")], body: .bytes(object.bytes))
    }

    private static func reply(_ refusal: PageRefusal) -> HTTPReply {
        var object = JSONObject()
        object.add("error", refusal.word)
        object.add("message", refusal.message)
        var reply = json(refusal.status, object)
        for (name, value) in refusal.headers { reply.headers.append((name, value)) }
        return reply
    }
}

/// A file of the page as it is sent: compressed for browsers that accept it, and not at all if they have it already.
struct PageFile {
    private let contentType: String
    private let bytes: [UInt8]
    private let compressed: [UInt8]?
    /// Identifies the content. Weak: it stands for both forms of the file.
    private let tag: String

    init(_ file: PageAssets.File) { self.init(contentType: file.contentType, file.bytes) }

    private init(contentType: String, _ bytes: [UInt8]) {
        self.contentType = contentType
        self.bytes = bytes
        compressed = Gzip.compress(bytes)
        tag = "W/\"\(SHA256Digest(of: bytes).hexadecimal.prefix(16))\""
    }

    /// All files of the page by name.
    static func all() -> [String: PageFile] {
        var files = Dictionary(uniqueKeysWithValues: PageAssets.files.map { ($0.name, PageFile($0)) })
        files["keys.json"] = PageFile(contentType: "application/json", settings.bytes)
        return files
    }

    /// The reference of all keys: what each means, its default, and what it allows.
    private static var settings: JSONObject {
        var object = JSONObject()
        for row in ConfigurationSchema.reference.flatMap(\.rows) {
            object.add(row.path, [row.meaning, row.defaultValue ?? "none", row.allowed])
        }
        return object
    }

    /// The answer to a request for it.
    func reply(to request: HTTPRequest) -> HTTPReply {
        // The browser asks each time whether its copy is still right, so that page and server have the same version.
        let headers = [("Cache-Control", "no-cache"), ("ETag", tag), ("Vary", "Accept-Encoding")]
        if isKnown(request.header("If-None-Match")) { return HTTPReply(304, headers) }
        let reply = HTTPReply(200, [("Content-Type", contentType)] + headers, body: .bytes(bytes))
        return Gzip.reply(reply, to: request) { compressed }
    }

    /// Whether an `If-None-Match` header names the file's tag, or any.
    private func isKnown(_ header: String?) -> Bool {
        (header ?? "").split { $0 == "," || $0 == " " }.contains { $0 == tag || $0 == "*" }
    }
}

/// Compression in the format of gzip (RFC 1952), by zlib.
enum Gzip {
    /// Whether an `Accept-Encoding` header names gzip, with a weight that is not zero.
    static func isAccepted(by header: String?) -> Bool {
        HeaderItem.list(header).contains { ["gzip", "x-gzip"].contains($0.value) && $0.weight > 0 }
    }

    /// A reply with its body compressed, if the client accepts that.
    static func reply(_ reply: HTTPReply, to request: HTTPRequest, _ compressed: () -> [UInt8]?) -> HTTPReply {
        guard isAccepted(by: request.header("Accept-Encoding")), let bytes = compressed() else { return reply }
        var reply = reply
        reply.headers.append(("Content-Encoding", "gzip"))
        reply.body = .bytes(bytes)
        return reply
    }

    /// The bytes, compressed as far as zlib can, or quickly; `nil` if there is no memory for it.
    static func compress(_ bytes: [UInt8], isQuick: Bool = false) -> [UInt8]? {
        var stream = z_stream()
        let level = isQuick ? Z_BEST_SPEED : Z_BEST_COMPRESSION
        guard jostle_deflate_init_gzip(&stream, level) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        return input.withUnsafeMutableBufferPointer { source -> [UInt8]? in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            let bound = Int(deflateBound(&stream, UInt(source.count)))
            return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                // The output is large enough for all of it.
                count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : 0
            }
        }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
