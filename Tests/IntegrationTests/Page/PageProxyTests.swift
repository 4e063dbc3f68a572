import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Testing

private let nginxPath = OptionalProgram.path("nginx")

/// Requirement: the page works behind a reverse proxy: below a path, with the proxy's TLS, and live.
@Suite(.needsPage) struct PageProxyTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// The page with a password.
    private func page(_ settings: [String]) async throws -> PageRig {
        let broker = try await rig.broker()
        let password = try directory.write("correct horse\n", to: "password", permissions: 0o600)
        return try await rig.page(broker: broker.port, ["page.password_file=\(password)"] + settings)
    }

    @Test func addressesAreBelowThePath() async throws {
        let page = try await page(["page.base_path=/jostle"])
        for (path, target) in [
            ("/jostle", "/jostle/"), ("/jostle/", "/jostle/login"), ("/", "/jostle/login"),
            ("/jostle/?board=dut", "/jostle/login?board=dut"),
            ("/jostle/?board=dut&tab=motion", "/jostle/login?board=dut&tab=motion"),
            ("/jostle/?board=dut&tab=//x", "/jostle/login?board=dut"),
        ] {
            #expect(try RawHTTP.get(page.port, path).header("Location") == target, "\(path)")
        }
        #expect(try RawHTTP.get(page.port, "/jostle/login").status == 200)
        #expect(try RawHTTP.get(page.port, "/jostlelogin").status == 404)
        let link = try RawHTTP.get(page.port, "/jostle/?token=\(page.token)")
        #expect(link.header("Location") == "/jostle/")
        let cookie = try #require(link.header("Set-Cookie"))
        #expect(cookie.contains("; Path=/jostle/; "))
        #expect(page.program.output.contains("/jostle/?token="))
        // No file has an address that leaves the path.
        let signedIn: RawHTTP.Header = ("Cookie", String(cookie.prefix { $0 != ";" }))
        for file in ["", "login", "app.js", "board.js", "boards.js", "commands.js", "settings.js", "login.js"] {
            let reply = try RawHTTP.get(page.port, "/jostle/\(file)", [signedIn])
            #expect(reply.status == 200)
            #expect(reply.body.firstMatch(of: /(?:href|src)="\/|["'`]\/(?:api|events|login)/) == nil, "\(file)")
        }
    }

    /// The block of docs/page.md, in Debian's nginx.
    @Test(
        .enabled(
            if: nginxPath != nil && TestCertificates.isAvailable,
            "there is no nginx or openssl; Scripts/setup test unpacks it"))
    func theDocumentedBlockWorks() async throws {
        let page = try await page(
            ["page.base_path=/jostle", "page.control=true", "page.trusted_proxies=[127.0.0.1]"])
        let certificates = try TestCertificates(directory: try TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../docs/page.md").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let block = try #require(text.firstMatch(of: /nginx:\n\n```text\n(.*?)```/.dotMatchesNewlines())).1
        let port = try Loopback.freePort()
        var configuration = String(block)
        for (name, value) in [
            ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"), ("127.0.0.1:8088", "127.0.0.1:\(page.port)"),
            ("home.example.org", "localhost"), ("/etc/ssl/home.pem", certificates.directory.path("server.pem")),
            ("/etc/ssl/home.key", certificates.directory.path("server.key")),
        ] {
            #expect(configuration.contains(name), "\(name)")
            configuration.replace(name, with: value)
        }
        let proxy = try await nginx(configuration, port)
        defer { proxy.kill() }
        let base = "https://localhost:\(port)"
        let trust = ["--cacert", certificates.caFile]
        try await check(base, "/jostle", trust, isSecure: true)
        // The limit is that of the browser, and not of the proxy.
        let guessing = trust + ["--interface", "127.0.0.2"]
        var answers: [String] = []
        for _ in 0..<12 {
            answers.append(try await curl(base, guessing, login: "wrong", base + "/jostle/api/login"))
        }
        #expect(answers.contains { $0.contains(" 429") }, "\(answers)")
        let other = try RawHTTP.send(
            page.port, "POST", "/api/login",
            [
                ("Content-Type", "application/json"), ("X-Jostle", "1"), ("Origin", "http://127.0.0.1:\(page.port)"),
            ], body: #"{"password":"correct horse"}"#)
        #expect(other.status == 204, "another client")
    }

    /// A proxy without any setting for this.
    @Test(.enabled(if: nginxPath != nil, "there is no nginx; Scripts/setup test unpacks it"))
    func nginxWithItsDefaultsWorks() async throws {
        let page = try await page(["page.hosts=[localhost]", "page.control=true"])
        let port = try Loopback.freePort()
        let proxy = try await nginx(
            "server { listen 127.0.0.1:\(port); location / { proxy_pass http://127.0.0.1:\(page.port); } }", port)
        defer { proxy.kill() }
        try await check("http://localhost:\(port)", "", [], isSecure: false)
    }

    /// Signs in, reads files and events, and changes something.
    private func check(_ base: String, _ path: String, _ options: [String], isSecure: Bool) async throws {
        let start = try await curl(base, options, base + path + "/")
        #expect(start.contains(" 303") && start.contains("ocation: \(path)/login"), "\(start)")
        let login = try await curl(base, options, login: "correct horse", base + path + "/api/login")
        let cookie = try #require(login.firstMatch(of: /[Ss]et-[Cc]ookie: ([^;]+)(.*)/), "\(login)")
        #expect(login.contains(" 204") && cookie.2.contains("Path=\(path)/") && cookie.2.contains("Secure") == isSecure)
        let signedIn = options + ["--header", "Cookie: \(cookie.1)"]
        #expect(try await curl(base, signedIn, base + path + "/").contains("id=\"main\""))
        #expect(try await curl(base, options, base + path + "/app.js").contains("EventSource"))
        // The stream goes on for ever: what arrives within three seconds was not held back.
        let live = signedIn + ["--no-buffer", "--max-time", "3"]
        let events = try await curl(base, live, base + path + "/events?view=boards")
        #expect(events.contains("event: hello") && events.contains("event: listed"), "\(events)")
        let command = #"{"board":"dut","name":"identify","arguments":{}}"#
        let sent = try await curl(base, signedIn + ["--data", command], base + path + "/api/command")
        #expect(sent.contains(" 202"), "\(sent)")
        let foreign = signedIn + ["--data", command, "--header", "Origin: https://evil.example"]
        #expect(try await curl("https://evil.example", foreign, base + path + "/api/command").contains(" 403"))
    }

    /// What curl prints, the headers first.
    private func curl(
        _ origin: String, _ options: [String], login: String? = nil, _ url: String
    ) async throws -> String {
        let data = login.map { ["--data", "{\"password\":\"\($0)\"}"] } ?? []
        let isPost = options.contains("--data") || login != nil
        let posted = ["--header", "Content-Type: application/json", "--header", "X-Jostle: 1"]
        let own = options.contains { $0.hasPrefix("Origin:") } ? [] : ["--header", "Origin: \(origin)"]
        let words =
            ["--silent", "--max-time", "20", "--dump-header", "-"] + options + data + (isPost ? posted + own : [])
        let curl = try #require(OptionalProgram.path("curl"))
        return try await JostleProgram(words + [url], program: URL(fileURLWithPath: curl)).outcome().output
    }

    /// nginx with these servers, which listen when this returns.
    private func nginx(_ servers: String, _ port: UInt16) async throws -> JostleProgram {
        let place = directory.path("")
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(place)/\($0);" }
        let file = try directory.write(
            """
            daemon off; master_process off; pid \(place)/pid; error_log stderr;
            events {}
            http { access_log off; \(places.joined(separator: " "))
            \(servers)
            }
            """, to: "nginx.conf")
        let program = try rig.run(
            ["-p", place, "-e", "stderr", "-c", file], program: URL(fileURLWithPath: try #require(nginxPath)))
        let isUp = await eventually { (try? RawHTTP.Connection(port)) != nil || !program.isRunning }
        try #require(isUp && program.isRunning, "\(program.errors)")
        return program
    }
}
