internal import CMicrohttpd
internal import Glibc
package import LinuxSystem

/// A web server that has no thread and never waits: GNU libmicrohttpd, driven by its owner.
///
/// A round is: wait until `descriptor` is readable or `timeout` has passed, then call `run`, which calls the handler for
/// each complete request. All calls must come from one thread. Requests are bounded in size, time and number; what a
/// client sends slowly, or does not read, ends its own connection and delays nobody else.
package final class HTTPServer {
    /// A certificate with its key, both PEM.
    package struct Certificate: Sendable {
        package var certificate: [UInt8]
        package var key: [UInt8]

        package init(certificate: [UInt8], key: [UInt8]) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Why it cannot start.
    package enum Failure: Error, Equatable, Sendable {
        /// libmicrohttpd refused the certificate or its key.
        case certificate
        /// It could not start; the reason is the errno that it left, if any.
        case start(SystemFailure)
    }

    /// Rounds without a pause in which nothing happens but an answer may be on its way; as many as a file of a page takes.
    private static let patience = 16
    /// Seconds between two such rounds then.
    private static let pause = 0.01

    private let state: ServerState
    private let usesTLS: Bool
    /// How often in a row it has been run at the library's own wish, without a request or an answer.
    private var quietRounds = 0
    private let daemon: OpaquePointer
    private var hasStopped = false

    /// The address at which it listens.
    package let address: ListeningAddress

    /// Readable when `run` has something to do.
    package let descriptor: Int32

    /// Starts to listen.
    package init(
        _ socket: ListeningSocket, certificate: Certificate? = nil, limits: HTTPLimits = HTTPLimits(),
        handler: @escaping (HTTPRequest) -> HTTPReply
    ) throws(Failure) {
        state = ServerState(limits, handler: handler)
        usesTLS = certificate != nil
        address = socket.address
        // libmicrohttpd closes the socket, also if it cannot start.
        guard let daemon = HTTPServer.start(socket.release(), certificate, limits, state) else {
            if certificate != nil { throw .certificate }
            throw .start(SystemFailure(code: errno))
        }
        self.daemon = daemon
        descriptor = jostle_MHD_epoll_descriptor(daemon)
    }

    deinit { stop() }

    private static func start(
        _ descriptor: Int32, _ certificate: Certificate?, _ limits: HTTPLimits, _ state: ServerState
    ) -> OpaquePointer? {
        var options = jostle_MHD_options()
        options.listening_socket = descriptor
        options.maximum_connections = UInt32(limits.connections)
        options.inactivity = UInt32(limits.inactivity)
        options.memory = limits.memory
        options.context = Unmanaged.passUnretained(state).toOpaque()
        options.access = access
        options.completed = completed
        options.connection_changed = connectionChanged
        guard let certificate else { return jostle_MHD_start_daemon(&options) }
        // Texts in C end with a zero byte. They are parsed at the start and not needed afterwards.
        return (certificate.certificate.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { text in
            (certificate.key.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { key in
                options.certificate = text.baseAddress
                options.key = key.baseAddress
                return jostle_MHD_start_daemon(&options)
            }
        }
    }

    /// Seconds until `run` must be called even if the descriptor is not readable; `nil` if there is no limit.
    package var timeout: Double? {
        // libmicrohttpd stops accepting at its limit of connections or descriptors. It begins again in the round after the
        // one in which a connection has ended, and nothing would wake its owner for that.
        if state.hasEndedConnection { return 0 }
        let milliseconds = jostle_MHD_timeout(daemon)
        let own = state.deadlines.nextDeadline.map { max(0, $0 - MonotonicTime.seconds) }
        guard milliseconds >= 0 else { return own }
        // While a handshake of TLS waits for its client, libmicrohttpd 0.9.75 asks to be run again at once, over and over.
        // What the client sends then makes the descriptor readable.
        // An answer may take some rounds that cannot be told from these.
        let patience = state.deadlines.isAnswering ? HTTPServer.patience : 0
        let least = quietRounds > patience ? HTTPServer.pause : 0
        return min(max(Double(milliseconds) / 1000, least), own ?? .infinity)
    }

    /// Does the due work: accepts, reads, calls the handler, writes, ends what is late.
    package func run() {
        for descriptor in state.deadlines.due(at: MonotonicTime.seconds) { shutdown(descriptor, Int32(SHUT_RDWR)) }
        state.hasEndedConnection = false
        state.hasMoved = false
        MHD_run(daemon)
        let isQuiet = usesTLS && !state.hasMoved && jostle_MHD_timeout(daemon) == 0
        quietRounds = isQuiet ? quietRounds + 1 : 0
    }

    /// Ends all connections, streams too, and closes the socket.
    package func stop() {
        guard !hasStopped else { return }
        hasStopped = true
        // libmicrohttpd ends the whole program if a suspended connection is left when the daemon stops.
        for stream in state.streams.values { stream.finish() }
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
    }

    // MARK: Callbacks

    private static let access: MHD_AccessHandlerCallback = { context, connection, url, method, _, data, size, request in
        guard let context, let connection, let url, let method, let request else { return jostle_MHD_no }
        let state = Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue()
        return state.handle(connection, String(cString: url), String(cString: method), data, size, request)
    }

    private static let completed: MHD_RequestCompletedCallback = { context, connection, request, _ in
        guard let context, let connection, let request else { return }
        Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue().complete(connection, request)
    }

    private static let connectionChanged: MHD_NotifyConnectionCallback = { context, connection, socketContext, code in
        guard let context, let connection, let socketContext else { return }
        let state = Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue()
        state.connectionChanged(connection, socketContext, hasStarted: code == jostle_MHD_started)
    }
}
