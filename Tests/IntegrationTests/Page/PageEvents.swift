import Foundation
import HTTPTestSupport
import Synchronization

/// The events that a page receives from the server, read by a thread of its own until `close`.
final class PageEvents: Sendable {
    struct Event: Sendable {
        var name: String
        var data: String

        /// The data as JSON.
        var json: Any? { try? JSONSerialization.jsonObject(with: Data(data.utf8), options: .fragmentsAllowed) }
        var object: [String: Any] { json as? [String: Any] ?? [:] }
    }

    private final class State: Sendable {
        let events = Mutex<[Event]>([])
        let isClosed = Atomic(false)
        let hasEnded = Atomic(false)
    }

    private let state = State()

    /// Only the thread that reads uses the connection.
    private struct Reader: @unchecked Sendable {
        let connection: RawHTTP.Connection
    }

    /// Opens the stream of a view: `view=boards` or `board=ID&stream=1`.
    init(_ page: PageRig, _ query: String, _ cookie: RawHTTP.Header) throws {
        let connection = try RawHTTP.Connection(page.port)
        // HTTP/1.0 has no chunks, whose sizes would be between the events and within them.
        connection.write(
            "GET /events?\(query) HTTP/1.0\r\nHost: 127.0.0.1:\(page.port)\r\nAccept: text/event-stream\r\n"
                + "\(cookie.name): \(cookie.value)\r\n\r\n")
        let state = state
        let reader = Reader(connection: connection)
        Thread.detachNewThread {
            var text = Data()
            while !state.isClosed.load(ordering: .relaxed) {
                let bytes = reader.connection.read()
                // The server sends a ping every ten seconds, so nothing for so long is the end too.
                guard !bytes.isEmpty else { break }
                text.append(contentsOf: bytes)
                PageEvents.take(&text, state)
            }
            state.hasEnded.store(true, ordering: .releasing)
        }
    }

    /// Takes the complete events from what has arrived.
    private static func take(_ text: inout Data, _ state: State) {
        while let end = text.range(of: Data("\n\n".utf8)) {
            // The lines of the head before the first event end with CR LF.
            let lines = String(decoding: text[..<end.lowerBound], as: UTF8.self)
                .replacingOccurrences(of: "\r\n", with: "\n").components(separatedBy: "\n")
            text.removeSubrange(..<end.upperBound)
            guard let name = lines.last(where: { $0.hasPrefix("event: ") })?.dropFirst(7),
                let data = lines.last(where: { $0.hasPrefix("data: ") })?.dropFirst(6)
            else { continue }
            state.events.withLock { $0.append(Event(name: String(name), data: String(data))) }
        }
    }

    func close() { state.isClosed.store(true, ordering: .relaxed) }

    /// Whether the server has ended the stream.
    var hasEnded: Bool { state.hasEnded.load(ordering: .acquiring) }

    var all: [Event] { state.events.withLock { $0 } }

    func all(_ name: String) -> [Event] { all.filter { $0.name == name } }

    func last(_ name: String) -> Event? { all.last { $0.name == name } }
}
