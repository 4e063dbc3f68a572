internal import CMosquitto
internal import Glibc
internal import LinuxSystem

/// Why a connection could not be established, or ended. The client recovers from every failure and keeps trying.
package enum MQTTFailure: Error, Equatable, Sendable {
    /// The host name cannot be resolved; `code` is getaddrinfo's (EAI_…).
    case hostNotFound(String, code: Int32)
    /// The network failed; `code` is the errno.
    case network(code: Int32)
    /// Connecting, the TLS handshake and the broker's answer took longer than `MQTTOptions.connectTimeout`.
    case timedOut
    case tls(TLSFault)
    /// The broker refused the CONNECT.
    case refused(MQTTReason)
    /// The broker closed the connection and gave a reason (MQTT 5).
    case closedByBroker(MQTTReason)
    /// The connection was closed without a reason.
    case closed
    /// The broker's answers do not conform to this version of MQTT.
    case protocolError
    /// The broker sent data that made an assertion in libmosquitto fail. The connection was abandoned.
    case unreadable
    /// The broker sent a packet larger than `MQTTOptions.maximumPacketSize`. If it was a message, `topic` is its topic.
    case packetTooLarge(topic: String?)
    /// The broker did not answer the subscription to this filter within `MQTTOptions.subscribeTimeout`.
    case subscriptionUnanswered(String)
    /// Nothing was received for the keep-alive time plus the response timeout.
    case silent
    /// The broker takes more of the will than it was told in this CONNECT, because it took less before.
    case willOutdated
    /// A file cannot be read; `code` is the errno.
    case file(String, code: Int32)
    /// `stop` was called.
    case stopped
    /// Any other error from libmosquitto; `code` is a MOSQ_ERR_….
    case library(code: Int32)
}

/// Why a TLS connection could not be established.
package enum TLSFault: Equatable, Sendable {
    /// The broker's certificate is not valid yet.
    case notYetValid
    case expired
    /// The certificate does not include the host's name.
    case wrongHost
    /// The certificate is not signed by a trusted authority.
    case untrusted
    /// The certificate may not be used by a server, such as one for clients.
    case wrongPurpose
    /// The authority has revoked the certificate.
    case revoked
    /// The certificate of the authority is not one of an authority.
    case invalidAuthority
    /// A key or a digest in the certificates is too weak for OpenSSL's security level.
    case tooWeak
    /// The certificate is not accepted for another reason, in OpenSSL's words.
    case certificate(String)
    /// The answer is not TLS.
    case notTLS
    /// The connection was closed during the handshake.
    case interrupted
    /// The broker aborted the handshake: the description of its TLS alert (RFC 8446 6.2).
    case alert(String)
    /// This client's own certificate or key cannot be used, in libmosquitto's words.
    case clientCertificate(String)
    /// Another problem, in OpenSSL's words.
    case other(String)
}

/// A reason code of MQTT 5 (section 2.4). The return codes of an MQTT 3.1.1 CONNACK are translated to it.
package struct MQTTReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package var rawValue: UInt8

    /// Creates a reason from its code.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The PUBACK of a message to whose topic nobody subscribes (MQTT 5, 3.4.2.1). It is not a failure.
    static let noMatchingSubscribers: Int32 = 0x10

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
    package static let payloadFormatInvalid = MQTTReason(rawValue: 0x99)
    package static let retainNotSupported = MQTTReason(rawValue: 0x9A)
    package static let qosNotSupported = MQTTReason(rawValue: 0x9B)

    /// The reasons of a DISCONNECT that may be the answer to a message (MQTT 5, 3.14.2.1).
    static let reasonsOfMessages: Set<MQTTReason> = [
        .unspecified, MQTTReason(rawValue: 0x83), .notAuthorised, .topicNameInvalid, .packetTooLarge, .quotaExceeded,
        .payloadFormatInvalid, .retainNotSupported, .qosNotSupported,
    ]

    /// The reason that corresponds to an MQTT 3.1.1 CONNACK return code (section 3.2.2.3 there).
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

    /// The reason as text (`mosquitto_reason_string`).
    package var description: String {
        guard let text = mosquitto_reason_string(Int32(rawValue)) else { return "reason \(rawValue)" }
        return String(cString: text).trimmingFullStop
    }
}

