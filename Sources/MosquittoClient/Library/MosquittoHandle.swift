internal import CMosquitto
internal import CMosquittoGuard
internal import Glibc

/// A `struct mosquitto` for a single connection, destroyed at the end of the value's lifetime; to be used by one thread
/// at a time.
///
/// Functions that may process a packet from the broker are called through `CMosquittoGuard`, because an unknown
/// property makes an assertion in libmosquitto 2.0.11 fail, which would terminate the process. A handle with a failed
/// assertion is abandoned: its socket is closed and the rest is never used again. Its memory leaks, which is why a
/// client waits ever longer after such failures.
///
/// Every attempt uses a new handle: the library keeps its queue, properties and settings across reconnections, and
/// would resend messages that the owner has already given up.
struct MosquittoHandle: ~Copyable {
    private let client: OpaquePointer

    /// The recorded callbacks.
    let recorder: CallbackRecorder

    /// What is known of the packets that were read.
    private let packets: UnsafeMutablePointer<mosquitto_packet_limit>

    /// The cause of a TLS failure; `nil` if there was none.
    var tlsFault: TLSFault? {
        // Swift 6.0.3 crashes when an optional is read through a stored reference of a noncopyable value.
        let recorder = recorder
        return recorder.tlsFault
    }

    /// The bytes of all packets that were read so far.
    var bytesRead: UInt64 { packets.pointee.bytes }

    /// The failure that ended the reading, if it was a packet beyond the limit.
    var oversizedPacket: MQTTFailure? {
        guard packets.pointee.is_exceeded else { return nil }
        let size = packets.pointee.topic_size
        let bytes = UnsafeBufferPointer(start: packets.pointee.topic, count: size)
        return .packetTooLarge(topic: size > 0 ? String(decoding: bytes, as: UTF8.self) : nil)
    }

    /// Whether the TLS handshake is complete.
    var isEncrypted: Bool { !isAbandoned && mosquitto_is_encrypted(client) }

    /// Creates an unconnected client (`mosquitto_new`).
    init(clientID: String, cleanSession: Bool) throws(MQTTFailure) {
        Self.initialiseLibrary
        guard let client = mosquitto_new(clientID, cleanSession, nil) else {
            throw .library(code: MOSQ_ERR_NOMEM.rawValue)
        }
        self.client = client
        packets = .allocate(capacity: 1)
        packets.initialize(to: mosquitto_packet_limit())
        recorder = CallbackRecorder()
        recorder.install(on: client)
        // The client is not threaded, but with this setting `publish` queues the message instead of writing it
        // directly.
        mosquitto_threaded_set(client, true)
    }

    deinit {
        if !isAbandoned { Self.destroy(client) }
        free(packets.pointee.topic)
        packets.deallocate()
    }

    /// Frees a client (`mosquitto_destroy`). Separate from `deinit`, in which Swift 6.0.3 crashes on a local variable.
    private static func destroy(_ client: OpaquePointer) {
        // With TLS this writes to the socket, and the broker may be gone.
        ignoringBrokenPipe { mosquitto_destroy(client) }
    }

    /// Runs `mosquitto_lib_init` once. There is no clean-up, because a detached thread may still use the library.
    private static let initialiseLibrary: Void = {
        _ = mosquitto_lib_init()
        mosquitto_guard_prepare()
    }()

    /// Whether an assertion of the library failed for this handle.
    var isAbandoned: Bool {
        let recorder = recorder
        return recorder.isAbandoned
    }

    /// The socket, negative if there is none (`mosquitto_socket`).
    var socket: Int32 { isAbandoned ? -1 : mosquitto_socket(client) }

    /// Whether there is data to write (`mosquitto_want_write`).
    var wantsWrite: Bool { !isAbandoned && mosquitto_want_write(client) }

