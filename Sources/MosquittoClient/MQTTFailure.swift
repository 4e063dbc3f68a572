internal import CMosquitto
internal import Glibc
internal import LinuxSystem

/// Why a connection could not be made, or ended: a state to recover from, never the end of the attempts.
package enum MQTTFailure: Error, Equatable, Sendable {
    /// The host's name has no address; `code` is getaddrinfo's (EAI_…).
    case hostNotFound(String, code: Int32)
    /// The network failed; `code` is the errno.
    case network(code: Int32)
    /// TCP, TLS or the broker's answer took longer than `MQTTOptions.connectTimeout`.
    case timedOut
    case tls(TLSFault)
    /// The broker answered the CONNECT with a refusal.
    case refused(MQTTReason)
    /// The broker closed the connection, and said why (MQTT 5).
    case closedByBroker(MQTTReason)
    /// The connection was closed without a word.
    case closed
    /// The broker's answers are not of this version of MQTT.
    case protocolError
    /// The broker sent what libmosquitto cannot read: an assertion of its own failed, and the connection was abandoned.
    case unreadable
    /// The broker sent a packet of more than `MQTTOptions.maximumPacketSize`.
    case packetTooLarge
    /// Nothing was heard for the keep-alive and the time an answer may take.
    case silent
    /// A file cannot be read; `code` is the errno.
    case file(String, code: Int32)
    /// `stop` was called.
    case stopped
    /// Anything else that libmosquitto reports; `code` is a MOSQ_ERR_….
    case library(code: Int32)
}

/// What kept a TLS connection from being made.
package enum TLSFault: Equatable, Sendable {
    /// The broker's certificate is from this board's future.
    case notYetValid
    case expired
    /// The certificate is for other names than the host's.
    case wrongHost
    /// No certificate authority that is trusted here vouches for the certificate.
    case untrusted
    /// The broker broke off the handshake, and why: the description of a TLS alert (RFC 8446 6.2).
    case alert(String)
    /// This client's own certificate or key cannot be used, in libmosquitto's words.
    case clientCertificate(String)
    /// Something else, in OpenSSL's words.
    case other(String)
}

/// A reason code of MQTT 5 (section 2.4); those of an MQTT 3.1.1 CONNACK are translated.
package struct MQTTReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package var rawValue: UInt8

    /// Makes a reason of its code.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let unspecified = MQTTReason(rawValue: 0x80)
    package static let unsupportedProtocolVersion = MQTTReason(rawValue: 0x84)
    package static let clientIDNotValid = MQTTReason(rawValue: 0x85)
    package static let badUserNameOrPassword = MQTTReason(rawValue: 0x86)
    package static let notAuthorised = MQTTReason(rawValue: 0x87)
    package static let serverUnavailable = MQTTReason(rawValue: 0x88)
    package static let banned = MQTTReason(rawValue: 0x8A)
    package static let sessionTakenOver = MQTTReason(rawValue: 0x8E)
    package static let topicNameInvalid = MQTTReason(rawValue: 0x90)
    package static let packetTooLarge = MQTTReason(rawValue: 0x95)
    package static let quotaExceeded = MQTTReason(rawValue: 0x97)

    /// The reason for an MQTT 3.1.1 CONNACK's return code (section 3.2.2.3 there).
    init(connack311 code: Int32) {
        self =
            switch code {
            case 1: .unsupportedProtocolVersion
            case 2: .clientIDNotValid
            case 3: .serverUnavailable
            case 4: .badUserNameOrPassword
            case 5: .notAuthorised
            default: MQTTReason(rawValue: UInt8(truncatingIfNeeded: code))
            }
    }

    /// The reason in words (`mosquitto_reason_string`).
    package var description: String {
        guard let text = mosquitto_reason_string(Int32(rawValue)) else { return "reason \(rawValue)" }
        return String(cString: text).trimmingFullStop
    }
}

extension MQTTFailure: CustomStringConvertible {
    /// What happened, for a log.
    package var description: String {
        switch self {
        case .hostNotFound(let host, let code):
            "host '\(host)' not found: \(gai_strerror(code).map { String(cString: $0) } ?? "code \(code)")"
        case .network(let code): systemMessage(code)
        case .timedOut: "no answer in time"
        case .tls(.notYetValid): "the broker's certificate is not valid yet"
        case .tls(.expired): "the broker's certificate has expired"
        case .tls(.wrongHost): "the broker's certificate is for another host name"
        case .tls(.untrusted): "the broker's certificate is not from a trusted authority"
        case .tls(.alert(let reason)): "the broker broke TLS off: \(reason)"
        case .tls(.clientCertificate(let text)): text
        case .tls(.other(let text)): "TLS: \(text)"
        case .refused(let reason): "the broker refused the connection: \(reason)"
        case .closedByBroker(let reason): "the broker closed the connection: \(reason)"
        case .closed: "the connection was closed"
        case .protocolError: "the broker's answer is not valid MQTT of this version"
        case .unreadable: "the broker sent what libmosquitto cannot read"
        case .packetTooLarge: "the broker sent a packet larger than this client takes"
        case .silent: "the broker does not answer any more"
        case .file(let path, let code): "cannot read \(path): \(systemMessage(code))"
        case .stopped: "stopped"
        case .library(let code): String(cString: mosquitto_strerror(code)).trimmingFullStop
        }
    }

    /// What happened to a message, where that is what was refused.
    package var ofMessage: String {
        if case .refused(let reason) = self { "\(reason)" } else { description }
    }

    /// What the reader can do about it; nil where waiting is all.
    package var advice: String? {
        switch self {
        case .hostNotFound: "check the broker's name and this board's DNS"
        case .network(code: ECONNREFUSED): "check that the broker runs and listens on this port"
        case .network(code: ENETUNREACH), .network(code: EHOSTUNREACH): "check this board's network"
        case .timedOut: "check the address and the firewall; a TLS port needs mqtts://, a plain one mqtt://"
        case .tls(.notYetValid): "check this board's clock"
        case .tls(.expired): "renew the broker's certificate, or check this board's clock"
        case .tls(.wrongHost): "use the name that is in the certificate, or a certificate for this name"
        case .tls(.untrusted): "set the CA file to the authority that signed the broker's certificate"
        case .tls(.alert("no application protocol")): "check the application protocol"
        case .tls(.alert): "check the client certificate and key: the broker wants one, or does not trust this one"
        case .tls(.clientCertificate): "certificate and key must be PEM and fit together, the key without a passphrase"
        case .tls(.other): "check that this is the broker's TLS port"
        case .refused(.badUserNameOrPassword): "check user name and password"
        case .refused(.notAuthorised): "check user name and password, and the broker's access rules"
        case .refused(.clientIDNotValid): "choose another client id"
        case .closedByBroker(.sessionTakenOver): "another client uses the same client id: give each its own"
        case .closed, .protocolError: "check that this is an MQTT port, and TLS where the broker wants it"
        case .unreadable: "check that this is the broker you mean; libmosquitto 2.0.21 or newer reads more"
        case .file: "check the path and who may read the file"
        default: nil
        }
    }
}

extension String {
    /// libmosquitto ends its sentences; here they stand within others.
    var trimmingFullStop: String { hasSuffix(".") ? String(dropLast()) : self }

    /// The text without this beginning, where it has it.
    func drop(prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}
