internal import CMosquitto
internal import CMosquittoGuard
internal import Glibc
internal import LinuxSystem

/// Records libmosquitto's callbacks, to be processed after the library has returned.
///
/// The library holds a lock during callbacks, so they only copy data. All of this happens on the network thread: the
/// library calls back only from its loop functions.
final class CallbackRecorder {
    enum Record {
        case connack(code: Int32, sessionPresent: Bool, keepAlive: UInt16?, MQTTLimits)
        case disconnected(code: Int32)
        case published(id: Int32, reason: Int32)
        case subscribed(id: Int32, granted: Int32)
        case message(MQTTMessage)
    }

    private var records: [Record] = []

    /// The cause of a TLS failure; `nil` if there was none.
    private(set) var tlsFault: TLSFault?

    /// Whether an assertion of the library failed for this client.
    private(set) var isAbandoned = false

    /// The number of callbacks so far.
    private(set) var count: UInt64 = 0

    /// Takes messages in place of a record: see `MQTTOptions.takesMessage`.
    var takesMessage: (@Sendable (MQTTMessage) -> Bool)?

    /// Takes all records.
    func take() -> [Record] {
        defer { records.removeAll() }
        return records
    }

    /// Records that the client must not be used again.
    func abandon() {
        isAbandoned = true
    }

    /// Installs the callbacks on a client. The recorder must outlive it.
    func install(on client: OpaquePointer) {
        mosquitto_user_data_set(client, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_connect_v5_callback_set(client) { _, context, code, flags, properties in
            CallbackRecorder.with(context) { recorder in
                var seconds: UInt16 = 0
                let identifier = Int32(MQTT_PROP_SERVER_KEEP_ALIVE.rawValue)
                let hasKeepAlive = mosquitto_property_read_int16(properties, identifier, &seconds, false) != nil
                recorder.records.append(
                    .connack(
                        code: code, sessionPresent: flags & 1 != 0, keepAlive: hasKeepAlive ? seconds : nil,
                        MQTTLimits(connack: properties)))
            }
        }
        mosquitto_disconnect_v5_callback_set(client) { _, context, code, _ in
            CallbackRecorder.with(context) { $0.records.append(.disconnected(code: code)) }
        }
        mosquitto_publish_v5_callback_set(client) { _, context, id, reason, _ in
            CallbackRecorder.with(context) { $0.records.append(.published(id: id, reason: reason)) }
        }
        mosquitto_subscribe_v5_callback_set(client) { _, context, id, count, granted, _ in
            // 2.0.11 passes on a SUBACK without a return code (CVE-2024-10525).
            guard count > 0, let granted else { return }
            CallbackRecorder.with(context) { $0.records.append(.subscribed(id: id, granted: granted[0])) }
        }
        mosquitto_message_v5_callback_set(client) { _, context, message, properties in
            CallbackRecorder.with(context) { recorder in
                guard let message = message?.pointee, let copy = MQTTMessage(copying: message, properties) else {
                    return
                }
                if recorder.takesMessage?(copy) != true { recorder.records.append(.message(copy)) }
            }
        }
    }

    /// Takes the reason of a TLS failure from the log of a client; everything else of interest has a callback. Without TLS,
    /// the log would only cost: the library writes a line for each message.
    func noteTLSFaults(of client: OpaquePointer) {
        mosquitto_log_callback_set(client) { client, context, level, text in
            guard level == MOSQ_LOG_ERR, let text else { return }
            CallbackRecorder.with(context) { $0.noteTLSFault(String(cString: text), client) }
        }
    }

    /// Runs the body of a callback with the assertion guard suspended: the guard's siglongjmp skips stack frames, and
    /// Swift frames must not be skipped.
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (CallbackRecorder) -> Void) {
        guard let context else { return }
        let suspended = mosquitto_guard_suspend()
        let recorder = Unmanaged<CallbackRecorder>.fromOpaque(context).takeUnretainedValue()
        recorder.count += 1
        body(recorder)
        mosquitto_guard_resume(suspended)
    }

    private func noteTLSFault(_ text: String, _ client: OpaquePointer?) {
        // The first message is the cause; later ones are its consequences.
        guard tlsFault == nil else { return }
        if text.contains(text: "host name verification failed") {
            tlsFault = .wrongHost
        } else if text.contains(text: "certificate verify failed"), let ssl = mosquitto_ssl_get(client) {
            tlsFault = TLSFault(verifyResultOf: ssl) ?? .untrusted
        } else {
            tlsFault = TLSFault(log: text)
        }
    }
}

extension MQTTLimits {
    /// Reads them from a CONNACK. A property that is missing means that there is no limit.
    fileprivate init(connack properties: OpaquePointer?) {
        var value: UInt8 = 1
        _ = mosquitto_property_read_byte(properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &value, false)
        retains = value != 0
        value = 1
        _ = mosquitto_property_read_byte(properties, Int32(MQTT_PROP_MAXIMUM_QOS.rawValue), &value, false)
        maximumQoS = value == 0 ? .atMostOnce : .atLeastOnce
    }
}