    /// Starts to connect (`mosquitto_connect_async`). Blocks for the DNS query but not for the connection.
    func connect(
        to broker: BrokerAddress, keepAlive: Duration, forcesIPv4: Bool, properties: borrowing PropertyList
    ) throws(MQTTFailure) {
        if forcesIPv4 {
            try check(mosquitto_string_option(client, MOSQ_OPT_BIND_ADDRESS, "0.0.0.0"))
        }
        let seconds = Int32(clamping: keepAlive.wholeSeconds)
        if let list = properties.pointer {
            // Only the blocking function takes properties. Without a host it stores them and fails, and the
            // asynchronous function then uses the stored ones (2.0.11 to 2.0.21).
            _ = mosquitto_connect_bind_v5(client, nil, Int32(broker.port), seconds, nil, list)
        }
        let code = mosquitto_connect_async(client, broker.host, Int32(broker.port), seconds)
        let cause = errno
        guard code == MOSQ_ERR_SUCCESS.rawValue else {
            throw MQTTFailure(code, errno: cause, host: broker.host, tlsFault: tlsFault)
        }
        // Closed on exec, because a child process would keep the connection open.
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    }

    /// The result of a read.
    struct ReadResult {
        /// The library's return code, and the errno it left.
        var code: Int32
        var cause: Int32
        /// Whether everything was read. TLS may buffer data that `poll` does not report.
        var isDrained: Bool
    }

    /// Reads and processes at most one packet (`mosquitto_loop_read`).
    func read() -> ReadResult {
        // A copy: see `tlsFault`.
        let recorder = recorder
        let count = recorder.count
        errno = 0
        let code = guarded { client in mosquitto_guard_loop_read(client, 1, packets) }
        let cause = errno
        // A response that the library queues may also leave EAGAIN, but in that case there was a callback.
        return ReadResult(code: code, cause: cause, isDrained: cause == EAGAIN && recorder.count == count)
    }

    /// Writes pending data, as far as the socket accepts it (`mosquitto_loop_write`).
    func write() -> Int32 { guarded { client in mosquitto_guard_loop_write(client, 1) } }

    /// Sends a ping if one is due (`mosquitto_loop_misc`).
    func maintain() -> Int32 { guarded { client in mosquitto_guard_loop_misc(client) } }

    /// Publishes a message (`mosquitto_publish_v5`). Returns its packet id.
    func publish(_ message: MQTTMessage, version: MQTTVersion) throws(MQTTFailure) -> Int32 {
        var properties = PropertyList()
        if version == .v5, message.hasProperties { try properties.add(message.properties) }
        var id: Int32 = 0
        let list = properties.pointer
        let code = message.payload.withUnsafeBytes { bytes in
            guarded { client in
                mosquitto_guard_publish_v5(
                    client, &id, message.topic, Int32(clamping: bytes.count), bytes.baseAddress,
                    Int32(message.qos.rawValue), message.retain, list)
            }
        }
        try check(code)
        return id
    }

    /// Requests a subscription (`mosquitto_subscribe_v5`). Returns its packet id.
    func subscribe(_ filter: String, _ subscription: MQTTSubscription) throws(MQTTFailure) -> Int32 {
        var id: Int32 = 0
        let options = subscription.keepsRetainFlag ? Int32(bitPattern: MQTT_SUB_OPT_RETAIN_AS_PUBLISHED.rawValue) : 0
        let code = guarded { client in
            mosquitto_guard_subscribe_v5(client, &id, filter, Int32(subscription.qos.rawValue), options, nil)
        }
        try check(code)
        return id
    }

    /// Ends a subscription (`mosquitto_unsubscribe`).
    func unsubscribe(_ filter: String) throws(MQTTFailure) {
        try check(guarded { client in mosquitto_guard_unsubscribe(client, nil, filter) })
    }

    /// Queues the DISCONNECT (`mosquitto_disconnect_v5`). The library closes the socket after writing it.
    func disconnect() {
        _ = guarded { client in mosquitto_guard_disconnect_v5(client, 0, nil) }
    }

