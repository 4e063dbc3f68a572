internal import CMicrohttpd
internal import Glibc
internal import LinuxSystem

/// What the callbacks of libmicrohttpd share: requests that arrive, streams that are open, deadlines.
final class ServerState {
    /// A request while it arrives and is answered.
    private final class Exchange {
        var request: HTTPRequest
        /// Bytes of the body beyond the limit, which are not kept.
        var surplus = 0
        var stream: HTTPStream?

        init(_ request: HTTPRequest) { self.request = request }
    }

    /// How often the limit a body that is too large may come in before its connection ends without an answer.
    private static let patience = 16

    private let maximumBody: Int
    private let handler: (HTTPRequest) -> HTTPReply
    var deadlines: ConnectionDeadlines
    /// Whether a connection has ended since this was last set to false.
    var hasEndedConnection = false
    /// Whether something of a request or an answer has moved since this was last set to false.
    var hasMoved = false
    /// The open streams.
    private(set) var streams: [ObjectIdentifier: HTTPStream] = [:]

    init(_ limits: HTTPLimits, handler: @escaping (HTTPRequest) -> HTTPReply) {
        maximumBody = limits.body
        deadlines = ConnectionDeadlines(limits)
        self.handler = handler
    }

    // MARK: Connections

    /// A connection begins or ends. Its number is kept in `context`.
    func connectionChanged(
        _ connection: OpaquePointer, _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>, hasStarted: Bool
    ) {
        guard hasStarted else {
            deadlines.end(Int(bitPattern: context.pointee))
            hasEndedConnection = true
            return
        }
        let (number, surplus) = deadlines.begin(jostle_MHD_socket(connection), at: MonotonicTime.seconds)
        context.pointee = UnsafeMutableRawPointer(bitPattern: number)
        if let surplus { shutdown(surplus, Int32(SHUT_RDWR)) }
    }

    private func note(_ activity: ConnectionDeadlines.Activity, of connection: OpaquePointer) {
        let number = Int(bitPattern: jostle_MHD_socket_context(connection))
        deadlines.change(number, to: activity, at: MonotonicTime.seconds)
    }

    // MARK: Requests

    /// A part of a request has arrived: the headers, then the body in pieces, then its end.
    func handle(
        _ connection: OpaquePointer, _ path: String, _ method: String, _ data: UnsafePointer<CChar>?,
        _ size: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> MHD_Result {
        hasMoved = true
        guard let known = request.pointee else {
            let exchange = Exchange(ServerState.head(connection, path, method))
            request.pointee = Unmanaged.passRetained(exchange).toOpaque()
            // Answered at once, so that nothing of the body is read.
            guard let fault = fault(of: exchange.request) else { return jostle_MHD_yes }
            exchange.request.fault = fault
            return answer(connection, handler(exchange.request), exchange)
        }
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if let size, size.pointee > 0, let data {
            if exchange.request.fault == nil, exchange.request.body.count + size.pointee <= maximumBody {
                let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
                exchange.request.body += bytes
            } else {
                // Without a length known in advance, the answer has to wait for the end of the body.
                exchange.request.fault = .tooLarge
                exchange.request.body = []
                exchange.surplus += size.pointee
                guard exchange.surplus <= ServerState.patience * maximumBody else { return jostle_MHD_no }
            }
            size.pointee = 0
            return jostle_MHD_yes
        }
        return answer(connection, handler(exchange.request), exchange)
    }

    /// What the headers already show to be wrong with the body.
    private func fault(of request: HTTPRequest) -> HTTPRequest.BodyFault? {
        let names = request.headers.map { $0.name.lowercased() }
        let statements = names.filter { ["content-length", "transfer-encoding"].contains($0) }
        if statements.count > 1 { return .twoLengths }
        let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
        return length > maximumBody ? .tooLarge : nil
    }

    /// The request without its body.
    private static func head(_ connection: OpaquePointer, _ path: String, _ method: String) -> HTTPRequest {
        var request = HTTPRequest(method: method, path: path)
        request.query = values(connection, jostle_MHD_arguments)
        request.headers = values(connection, jostle_MHD_headers)
        if let address = jostle_MHD_client(connection) {
            let isVersion6 = Int32(address.pointee.sa_family) == AF_INET6
            let size = isVersion6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
            request.client = ListeningSocket.numeric(address, socklen_t(size))?.host ?? ""
        }
        return request
    }

    private static func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
        final class List { var values: [(name: String, value: String)] = [] }
        let list = List()
        MHD_get_connection_values(
            connection, kind,
            { context, _, name, value in
                guard let context, let name else { return jostle_MHD_no }
                let list = Unmanaged<List>.fromOpaque(context).takeUnretainedValue()
                list.values.append((String(cString: name), value.map { String(cString: $0) } ?? ""))
                return jostle_MHD_yes
            }, Unmanaged.passUnretained(list).toOpaque())
        return list.values
    }

    /// The request has ended, successfully or not.
    func complete(_ connection: OpaquePointer, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>) {
        hasMoved = true
        guard let known = request.pointee else { return }
        request.pointee = nil
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
        if let stream = exchange.stream {
            streams[ObjectIdentifier(stream)] = nil
            stream.close()
        }
        note(.requesting, of: connection)
    }

    // MARK: Answers