extension TLSFault {
    /// Parses a log message of libmosquitto: its own text, or `OpenSSL Error[0]: error:0A00045C:SSL routines::tlsv13
    /// alert …`.
    init(log text: String) {
        let words = text.drop(prefix: "Error: ").trimmingFullStop
        let isOpenSSL = text.hasPrefix("OpenSSL Error")
        let reason = isOpenSSL ? words.split(separator: ":").last.map(String.init) ?? words : words
        if let alert = reason.firstRange(of: " alert ") {
            self = .alert(String(reason[alert.upperBound...]))
        } else if isOpenSSL, TLSFault.reasonsOfOtherProtocols.contains(reason) {
            self = .notTLS
        } else if isOpenSSL, reason == "unexpected eof while reading" {
            self = .interrupted
        } else if !isOpenSSL, reason.contains(text: "client key") || reason.contains(text: "lient certificate") {
            self = .clientCertificate(reason)
        } else {
            self = .other(reason)
        }
    }

    /// What OpenSSL says of an answer that does not begin with a record of TLS.
    private static let reasonsOfOtherProtocols = [
        "wrong version number", "packet length too long", "http request", "https proxy request", "bad record type",
        "unexpected message", "record layer failure", "unknown protocol",
    ]

    /// Reads OpenSSL's reason for refusing a certificate (`SSL_get_verify_result`); `nil` if it gives none.
    ///
    /// libmosquitto has loaded OpenSSL into this process. Looking up the two functions avoids a dependency on its
    /// headers.
    fileprivate init?(verifyResultOf ssl: UnsafeMutableRawPointer) {
        guard let symbol = dlsym(nil, "SSL_get_verify_result") else { return nil }
        typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Int
        self.init(verifyResult: unsafeBitCast(symbol, to: Function.self)(ssl))
    }

    /// The fault for one of OpenSSL's reasons; `nil` for its 0, which is none.
    init?(verifyResult code: Int) {
        // X509_V_ERR_… of openssl/x509_vfy.h.
        switch code {
        case 0: return nil
        case 9: self = .notYetValid
        case 10: self = .expired
        case 62, 64: self = .wrongHost
        case 2, 18, 19, 20, 21: self = .untrusted
        case 23: self = .revoked
        case 26: self = .wrongPurpose
        case 66, 67, 68: self = .tooWeak
        case 79: self = .invalidAuthority
        default: self = .certificate(TLSFault.text(ofVerifyResult: code))
        }
    }

    /// OpenSSL's words for one of its reasons (`X509_verify_cert_error_string`).
    private static func text(ofVerifyResult code: Int) -> String {
        typealias Function = @convention(c) (Int) -> UnsafePointer<CChar>?
        guard let symbol = dlsym(nil, "X509_verify_cert_error_string"),
            let text = unsafeBitCast(symbol, to: Function.self)(code)
        else { return "reason \(code)" }
        return String(cString: text)
    }
}

extension MQTTMessage {
    /// Copies a message, which libmosquitto frees on return; `nil` if it has no topic.
    fileprivate init?(copying message: mosquitto_message, _ list: OpaquePointer?) {
        guard let topic = message.topic else { return nil }
        let payload = UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen))
        self.init(
            topic: String(cString: topic), payload: Array(payload), qos: message.qos == 0 ? .atMostOnce : .atLeastOnce,
            retain: message.retain, properties: list.map(Properties.init(copying:)))
    }
}

extension MQTTMessage.Properties {
    /// Copies the supported properties of a list.
    fileprivate init(copying list: OpaquePointer) {
        self.init()
        var number: UInt32 = 0
        let expiry = Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue)
        if mosquitto_property_read_int32(list, expiry, &number, false) != nil { messageExpiry = number }
        responseTopic = Self.text(MQTT_PROP_RESPONSE_TOPIC, in: list)
        contentType = Self.text(MQTT_PROP_CONTENT_TYPE, in: list)
        userProperties = Self.userProperties(in: list)

        var bytes: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        let correlation = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)
        if mosquitto_property_read_binary(list, correlation, &bytes, &count, false) != nil {
            correlationData = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            free(bytes)
        }
    }

    /// The first user properties (`mosquitto_property_read_string_pair`).
    private static func userProperties(in list: OpaquePointer) -> [MQTTMessage.UserProperty] {
        var properties: [MQTTMessage.UserProperty] = []
        var place: OpaquePointer? = list
        while properties.count < 8 {
            var name: UnsafeMutablePointer<CChar>?
            var value: UnsafeMutablePointer<CChar>?
            place = mosquitto_property_read_string_pair(
                place, Int32(MQTT_PROP_USER_PROPERTY.rawValue), &name, &value, !properties.isEmpty)
            defer {
                free(name)
                free(value)
            }
            guard place != nil, let name, let value else { break }
            properties.append(MQTTMessage.UserProperty(String(cString: name), String(cString: value)))
        }
        return properties
    }

    private static func text(_ identifier: mqtt5_property, in list: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(list, Int32(identifier.rawValue), &text, false) != nil, let text
        else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
