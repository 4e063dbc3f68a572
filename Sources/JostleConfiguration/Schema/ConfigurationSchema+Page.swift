internal import LinuxSystem

extension ConfigurationSchema {
    static let page = Section(
        "page", "The web page: what jostle-page serves, and to whom.",
        [
            .key(
                "listen", \.page.listen, .listeningAddress,
                "The address and port at which the page is served. 127.0.0.1: for this machine alone. Others need "
                    + "password_file and a certificate."),
            .key(
                "hosts", \.page.hosts, .hostNames,
                "The host names under which browsers reach the page, besides localhost, this machine's name and numeric "
                    + "addresses."),
            .key(
                "password_file", optional: \.page.passwordFile, .credentialPath, example: "/etc/jostle/page-password",
                "A file whose first line is the password of the page. Without it, only links admit a browser."),
            .key(
                "certificate_file", optional: \.page.certificateFile, .path, example: "/etc/jostle/page.pem",
                "The certificate of the page, followed by those of its issuers. It needs key_file."),
            .key(
                "key_file", optional: \.page.keyFile, .credentialPath, example: "/etc/jostle/page.key",
                "The private key of that certificate, without a passphrase and not readable by all users."),
            .key(
                "control", \.page.mayControl, .boolean,
                "Whether visitors may change settings and send commands."),
            .key(
                "metrics_token_file", optional: \.page.metricsTokenFile, .credentialPath,
                example: "/etc/jostle/metrics-token",
                "A file whose first line is the bearer token for reading /metrics, of 16 characters or more. Without it, only "
                    + "programs on this machine read them, without a token."),
        ])
}

extension ValueFormat<ListeningAddress> {
    /// `HOST:PORT`, with brackets around a numeric IPv6 host.
    static var listeningAddress: ValueFormat {
        ValueFormat(
            allowed: "HOST:PORT, such as 127.0.0.1:8088 or [::1]:8088", wantsExample: true,
            constraints: [
                .init("type", "string"), .init("pattern", "^(\\[[0-9A-Fa-f:.]+\\]|[^:\\s\\[\\]]+):[0-9]{1,5}$"),
            ],
            read: { node, _ throws(ValueRefusal) in
                let text = try ValueFormat<String>.lineOfText(node, maximum: 300)
                do throws(ListeningAddress.Malformed) {
                    return try ListeningAddress(text)
                } catch {
                    throw ValueRefusal(error.reason)
                }
            },
            write: { .string($0.text) })
    }
}

extension ValueFormat<String> {
    /// The name of a host, without a port.
    static var hostName: ValueFormat {
        ValueFormat(
            allowed: "a host name such as pi.example.org, without a port", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 253)
                let isName = text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
                    default: false
                    }
                }
                guard isName, text.first != "-", text.first != "." else { throw ValueRefusal("is not a host name") }
                return text.lowercased()
            },
            write: { .string($0) })
    }
}

extension ValueFormat<[String]> {
    /// Host names; there may be none.
    static var hostNames: ValueFormat { anyNumber(of: .hostName, atMost: 32) }
}
