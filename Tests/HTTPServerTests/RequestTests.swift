import BrokerTestSupport
import HTTPTestSupport
import Testing

@testable import HTTPServer

/// Requests, good and bad, over raw sockets.
@Suite struct RequestTests {
    /// A server with a limit of 100 bytes for a body. It answers `METHOD PATH BODY`, and keeps the requests.
    private func server(_ received: Journal<HTTPRequest>) throws -> ServerRig {
        var limits = HTTPLimits()
        limits.body = 100
        return try ServerRig(limits) { request in
            received.append(request)
            switch request.fault {
            case .tooLarge: return HTTPReply(413, [("X-Reason", "large")])
            case .twoLengths: return HTTPReply(400)
            case nil: break
            }
            let text = "\(request.method) \(request.path) \(String(decoding: request.body, as: UTF8.self))"
            return HTTPReply(200, [("Content-Type", "text/plain")], body: .bytes(Array(text.utf8)))
        }
    }

    private func exchange(_ text: String, _ body: (RawHTTP.Connection, Journal<HTTPRequest>) throws -> Void) throws {
        let received = Journal<HTTPRequest>()
        let server = try server(received)
        defer { server.stop() }
        let connection = try server.connect()
        connection.write(text)
        try body(connection, received)
    }

    @Test func theHandlerGetsEverythingOfARequest() throws {
        let text = "POST /a/b?x=1&y=&z HTTP/1.1\r\nHost: h\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 3\r\n\r\nabc"
        try exchange(text) { connection, received in
            let reply = try connection.readReply()
            #expect(reply.status == 200)
            #expect(reply.header("Content-Type") == "text/plain")
            #expect(reply.body == "POST /a/b abc")
            let request = try #require(received.entries.first)
            #expect(request.query.map(\.name) == ["x", "y", "z"])
            #expect(request.query.map(\.value) == ["1", "", ""])
            #expect(request.header("host") == "h")
            #expect(request.headers.filter { $0.name == "X-Twice" }.map(\.value) == ["1", "2"])
        }
    }

    @Test(arguments: ["GET", "DELETE", "OPTIONS", "PATCH", "QUERY"])
    func anyMethodReachesTheHandler(_ method: String) throws {
        try exchange("\(method) /x HTTP/1.1\r\nHost: h\r\n\r\n") { connection, _ in
            let reply = try connection.readReply()
            #expect(reply.body == "\(method) /x ")
        }
    }

    @Test func headHasTheLengthAndNoBody() throws {
        try exchange("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") { connection, _ in
            let reply = try RawHTTP.reply(connection.readToEnd())
            #expect(reply.status == 200)
            #expect(reply.header("Content-Length") == "8")
            #expect(reply.body == "")
        }
    }