extension MQTTFailure: CustomStringConvertible {
    /// The failure as text, for a log.
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
        case .tls(.wrongPurpose): "the broker's certificate is not one for servers"
        case .tls(.revoked): "the broker's certificate has been revoked"
        case .tls(.invalidAuthority): "the certificate that signed the broker's is not one of an authority"
        case .tls(.tooWeak): "a key or digest in the broker's certificates is too weak"
        case .tls(.certificate(let text)): "the broker's certificate is not accepted: \(text)"
        case .tls(.notTLS): "the answer is not TLS"
        case .tls(.interrupted): "the connection was closed during the TLS handshake"
        case .tls(.alert(let reason)): "the broker aborted the TLS handshake: \(reason)"
        case .tls(.clientCertificate(let text)): text
        case .tls(.other(let text)): "TLS: \(text)"
        case .refused(let reason): "the broker refused the connection: \(reason)"
        case .closedByBroker(let reason): "the broker closed the connection: \(reason)"
        case .closed: "the connection was closed"
        case .protocolError: "the broker's answer is not valid MQTT of this version"
        case .unreadable: "the broker sent data that libmosquitto cannot read"
        case .packetTooLarge(nil): "the broker sent a packet larger than this client takes"
        case .packetTooLarge(let topic?):
            "the broker sent a larger message than this client takes, to \(topic.shortened)"
        case .subscriptionUnanswered(let filter): "the broker did not answer the subscription to \(filter) in time"
        case .silent: "the broker no longer answers"
        case .willOutdated: "the broker now takes the whole will, which is sent again"
        case .file(let path, let code): "cannot read \(path): \(systemMessage(code))"
        case .stopped: "stopped"
        case .library(let code): String(cString: mosquitto_strerror(code)).trimmingFullStop
        }
    }

    /// The failure as text, for a message that was rejected.
    package var messageDescription: String {
        if case .refused(let reason) = self { "\(reason)" } else { description }
    }

    /// What the user can do about it; `nil` if waiting is enough.
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
        case .tls(.wrongPurpose): "use a certificate with the extended key usage serverAuth, or without any"
        case .tls(.revoked): "give the broker another certificate"
        case .tls(.invalidAuthority):
            "sign the broker's certificate with one that has the basic constraint CA:TRUE, and set the CA file to that"
        case .tls(.tooWeak): "renew the certificates with keys of at least 2048 bits (RSA) and SHA-256"
        case .tls(.certificate): "check the broker's certificate and its authority's"
        case .packetTooLarge(_?):
            "if the message is retained, remove it: publish an empty retained message to its topic"
        case .tls(.notTLS), .tls(.interrupted):
            "check that this is the broker's TLS port; a port without TLS needs mqtt://"
        case .tls(.alert("no application protocol")): "check the application protocol"
        case .tls(.alert): "check the client certificate and key: the broker requires one, or does not trust this one"
        case .tls(.clientCertificate): "certificate and key must be PEM and fit together, the key without a passphrase"
        case .tls(.other): "check that this is the broker's TLS port"
        case .refused(.badUserNameOrPassword): "check user name and password"
        case .refused(.notAuthorised):
            "check user name and password, and the broker's access rules; some prescribe the client id (mqtt.client_id)"
        case .refused(.clientIDNotValid): "choose another client id (mqtt.client_id)"
        case .closedByBroker(.sessionTakenOver): MQTTFailure.takeoverAdvice
        case .closed, .protocolError: "check that this is an MQTT port, and that TLS is on if the broker requires it"
        case .unreadable: "check that this is the broker you mean; libmosquitto 2.0.21 or newer reads more"
        case .file: "check the path and the file's permissions"
        default: nil
        }
    }
}

extension MQTTFailure {
    /// What ends a connection when another client takes over its session, and what to do.
    static let takeoverAdvice =
        "another client uses the same client id, or the same user if the broker takes that as the client id "
        + "(use_username_as_clientid): give each its own"

    /// Whether the cause is certainly this device or its network. A broker that is frozen looks like a network without a
    /// connection, so a timeout is not certain.
    package var isOwnFault: Bool {
        switch self {
        case .hostNotFound: true
        case .network(let code): [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL].contains(code)
        default: false
        }
    }

    /// Whether the reason may be this host's own network: no route, no address, no name server, no answer at all.
    var mayBeOwnNetwork: Bool {
        isOwnFault || [.timedOut, .silent, .network(code: ETIMEDOUT)].contains(self)
    }

    /// Whether a message was rejected for what it is, and not because the connection ended.
    package var concernsMessage: Bool {
        switch self {
        case .refused, .library: true
        default: false
        }
    }

    /// Whether a message that was rejected for this reason may be accepted later. One that is malformed or too large will
    /// not be.
    package var mayPass: Bool {
        switch self {
        case .refused(let reason):
            ![.topicNameInvalid, .packetTooLarge, .payloadFormatInvalid].contains(reason)
        case .library(let code):
            ![
                MOSQ_ERR_INVAL, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_OVERSIZE_PACKET,
            ].map(\.rawValue).contains(code)
        default: true
        }
    }

    /// Whether the broker ended the connection for a reason that may be a message.
    package var mayBeForMessage: Bool {
        switch self {
        case .closed, .network(code: ECONNRESET), .network(code: EPIPE): true
        case .closedByBroker(let reason): MQTTReason.reasonsOfMessages.contains(reason)
        default: false
        }
    }

    /// Whether the broker ended the connection, or did not answer.
    var isByBroker: Bool {
        switch self {
        case .closed, .closedByBroker, .subscriptionUnanswered, .network(code: ECONNRESET), .network(code: EPIPE): true
        default: false
        }
    }
}

extension String {
    /// libmosquitto's texts are sentences; here they become parts of sentences.
    var trimmingFullStop: String { hasSuffix(".") ? String(dropLast()) : self }

    /// The beginning of a text that may be very long.
    var shortened: String {
        let limit = 200
        return utf8.count > limit ? prefix(limit) + "…" : self
    }

    /// The text without this prefix, if it has it.
    func drop(prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}
