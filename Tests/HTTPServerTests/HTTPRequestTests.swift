import Testing

@testable import HTTPServer

/// What a handler finds in a request.
@Suite struct HTTPRequestTests {
    private func request(_ headers: [(String, String)]) -> HTTPRequest {
        var request = HTTPRequest(method: "GET", path: "/")
        request.headers = headers.map { (name: $0.0, value: $0.1) }
        return request
    }

    @Test func theNameOfAHeaderHasNoCase() {
        #expect(request([("x-JOSTLE", "1")]).header("X-Jostle") == "1")
        #expect(request([]).header("X-Jostle") == nil)
    }

    @Test func aHeaderThatOccursTwiceHasNoValue() {
        #expect(request([("Host", "a"), ("host", "b")]).header("Host") == nil)
        #expect(request([("Host", "a"), ("host", "a")]).header("Host") == nil)
    }

    @Test func theFirstArgumentCounts() {
        var request = HTTPRequest(method: "GET", path: "/")
        request.query = [("board", "one"), ("board", "two"), ("empty", "")]
        #expect(request.argument("board") == "one")
        #expect(request.argument("empty") == "")
        #expect(request.argument("Board") == nil)
    }

    @Test(arguments: [
        ("id=7", "7"), ("a=1; id=7; b=2", "7"), ("a=1;id=7", "7"), ("  id=7", "7"), ("id=a=b", "a=b"), ("id=", ""),
        ("id=1; id=2", "1"),
    ])
    func findsACookie(_ header: String, _ value: String) {
        #expect(request([("cookie", header)]).cookie("id") == value)
    }

    @Test(arguments: ["", ";", "=", "id", "id;", "xid=7", "idx=7", "ID=7", "a=id=7", "; ; =;;"])
    func findsNoCookie(_ header: String) {
        #expect(request([("Cookie", header)]).cookie("id") == nil)
    }

    @Test func findsACookieInTheSecondHeader() {
        #expect(request([("Cookie", "a=1"), ("Cookie", "id=7")]).cookie("id") == "7")
    }
}