    /// Calls a guarded function unless the handle has been abandoned, and abandons it if an assertion fails.
    private func guarded(_ call: (OpaquePointer) -> Int32) -> Int32 {
        if isAbandoned { return MOSQ_ERR_NO_CONN.rawValue }
        let code = call(client)
        if code == MOSQUITTO_GUARD_ASSERTION_FAILED {
            // Reading the socket needs no lock, and the library will no longer close it.
            let socket = mosquitto_socket(client)
            if socket >= 0 { close(socket) }
            recorder.abandon()
        }
        return code
    }

}

extension MosquittoHandle {
    /// Applies all settings that must precede the connection.
    ///
    /// - Throws: `file` if a key or certificate cannot be read, `library` if the library rejects a setting.
    func configure(
        _ options: MQTTOptions, broker: BrokerAddress, version: MQTTVersion, limits: MQTTLimits
    ) throws(MQTTFailure) {
        let protocolVersion = version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        // A copy: see `tlsFault`.
        let recorder = recorder
        recorder.takesMessage = options.takesMessage
        packets.pointee.limit = UInt32(clamping: options.maximumPacketSize)
        try check(mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, protocolVersion))
        try check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1))
        try check(mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, Int32(options.maximumInFlight)))
        try check(mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(options.maximumInFlight)))
        if let credentials = options.credentials {
            try check(mosquitto_username_pw_set(client, credentials.userName, credentials.password?.text))
        }
        if let will = options.will.map(limits.applied) {
            let code = will.payload.withUnsafeBytes { bytes in
                mosquitto_will_set(
                    client, will.topic, Int32(clamping: bytes.count), bytes.baseAddress, Int32(will.qos.rawValue),
                    will.retain)
            }
            try check(code)
        }
        guard broker.usesTLS else { return }
        recorder.noteTLSFaults(of: client)
        try configure(options.tls)
    }

    private func configure(_ tls: MQTTTLSOptions) throws(MQTTFailure) {
        // MOSQ_OPT_TLS_USE_OS_CERTS would be the proper way, but 2.0.11 then still requires a file or a directory.
        let caDirectory = tls.caFile == nil ? tls.caDirectory ?? MQTTTLSOptions.systemCADirectory : tls.caDirectory
        // The library reports only an invalid argument. This check finds out which file, and why.
        for path in [tls.caFile, caDirectory, tls.certificateFile, tls.keyFile] {
            if let path, access(path, R_OK) != 0 { throw .file(path, code: errno) }
        }
        // A key with a passphrase is not supported. Without this callback, OpenSSL would prompt at the terminal and
        // block.
        try check(
            mosquitto_tls_set(client, tls.caFile, caDirectory, tls.certificateFile, tls.keyFile) { _, _, _, _ in 0 })
        // SSL_VERIFY_PEER. No version: the library's default, TLS 1.2 and later.
        try check(mosquitto_tls_opts_set(client, 1, nil, nil))
        try check(mosquitto_tls_insecure_set(client, !tls.verifiesServerName))
        if let name = tls.applicationProtocol {
            try check(mosquitto_string_option(client, MOSQ_OPT_TLS_ALPN, name))
        }
    }
}

extension MQTTOptions {
    /// Whether `maximumPacketSize` holds for a broker that does not know it. It does not if the program was linked without
    /// exporting the functions through which libmosquitto reads (`mosquitto_limit_works`).
    package static var limitsPackets: Bool { mosquitto_limit_works() }
}

