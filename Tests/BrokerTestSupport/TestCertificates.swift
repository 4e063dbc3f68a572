import Foundation

/// A certificate authority for one test, and server certificates signed by it, created by the `openssl` program.
package struct TestCertificates {
    /// Whether the program is installed.
    package static let isAvailable = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/bin/openssl"]
        .contains { FileManager.default.isExecutableFile(atPath: $0) }

    /// The directory of the files.
    package let directory: TemporaryDirectory

    /// The authority's certificate.
    package var caFile: String { directory.path("ca.pem") }

    /// Creates an authority. One with the basic constraint `CA:FALSE` may not sign certificates.
    package init(directory: TemporaryDirectory, basicConstraint: String? = nil) throws {
        self.directory = directory
        try directory.write(
            """
            [ca]
            default_ca = test
            [test]
            new_certs_dir = .
            database = index.txt
            rand_serial = yes
            certificate = ca.pem
            private_key = ca.key
            default_md = sha256
            policy = any
            copy_extensions = copy
            unique_subject = no
            [any]
            commonName = supplied
            """, to: "ca.cnf")
        try directory.write("", to: "index.txt")
        try Self.makeKey("ca.key", in: directory)
        let constraint = basicConstraint.map { ["-addext", "basicConstraints=critical,\($0)"] } ?? []
        try runCommand(
            [
                "openssl", "req", "-x509", "-new", "-key", "ca.key", "-out", "ca.pem", "-subj", "/CN=Jostle test CA",
                "-days", "36500",
            ] + constraint, in: directory)
    }

    /// When a certificate is valid.
    package enum Validity: Sendable {
        case now
        case past
        case future

        /// The dates in `openssl ca` format.
        var dates: (start: String, end: String) {
            switch self {
            case .now: ("20200101000000Z", "20990101000000Z")
            case .past: ("20100101000000Z", "20110101000000Z")
            case .future: ("20970101000000Z", "20980101000000Z")
            }
        }
    }

    /// Creates `server.pem` and `server.key`, replacing earlier ones. The extended key usage, such as `clientAuth`, is
    /// what the certificate may be used for; by default for everything.
    package func makeServerCertificate(name: String, _ validity: Validity = .now, use: String? = nil) throws {
        let usage = use.map { ["-addext", "extendedKeyUsage=\($0)"] } ?? []
        try makeCertificate("server", name: name, ["-addext", "subjectAltName=DNS:\(name)"] + usage, validity)
    }

    /// Creates `USER.pem` and `USER.key` for a client, with the user as the common name. Only the owner can read the key.
    package func makeClientCertificate(user: String) throws {
        try makeCertificate(user, name: user, [], .now)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.path("\(user).key"))
    }

    private func makeCertificate(_ file: String, name: String, _ options: [String], _ validity: Validity) throws {
        try Self.makeKey("\(file).key", in: directory)
        try runCommand(
            [
                "openssl", "req", "-new", "-key", "\(file).key", "-out", "\(file).csr", "-subj", "/CN=\(name)",
            ] + options, in: directory)
        let dates = validity.dates
        try runCommand(
            [
                "openssl", "ca", "-batch", "-notext", "-config", "ca.cnf", "-in", "\(file).csr", "-out",
                "\(file).pem", "-startdate", dates.start, "-enddate", dates.end,
            ], in: directory)
    }

    /// The broker's configuration lines for these files.
    package var listenerLines: String {
        """
        cafile \(caFile)
        certfile \(directory.path("server.pem"))
        keyfile \(directory.path("server.key"))
        """
    }

    /// Adds the authority's certificate to a directory, under the name by which OpenSSL looks it up.
    package func rehash(into authorities: TemporaryDirectory) throws {
        try FileManager.default.copyItem(atPath: caFile, toPath: authorities.path("ca.pem"))
        try runCommand(["openssl", "rehash", authorities.path], in: authorities)
    }

    private static func makeKey(_ name: String, in directory: TemporaryDirectory) throws {
        try runCommand(
            [
                "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", name,
            ], in: directory)
        // The broker drops root privileges and must still be able to read the file.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: directory.path(name))
    }
}

/// A TLS server that does not speak MQTT but logs its clients' TLS requests (`openssl s_server`); end it with `end`.
package final class TLSServer {
    /// The port that it listens on.
    package let port: UInt16
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts a server with the latest server certificate.
    package init(_ certificates: TestCertificates, protocols: String) throws {
        directory = certificates.directory
        port = try Loopback.freePort()
        // Its input stays open until `end`, because the server ends with it.
        process = try ChildProcess(
            [
                "/bin/sh", "-c", "exec \"$@\" >server.txt", "sh", "openssl", "s_server", "-accept", "\(port)", "-cert",
                "server.pem", "-key", "server.key", "-alpn", protocols,
            ], in: directory)
    }

    /// Its log.
    package var output: String { (try? String(contentsOfFile: directory.path("server.txt"), encoding: .utf8)) ?? "" }

    /// Ends it.
    package func end() {
        kill(process.identifier, SIGKILL)
        process.wait()
    }
}
