internal import CMicrohttpd
internal import Glibc
internal import LinuxSystem

/// What the callbacks of libmicrohttpd share: requests that arrive, streams that are open, deadlines.
final class ServerState {
    /// A request while it arrives and is answered.
    private final class Exchange {
        var request: HTTPRequest
        /// Why it is answered before it is complete.
        var isTooLarge = false
        var stream: HTTPStream?

        init(_ request: HTTPRequest) { self.request = request }
    }

    private let maximumBody: Int
    private let handler: (HTTPRequest) -> HTTPReply
    var deadlines = ConnectionDeadlines()
    /// The open streams.
    private(set) var streams: [ObjectIdentifier: HTTPStream] = [:]

    init(maximumBody: Int, handler: @escaping (HTTPRequest) -> HTTPReply) {
        self.maximumBody = maximumBody
        self.handler = handler
    }

    // MARK: Connections

    /// A connection begins or ends. Its number is kept in `context`.
    func connectionChanged(
        _ connection: OpaquePointer, _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>, hasStarted: Bool
    ) {
        guard hasStarted else {
            deadlines.end(Int(bitPattern: context.pointee))
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
        guard let known = request.pointee else {
            let exchange = Exchange(ServerState.head(connection, path, method))
            request.pointee = Unmanaged.passRetained(exchange).toOpaque()
            // Answered at once, so that nothing of the body is read.
            let length = exchange.request.header("Content-Length").flatMap { Int($0) } ?? 0
            return length > maximumBody ? answer(connection, HTTPReply(413), exchange) : jostle_MHD_yes
        }
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if let size, size.pointee > 0, let data {
            if exchange.request.body.count + size.pointee <= maximumBody {
                let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
                exchange.request.body += bytes
            } else {
                exchange.isTooLarge = true
            }
            size.pointee = 0
            return jostle_MHD_yes
        }
        return answer(connection, exchange.isTooLarge ? HTTPReply(413) : handler(exchange.request), exchange)
    }

    /// The request without its body.
    private static func head(_ connection: OpaquePointer, _ path: String, _ method: String) -> HTTPRequest {
        var request = HTTPRequest(method: method, path: path)
        request.query = values(connection, jostle_MHD_arguments)
        request.headers = values(connection, jostle_MHD_headers)
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
        let stream: HTTPStream
        let connection: OpaquePointer

        init(_ stream: HTTPStream, _ connection: OpaquePointer) {
            self.stream = stream
            self.connection = connection
        }
    }

    private func streamResponse(_ stream: HTTPStream, _ connection: OpaquePointer) -> OpaquePointer? {
        let context = Unmanaged.passRetained(StreamContext(stream, connection)).toOpaque()
        return jostle_MHD_stream(
            8192,
            { context, _, buffer, size in
                guard let context, let buffer else { return jostle_MHD_end_of_stream }
                let known = Unmanaged<StreamContext>.fromOpaque(context).takeUnretainedValue()
                let (stream, connection) = (known.stream, known.connection)
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