extension MQTTFailure {
    /// The failure for a return code of the library, given the errno it left and an earlier TLS fault.
    init(_ code: Int32, errno cause: Int32, host: String, tlsFault: TLSFault?) {
        if code == MOSQUITTO_GUARD_ASSERTION_FAILED {
            self = .unreadable
            return
        }
        if let tlsFault {
            self = .tls(tlsFault)
            return
        }
        switch mosq_err_t(rawValue: code) {
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: self = .hostNotFound(host, code: cause)
        case MOSQ_ERR_ERRNO: self = cause == 0 ? .closed : .network(code: cause)
        case MOSQ_ERR_CONN_LOST, MOSQ_ERR_NO_CONN: self = .closed
        case MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_DUPLICATE_PROPERTY: self = .protocolError
        case MOSQ_ERR_KEEPALIVE: self = .silent
        // OpenSSL gives a reason for every failure but the end of the connection.
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: self = .tls(.interrupted)
        default: self = .library(code: code)
        }
    }
}

/// Throws unless a code of the library means success.
private func check(_ code: Int32) throws(MQTTFailure) {
    if code == MOSQUITTO_GUARD_ASSERTION_FAILED { throw .unreadable }
    if code != MOSQ_ERR_SUCCESS.rawValue { throw .library(code: code) }
}

/// Runs a body in which a write to a closed socket returns an error instead of raising SIGPIPE, which would terminate
/// the process.
///
/// libmosquitto and OpenSSL write without MSG_NOSIGNAL, on whatever thread drives a client.
func ignoringBrokenPipe<Result>(_ body: () -> Result) -> Result {
    var signals = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, &previous)
    defer {
        if sigismember(&previous, SIGPIPE) == 0 {
            // A pending SIGPIPE would be delivered when the mask is restored, so it is consumed here.
            var now = timespec()
            _ = sigtimedwait(&signals, nil, &now)
            pthread_sigmask(SIG_SETMASK, &previous, nil)
        }
    }
    return body()
}

/// A list of MQTT 5 properties to be sent, freed at the end of the value's lifetime.
struct PropertyList: ~Copyable {
    private(set) var pointer: OpaquePointer?

    /// Creates an empty list.
    init() {}

    deinit {
        var list = pointer
        mosquitto_property_free_all(&list)
    }

    /// Appends a number (`mosquitto_property_add_int32`).
    mutating func add(_ identifier: mqtt5_property, _ value: UInt32) throws(MQTTFailure) {
        try check(mosquitto_property_add_int32(&pointer, Int32(identifier.rawValue), value))
    }

    /// Appends a text (`mosquitto_property_add_string`).
    mutating func add(_ identifier: mqtt5_property, _ value: String) throws(MQTTFailure) {
        try check(mosquitto_property_add_string(&pointer, Int32(identifier.rawValue), value))
    }

    /// Appends bytes (`mosquitto_property_add_binary`).
    mutating func add(_ identifier: mqtt5_property, _ value: [UInt8]) throws(MQTTFailure) {
        let code = value.withUnsafeBytes { bytes in
            mosquitto_property_add_binary(
                &pointer, Int32(identifier.rawValue), bytes.baseAddress, UInt16(clamping: bytes.count))
        }
        try check(code)
    }

    /// Appends the properties of a message.
    mutating func add(_ properties: MQTTMessage.Properties) throws(MQTTFailure) {
        if let value = properties.messageExpiry { try add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, value) }
        if let value = properties.responseTopic { try add(MQTT_PROP_RESPONSE_TOPIC, value) }
        if let value = properties.correlationData { try add(MQTT_PROP_CORRELATION_DATA, value) }
        if let value = properties.contentType { try add(MQTT_PROP_CONTENT_TYPE, value) }
        for property in properties.userProperties {
            let identifier = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
            try check(mosquitto_property_add_string_pair(&pointer, identifier, property.name, property.value))
        }
    }

}

/// The version of libmosquitto that is loaded, such as 2.0.21 (`mosquitto_lib_version`).
package var libmosquittoVersion: String {
    var (major, minor, revision): (Int32, Int32, Int32) = (0, 0, 0)
    _ = mosquitto_lib_version(&major, &minor, &revision)
    return "\(major).\(minor).\(revision)"
}
