/// Reads server-sent events of the page.
final class PageStreamReader {
    struct Event: Equatable {
        var name: String
        var data: String
    }

    let connection: RawHTTP.Connection
    private var text = ""

    /// Opens `/events?…` and reads the headers of the answer.
    init(_ page: PageRig, _ query: String, _ cookie: RawHTTP.Header, receiveBuffer: Int32? = nil) throws {
        connection = try RawHTTP.Connection(page.port, receiveBuffer: receiveBuffer)
        connection.write(
            "GET /events?\(query) HTTP/1.1\r\nHost: localhost\r\n\(cookie.name): \(cookie.value)\r\n\r\n")
        let reply = try connection.readReply(hasBody: false)
        guard reply.status == 200 else { throw PageRig.PageRigError.refused(reply.status) }
    }

    /// The next event; `nil` at the end of the stream, and after ten seconds without a byte.
    func next() -> Event? {
        while true {
            if let end = text.range(of: "\n\n") {
                let lines = text[..<end.lowerBound].components(separatedBy: "\n")
                text.removeSubrange(..<end.upperBound)
                guard lines.count == 2, lines[0].hasPrefix("event: "), lines[1].hasPrefix("data: ") else { return nil }
                return Event(name: String(lines[0].dropFirst(7)), data: String(lines[1].dropFirst(6)))
            }
            guard let chunk = connection.readChunk(), !chunk.isEmpty else { return nil }
            text += String(decoding: chunk, as: UTF8.self)
        }
    }

    /// The next event that satisfies a condition; `nil` if none comes within a minute. Pings come in any case.
    func next(where isWanted: (Event) -> Bool) -> Event? {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline, let event = next() { if isWanted(event) { return event } }
        return nil
    }

    func next(_ name: String) -> Event? { next { $0.name == name } }
}
