import BrokerTestSupport
import Testing

/// What the page answers, to its own browser and to others.
@Suite(.needsPage) struct PageRequestTests {
    private let rig = Rig()

    private func withPage(
        _ settings: [String] = [], _ body: (TestBroker, PageRig, RawHTTP.Header) async throws -> Void
    ) async throws {
        let broker = try await rig.broker()
        let page = try await rig.page(broker: broker.port, settings)
        try #require(await page.program.logs("connected to "), "\(page.program.errors)")
        try await body(broker, page, try page.signIn())
    }

    @Test func everyAnswerProtectsItsReader() async throws {
        try await withPage { _, page, cookie in
            let large = String(repeating: "x", count: 17_000)
            let answers: [(Int, RawHTTP.Reply)] = [
                (200, try RawHTTP.get(page.port, "/", [cookie])), (200, try RawHTTP.get(page.port, "/login")),
                (303, try RawHTTP.get(page.port, "/")), (303, try RawHTTP.get(page.port, "/?token=wrong")),
                (200, try RawHTTP.get(page.port, "/app.js")), (404, try RawHTTP.get(page.port, "/nothing", [cookie])),
                (404, try RawHTTP.get(page.port, "/../../etc/passwd")),
                (404, try RawHTTP.get(page.port, "/%2e%2e/%2e%2e/etc/passwd")),
                (401, try RawHTTP.get(page.port, "/api/session")), (401, try RawHTTP.get(page.port, "/events")),
                (400, try RawHTTP.get(page.port, "/events?board=a/b", [cookie])),
                (405, try RawHTTP.send(page.port, "DELETE", "/", [cookie])),
                (405, try RawHTTP.send(page.port, "OPTIONS", "/api/set", [cookie])),
                (421, try RawHTTP.get(page.port, "/", [("Host", "evil.example"), cookie])),
                (400, try RawHTTP.get(page.port, "/", [("Host", "localhost"), ("Host", "localhost"), cookie])),
                (413, try page.post("/api/set", large, cookie)), (400, try page.post("/api/set", "{", cookie)),
                (404, try page.post("/api/nothing", "{}", cookie)), (204, try page.post("/api/logout", "{}", cookie)),
            ]
            for (index, (status, reply)) in answers.enumerated() {
                #expect(reply.status == status, "\(index): \(reply.body)")
                let policy = reply.header("Content-Security-Policy") ?? ""
                #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"), "\(index)")
                #expect(!policy.contains("unsafe"))
                #expect(reply.header("Referrer-Policy") == "no-referrer", "\(index): a token in an address stays here")
                #expect(reply.header("X-Content-Type-Options") == "nosniff", "\(index)")
                #expect(reply.header("X-Frame-Options") == "DENY", "\(index)")
                #expect(reply.header("Cache-Control")?.hasPrefix("no-") == true, "\(index)")
                #expect(reply.header("Access-Control-Allow-Origin") == nil)
                if status >= 400 { #expect(reply.body.hasPrefix(#"{"error":""#), "\(index)") }
            }
        }
    }

    @Test func whatTheLibraryRefusesItselfRepeatsNothingOfTheRequest() async throws {
        try await withPage { _, page, _ in
            for text in [
                "GET /<script>alert(1)</script> HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "<script>", count: 10_000))\r\n\r\n",
                "<script>alert(1)</script>\r\n\r\n",
            ] {
                let connection = try RawHTTP.Connection(page.port)
                connection.write(text)
                #expect(!String(decoding: connection.readToEnd(), as: UTF8.self).contains("<script>"))
            }
        }
    }

    @Test func onlyThePageItselfPosts() async throws {
        try await withPage(["page.control=true"]) { broker, page, cookie in
            let observer = try await Observer(broker.port)
            let body = #"{"board":"dut","name":"calibrate","arguments":{}}"#
            let right: [RawHTTP.Header] = [
                cookie, ("Content-Type", "application/json"), ("X-Jostle", "1"), ("Origin", page.base),
            ]
            let wrong: [(Int, [RawHTTP.Header])] = [
                (401, right.filter { $0.name != "Cookie" }), (415, right.filter { $0.name != "Content-Type" }),
                (403, right.filter { $0.name != "X-Jostle" }), (403, right.filter { $0.name != "Origin" }),
                (403, right.map { $0.name == "Origin" ? ("Origin", "http://evil.example") : $0 }),
                (415, right.map { $0.name == "Content-Type" ? ("Content-Type", "text/plain") : $0 }),
                (421, right + [("Host", "evil.example:\(page.port)")]),
                (401, right.map { $0.name == "Cookie" ? ("Cookie", $0.value.dropLast() + "!") : $0 }),
            ]
            for (status, headers) in wrong {
                for path in ["/api/command", "/api/follow", "/api/forget"] {
                    let reply = try RawHTTP.send(page.port, "POST", path, headers, body: body)
                    #expect(reply.status == status, "\(path): \(headers)")
                }
            }
            #expect(try RawHTTP.send(page.port, "POST", "/api/command", right, body: body).status == 202)
            #expect(await observer.sees { !$0.texts("command/calibrate").isEmpty })
            #expect(observer.texts("command/calibrate") == ["{}"], "the wrong ones published nothing")
        }
    }

    @Test func settingsAndCommandsGoToTheirTopics() async throws {
        try await withPage(["page.control=true"]) { broker, page, cookie in
            let observer = try await Observer(broker.port)
            let sent: [(String, String, String, String)] = [
                ("/api/set", #""key":"gestures.shake.sensitivity","value":7"#, "set/gestures.shake.sensitivity", "7"),
                ("/api/set", #""key":"device.name","value":"a\"b\n\u0000""#, "set/device.name", #""a\"b\n\u0000""#),
                ("/api/set", #""key":"log.events","value":true"#, "set/log.events", "true"),
                ("/api/set", #""key":"log.level","clears":true"#, "set/log.level", ""),
                (
                    "/api/command", #""name":"simulate","arguments":{"movement":"shake"}"#, "command/simulate",
                    #"{"movement": "shake"}"#
                ),
                ("/api/command", #""name":"get-state""#, "command/get-state", "{}"),
            ]
            for (path, body, end, payload) in sent {
                let reply = try page.post(path, #"{"board":"dut",\#(body)}"#, cookie)
                #expect(reply.status == 202)
                #expect(reply.body == #"{"ok":true}"#)
                #expect(await observer.sees { !$0.messages(end).isEmpty }, "\(end): \(observer.topics)")
                #expect(observer.texts(end).first?.lowercased() == payload.lowercased())
                #expect(observer.messages(end).allSatisfy { !$0.retain })
            }
        }
    }

    @Test func foreignNamesNeverBecomeTopics() async throws {
        try await withPage(["page.control=true"]) { broker, page, cookie in
            let observer = try await Observer(broker.port)
            let names = [
                "", "a/b", "+", "#", "..", "../x", "a\\u0000b", "_all", "-a", "é", " ",
                String(repeating: "x", count: 200),
            ]
            for name in names {
                for (path, body) in [
                    ("/api/set", #"{"board":"\#(name)","key":"device.name","value":1}"#),
                    ("/api/command", #"{"board":"\#(name)","name":"simulate"}"#),
                ] {
                    #expect(try page.post(path, body, cookie).status == 400, "board \(name)")
                }
                guard name != "_all" else { continue }
                let key = try page.post("/api/set", #"{"board":"dut","key":"\#(name)","value":1}"#, cookie)
                #expect(key.status == 400, "key \(name)")
                guard name != "-a" else { continue }
                let command = try page.post("/api/command", #"{"board":"dut","name":"\#(name)"}"#, cookie)
                #expect(command.status == 400, "command \(name)")
            }
            for body in [
                "", "[]", "7", "null", "{}", #"{"board":7}"#, #"{"board":"dut","key":"device.name"}"#,
                String(repeating: "[", count: 10_000), "{\"a\":" + String(repeating: "{\"a\":", count: 3000),
            ] {
                #expect(try page.post("/api/set", body, cookie).status == 400, "\(body.prefix(40))")
            }
            let last = try page.post("/api/command", #"{"board":"dut","name":"last"}"#, cookie)
            #expect(last.status == 202)
            #expect(await observer.sees { !$0.messages("command/last").isEmpty })
            let topics = observer.topics.filter { $0.contains("/set") || $0.contains("/command") }
            #expect(topics == ["jostle/dut/command/last"])
        }
    }

    @Test func aPageWithoutControlOnlyShows() async throws {
        try await withPage { _, page, cookie in
            for path in ["/api/set", "/api/command", "/api/follow", "/api/forget"] {
                let reply = try page.post(
                    path, #"{"board":"dut","key":"device.name","name":"simulate","value":1}"#, cookie)
                #expect(reply.status == 403)
                #expect(reply.body.contains(#""error":"read_only""#))
            }
            #expect(try page.post("/api/login", #"{"password":""}"#, cookie).status == 404, "there is no password")
        }
    }
}