    private func answer(_ connection: OpaquePointer, _ reply: HTTPReply, _ exchange: Exchange) -> MHD_Result {
        let response: OpaquePointer?
        switch reply.body {
        case .bytes(let bytes):
            note(.answering, of: connection)
            response = bytes.withUnsafeBytes { jostle_MHD_response($0.baseAddress, $0.count) }
        case .stream(let stream):
            note(.streaming, of: connection)
            exchange.stream = stream
            streams[ObjectIdentifier(stream)] = stream
            response = streamResponse(stream, connection)
        }
        guard let response else { return jostle_MHD_no }
        defer { MHD_destroy_response(response) }
        for header in reply.headers { MHD_add_response_header(response, header.name, header.value) }
        return MHD_queue_response(connection, UInt32(reply.status), response)
    }

    /// What the reader of a stream's response needs.
    private final class StreamContext {
        let state: ServerState
        let stream: HTTPStream
        let connection: OpaquePointer

        init(_ state: ServerState, _ stream: HTTPStream, _ connection: OpaquePointer) {
            self.state = state
            self.stream = stream
            self.connection = connection
        }
    }

    private func streamResponse(_ stream: HTTPStream, _ connection: OpaquePointer) -> OpaquePointer? {
        let context = Unmanaged.passRetained(StreamContext(self, stream, connection)).toOpaque()
        return jostle_MHD_stream(
            8192,
            { context, _, buffer, size in
                guard let context, let buffer else { return jostle_MHD_end_of_stream }
                let known = Unmanaged<StreamContext>.fromOpaque(context).takeUnretainedValue()
                let (stream, connection) = (known.stream, known.connection)
                known.state.hasMoved = true
                switch stream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size)) {
                case .bytes(let count): return count
                case .end: return jostle_MHD_end_of_stream
                case .nothing:
                    MHD_suspend_connection(connection)
                    stream.resume = { MHD_resume_connection(connection) }
                    return 0
                }
            }, context, { context in context.map { Unmanaged<StreamContext>.fromOpaque($0).release() } })
    }
}

/// Which connections must end: those that do not complete a request in time, and the oldest of them if there are many.
///
/// libmicrohttpd ends connections on which nothing moves. It has no limit for one that sends or reads a byte now and then.
struct ConnectionDeadlines {
    /// What a connection does.
    enum Activity: Equatable {
        /// It has not completed a request since then.
        case requesting
        /// It gets an answer.
        case answering
        /// It gets a stream, which has no end. Whether that moves is libmicrohttpd's concern.
        case streaming
    }

    private struct Entry {
        var descriptor: Int32
        var activity: Activity
        var since: Double
    }

    private let limits: HTTPLimits
    private var entries: [Int: Entry] = [:]
    private var nextNumber = 1

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// Adds a connection. Returns its number, and the connection to end because there are too many.
    mutating func begin(_ descriptor: Int32, at now: Double) -> (number: Int, surplus: Int32?) {
        let waiting = entries.filter { $0.value.activity == .requesting }
        var surplus: Int32?
        if waiting.count >= limits.requesting, let oldest = waiting.min(by: { $0.value.since < $1.value.since }) {
            surplus = oldest.value.descriptor
            // Counted no more, so that the next connection ends another one.
            entries[oldest.key] = nil
        }
        let number = nextNumber
        nextNumber += 1
        entries[number] = Entry(descriptor: descriptor, activity: .requesting, since: now)
        return (number, surplus)
    }

    /// A connection goes on to something else.
    mutating func change(_ number: Int, to activity: Activity, at now: Double) {
        entries[number]?.activity = activity
        entries[number]?.since = now
    }

    mutating func end(_ number: Int) { entries[number] = nil }

    /// The connections that must end now, each once.
    mutating func due(at now: Double) -> [Int32] {
        let late = entries.filter { entry in deadline(entry.value).map { $0 <= now } ?? false }
        for number in late.keys { entries[number] = nil }
        return late.values.map(\.descriptor)
    }

    /// Whether a connection gets an answer that is no stream.
    var isAnswering: Bool { entries.values.contains { $0.activity == .answering } }

    /// When the next connection must end.
    var nextDeadline: Double? { entries.values.compactMap(deadline).min() }

    private func deadline(_ entry: Entry) -> Double? {
        switch entry.activity {
        case .requesting: entry.since + limits.request
        case .answering: entry.since + limits.answer
        case .streaming: nil
        }
    }
}

/// An item of a header that is a list, with its parameters: `gzip;q=0.8` (RFC 9110, section 12.4).
package struct HeaderItem: Equatable, Sendable {
    /// In lower case.
    package var value: String
    /// In lower case, without the quotes around a value: `version=1.0.0`.
    private var parameters: [String]

    /// The items of a header; none if it is absent.
    package static func list(_ header: String?) -> [HeaderItem] {
        header?.split(separator: ",").map(HeaderItem.init) ?? []
    }

    private init(_ text: Substring) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { part in
            part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
        }
        value = parts[0]
        parameters = Array(parts.dropFirst())
    }

    /// The value of a parameter.
    package func parameter(_ name: String) -> String? {
        parameters.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// How much the client wants it: 1 unless it says something else, 0 for not at all, and for what is no number.
    package var weight: Double { parameter("q").map { Double($0) ?? 0 } ?? 1 }
}