    @Test func aBodyMayHaveAsManyBytesAsTheLimit() throws {
        let body = String(repeating: "x", count: 100)
        try exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n\(body)") { connection, _ in
            let reply = try connection.readReply()
            #expect(reply.body == "POST / \(body)")
        }
    }

    @Test(arguments: [101, 5_000_000, Int.max])
    func aLongerBodyIsRefusedBeforeItArrives(_ length: Int) throws {
        try exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n") { connection, received in
            let reply = try connection.readReply()
            #expect(reply.status == 413)
            #expect(received.entries.allSatisfy { $0.fault == .tooLarge && $0.body.isEmpty })
            #expect(connection.hasEnded, "the rest cannot be told from a request")
        }
    }

    @Test func aRefusedBodyIsNoRequest() throws {
        let inner = "GET /inner HTTP/1.1\r\nHost: h\r\n\r\n"
        let body = inner + String(repeating: "x", count: 100)
        let text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        try exchange(text) { connection, received in
            _ = connection.readToEnd()
            #expect(received.entries.map(\.path) == ["/"])
        }
    }

    /// A body in chunks of 50 bytes.
    private func chunks(_ count: Int) -> String {
        let chunk = "32\r\n" + String(repeating: "y", count: 50) + "\r\n"
        return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            + String(repeating: chunk, count: count) + "0\r\n\r\n"
    }

    @Test func aBodyMayComeInChunks() throws {
        try exchange(chunks(2)) { connection, _ in
            let reply = try connection.readReply()
            #expect(reply.body == "POST / " + String(repeating: "y", count: 100))
        }
    }

    @Test func aLongerBodyInChunksIsRefused() throws {
        try exchange(chunks(3)) { connection, received in
            let reply = try connection.readReply()
            #expect(reply.status == 413)
            #expect(reply.header("X-Reason") == "large")
            #expect(received.entries.map(\.body) == [[]])
        }
    }

    @Test func anEndlessBodyInChunksEndsItsConnection() throws {
        let received = Journal<HTTPRequest>()
        let server = try server(received)
        defer { server.stop() }
        let connection = try server.connect()
        connection.write("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "3e8\r\n" + String(repeating: "y", count: 1000) + "\r\n"
        for _ in 0..<20 { connection.write(chunk) }
        #expect(connection.hasEnded)
        #expect(received.count == 0)
    }

    @Test func aClientThatAsksFirstIsToldToContinue() throws {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: "
        try exchange(head + "3\r\n\r\n") { connection, _ in
            let interim = String(decoding: connection.read(through: "\r\n\r\n"), as: UTF8.self)
            #expect(interim.hasPrefix("HTTP/1.1 100 "))
            connection.write("abc")
            let reply = try connection.readReply()
            #expect(reply.body == "POST / abc")
        }
        try exchange(head + "101\r\n\r\n") { connection, _ in
            let reply = try connection.readReply()
            #expect(reply.status == 413)
        }
    }

    @Test func aConnectionServesSeveralRequestsInOrder() throws {
        let two =
            "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
            + "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nxGET /3 HTTP/1.1"
        try exchange(two) { connection, _ in
            var bodies = [try connection.readReply().body, try connection.readReply().body]
            connection.write("\r\nHost: h\r\n\r\n")
            bodies.append(try connection.readReply().body)
            #expect(bodies == ["GET /1 ", "POST /2 x", "GET /3 "])
        }
    }

    @Test func anOldClientIsAnsweredAndItsConnectionEnds() throws {
        try exchange("GET /x HTTP/1.0\r\n\r\n") { connection, _ in
            let reply = try RawHTTP.reply(connection.readToEnd())
            #expect(reply.status == 200)
            #expect(reply.body == "GET /x ")
        }
    }

    @Test(arguments: [
        ("/a%20b", "/a b"), ("/%2e%2E/etc", "/../etc"), ("/caf%C3%A9", "/café"), ("/a+b", "/a+b"),
    ])
    func percentEncodingIsDecodedOnce(_ target: String, _ path: String) throws {
        try exchange("GET \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") { connection, received in
            _ = connection.readToEnd()
            #expect(received.entries.map(\.path) == [path])
        }
    }

    @Test(arguments: ["/a%00b", "/%", "/%zz", "/%c3", "/%ff%fe", "/x?a=%00b&%=1&=&&", "/\u{1}"])
    func oddEncodingsAreAnsweredOrRefused(_ target: String) throws {
        try exchange("GET \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") { connection, _ in
            let bytes = connection.readToEnd()
            let status = bytes.isEmpty ? 400 : try RawHTTP.reply(bytes).status
            #expect([200, 400].contains(status))
        }
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n : x\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1x\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx\r\n0\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}",
    ])
    func aMalformedRequestHarmsNobody(_ text: String) throws {
        let received = Journal<HTTPRequest>()
        let server = try server(received)
        defer { server.stop() }
        let bad = try server.connect()
        bad.write(text)
        let good = try server.connect()
        good.write("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
        let reply = try good.readReply()
        #expect(reply.body == "GET /good ")
        #expect(received.entries.allSatisfy { $0.path == "/good" || $0.path == "/" && $0.body.count <= 1 })
    }

    /// Otherwise a proxy in front and this server could disagree about where a request ends.
    @Test(arguments: [
        "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
    ])
    func aBodyWithTwoLengthsIsRefusedAndItsConnectionEnds(_ headers: String) throws {
        let text = "POST / HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\r\n0\r\n\r\nGET /inner HTTP/1.1\r\nHost: h\r\n\r\n"
        try exchange(text) { connection, received in
            let bytes = connection.readToEnd()
            #expect(bytes.isEmpty || String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
            #expect(received.entries.allSatisfy { $0.fault == .twoLengths })
            #expect(received.count <= 1)
        }
    }

    @Test(arguments: [(1, 100_000), (10_000, 10), (3000, 1)])
    func tooManyHeadersAreRefused(_ count: Int, _ size: Int) throws {
        let received = Journal<HTTPRequest>()
        let server = try server(received)
        defer { server.stop() }
        let connection = try server.connect()
        let value = String(repeating: "v", count: size)
        connection.write("GET / HTTP/1.1\r\nHost: h\r\n")
        connection.write((0..<count).map { "X-\($0): \(value)\r\n" }.joined() + "\r\n")
        let bytes = connection.readToEnd()
        let status = bytes.isEmpty ? 431 : try RawHTTP.reply(bytes).status
        #expect([400, 413, 414, 431].contains(status))
        #expect(received.count == 0)
        let good = try server.connect()
        good.write("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
        let reply = try good.readReply()
        #expect(reply.status == 200)
    }
}
