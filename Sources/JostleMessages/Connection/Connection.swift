package import Documents
internal import Glibc
package import JostleConfiguration
package import LinuxSystem
package import MosquittoClient

// Translates the user's settings into the MQTT client's options.
extension JostleSettings {
    /// The brokers in the order in which they are tried; the one on this machine if none is configured.
    package func brokers(embeddedPort: UInt16?) -> [MosquittoClient.BrokerAddress] {
        switch mqtt.broker {
        case .embedded: [MosquittoClient.BrokerAddress(host: "127.0.0.1", port: embeddedPort)]
        case .remote(let addresses):
            addresses.map { MosquittoClient.BrokerAddress(host: $0.host, port: $0.port, usesTLS: $0.usesTLS) }
        case nil: [MosquittoClient.BrokerAddress(host: "localhost")]
        }
    }

    /// The settings for a command that talks to agents: its broker may have another address.
    package var forCommands: JostleSettings {
        var settings = self
        if let broker = mqtt.commandBroker { settings.mqtt.broker = broker }
        return settings
    }

    /// The options of the MQTT client. Reads user name and password from their files.
    ///
    /// `name` is the device's id, or that of a program beside it. Unless the user sets something else, client ids start
    /// with an underscore, which a device's id cannot. So a broker that uses a device's user name as its client id, and
    /// admits only such ids elsewhere, does not let anybody disconnect the device by taking its client id.
    package func mqttOptions(name: String, brokers: [MosquittoClient.BrokerAddress]) throws(SecretFileError)
        -> MQTTOptions
    {
        var options = MQTTOptions(brokers: brokers, clientID: mqtt.clientID.replacing("{id}", with: name))
        // People notice a reconnect delay of 15 s; a thousand devices that return within it do not overload a broker.
        options.backoff.cap = .seconds(15)
        if homeAssistant.discovery {
            // Of events that arrive together, Home Assistant's event entities show only the last, so bursts are spaced out.
            options.spacing = MQTTSpacing(
                prefix: Topics(prefix: mqtt.prefix, id: name).events, interval: .milliseconds(10))
        }
        options.keepAlive = .milliseconds(Int64(mqtt.keepAlive * 1000))
        options.tls.caFile = mqtt.caFile
        options.tls.caDirectory = mqtt.caDirectory
        options.tls.certificateFile = mqtt.certificateFile
        if let name = mqtt.keyFile {
            let path = try CredentialFiles().file(name, key: "key_file")
            // A missing file is not an error here: the MQTT client waits for it.
            if access(path, F_OK) == 0 { try JostleSettings.requireSecret(path, key: "key_file") }
            options.tls.keyFile = path
        }
        options.tls.verifiesServerName = mqtt.checksServerName
        options.tls.applicationProtocol = mqtt.applicationProtocol
        switch mqtt.version {
        case .automatic: options.versions = .automatic
        case .v5: options.versions = .only(.v5)
        case .v311: options.versions = .only(.v311)
        }
        if let (userName, password) = try login() {
            options.credentials = MQTTCredentials(
                userName: userName, password: password.map(MQTTCredentials.Secret.init))
        }
        return options
    }

    /// User name and password, from their files; `nil` without a user name.
    package func login() throws(SecretFileError) -> (userName: String, password: String?)? {
        var userName = mqtt.username
        if userName == nil, let path = mqtt.usernameFile {
            userName = try JostleSettings.firstLine(of: path, key: "username_file")
        }
        guard let path = mqtt.passwordFile else { return userName.map { ($0, nil) } }
        guard let userName else {
            // MQTT 3.1.1 has no password without a user name, and an anonymous login is not what was configured.
            throw SecretFileError(
                key: "password_file", path: path,
                reason: "a password needs a user: set mqtt.username or mqtt.username_file")
        }
        return (userName, try JostleSettings.firstLine(of: path, key: "password_file"))
    }

    /// The users that the embedded broker admits: the one with whose password this device logs in, for itself and for other
    /// programs; `nil`, which admits everybody, if none is configured.
    package func embeddedUsers() throws -> MosquittoPasswords? {
        guard let (userName, password) = try login(), let password else { return nil }
        guard !userName.contains(":") else {
            throw Failure(.configuration, "mqtt.username: the embedded broker takes no user name with a colon")
        }
        var users = MosquittoPasswords("")
        guard users.set(userName, password: password) else {
            throw Failure(.system, "OpenSSL has no SHA-512 for the password of the embedded broker")
        }
        return users
    }

    /// Why the files of this login may not contain what was meant: a blank at an end belongs to a password, but is often
    /// there by mistake.
    package func doubts(about login: MQTTCredentials?) -> [SecretFileError] {
        let secrets = [
            (
                "username_file", mqtt.username == nil ? mqtt.usernameFile : nil,
                login.map { MQTTCredentials.Secret($0.userName) }
            ),
            ("password_file", mqtt.passwordFile, login?.password),
        ]
        return secrets.compactMap { key, path, secret in
            guard let path, secret?.hasOuterBlank == true else { return nil }
            return SecretFileError(
                key: key, path: path, reason: "its first line begins or ends with a blank, which is part of it")
        }
    }

    /// The brokers to which a password would be sent unencrypted over a network.
    package func unencryptedBrokers(among brokers: [MosquittoClient.BrokerAddress]) -> [MosquittoClient.BrokerAddress] {
        guard mqtt.passwordFile != nil else { return [] }
        return brokers.filter { !$0.usesTLS && !["localhost", "::1"].contains($0.host) && !$0.host.hasPrefix("127.") }
    }

    /// A warning if the size of received messages is not limited: with MQTT 3.1.1, this program itself has to do that.
    package func sizeWarning(limitsPackets: Bool = MQTTOptions.limitsPackets) -> String? {
        guard !limitsPackets, mqtt.version != .v5 else { return nil }
        return "with MQTT 3.1.1, messages of up to 256 MB are read into memory, because this program does not export "
            + "read and SSL_read; build it with `make build`, or set mqtt.version to v5"
    }

    /// Where a secret is.
    package enum SecretLocation: Equatable, Sendable {
        case file(String)
        /// A file that systemd passes to the service, whatever its owner and mode are.
        case credential(String)
        /// A credential that this process does not get or may not see, if there is one.
        case hidden
    }

    /// Finds the file of a secret that a setting names.
    package static func place(ofSecret name: String) -> SecretLocation {
        let credentials = CredentialFiles()
        do {
            let path = try credentials.file(name, key: "")
            if credentials.isCredential(path) { return .credential(path) }
            let isMissing = access(path, F_OK) != 0
            return isMissing && credentials.areHidden ? .hidden : .file(path)
        } catch {
            return .hidden
        }
    }

    /// Refuses a file that users other than its owner and group can read.
    static func requireSecret(_ path: String, section: String = "mqtt", key: String) throws(SecretFileError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            throw SecretFileError(
                section: section, key: key, path: path,
                reason: systemMessage(code) + CredentialFiles().advice(afterErrno: code))
        }
        guard status.st_mode & 0o007 == 0 else {
            throw SecretFileError(
                section: section, key: key, path: path, reason: "every user can read it; run chmod o= \(path)")
        }
    }

    /// The first line of a file that only its owner and group can read.
    static func firstLine(
        of name: String, section: String = "mqtt", key: String
    ) throws(SecretFileError) -> String {
        let path = try CredentialFiles().file(name, key: key)
        try requireSecret(path, section: section, key: key)
        do {
            return try firstLine(ofFile: path)
        } catch {
            throw SecretFileError(section: section, key: key, path: path, reason: error.reason)
        }
    }

    /// The URL of a webhook, from its file if it is in one; `rule` is the path of the rule in the configuration.
    package static func url(
        of webhook: Webhook, rule: String = "actions"
    ) throws(SecretFileError) -> String {
        switch webhook {
        case .url(let text): return text
        case .file(let path):
            let text = try firstLine(of: path, section: rule, key: "post.url_file")
            if let reason = Webhook.refusal(of: text) {
                throw SecretFileError(
                    section: rule, key: "post.url_file", path: path, reason: "its first line \(reason)")
            }
            return text
        }
    }

    /// The first line of a file, which may begin with a byte order mark.
    package static func firstLine(ofFile path: String) throws(ValueRefusal) -> String {
        let bytes: [UInt8]
        let limit = 4096
        do {
            bytes = DocumentText.withoutMark(try FileContents.bytes(of: path, limit: limit + 4, mayBePipe: true))
        } catch {
            throw ValueRefusal("\(error)")
        }
        guard !DocumentText.isUTF16(bytes) else { throw ValueRefusal("it is UTF-16; save it as UTF-8") }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty else { throw ValueRefusal("its first line is empty") }
        guard line.count <= limit else { throw ValueRefusal("its first line is longer than \(limit) bytes") }
        guard !line.contains(0) else { throw ValueRefusal("it has zero bytes, as UTF-16 has; save it as UTF-8") }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw ValueRefusal("its first line is not UTF-8; save it as UTF-8")
        }
        return text
    }
}

extension JostleSettings {
    /// The secrets of the web page, read from their files.
    package struct PageSecrets: Equatable, Sendable {
        package var password: String?
        /// The bearer token for `/metrics`.
        package var metricsToken: String?
        /// The certificate with those of its issuers, and its private key, both PEM; `nil` without TLS.
        package var certificate: [UInt8]?
        package var key: [UInt8]?
    }

    /// Reads the files that the section `page` names.
    package func pageSecrets() throws(SecretFileError) -> PageSecrets {
        var secrets = PageSecrets()
        if let path = page.passwordFile {
            secrets.password = try JostleSettings.firstLine(of: path, section: "page", key: "password_file")
        }
        if let path = page.metricsTokenFile { secrets.metricsToken = try JostleSettings.metricsToken(path) }
        switch (page.certificateFile, page.keyFile) {
        case (nil, nil): break
        case (let certificate?, let key?):
            secrets.certificate = try JostleSettings.pageFile(certificate, key: "certificate_file", isSecret: false)
            secrets.key = try JostleSettings.pageFile(key, key: "key_file", isSecret: true)
        case (let certificate?, nil):
            throw SecretFileError(
                section: "page", key: "certificate_file", path: certificate, reason: "a certificate needs page.key_file"
            )
        case (nil, let key?):
            throw SecretFileError(
                section: "page", key: "key_file", path: key, reason: "a key needs page.certificate_file")
        }
        return secrets
    }

    /// The token: it cannot be guessed, however often somebody tries.
    private static func metricsToken(_ path: String) throws(SecretFileError) -> String {
        let (key, shortest) = ("metrics_token_file", 16)
        let token = try firstLine(of: path, section: "page", key: key)
        let reason: String? =
            if !token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                "its first line has a space or a character that is not ASCII"
            } else if token.utf8.count < shortest {
                "its first line is shorter than \(shortest) characters; openssl rand -hex 32 makes a good one"
            } else {
                nil
            }
        if let reason { throw SecretFileError(section: "page", key: key, path: path, reason: reason) }
        return token
    }

    private static func pageFile(_ name: String, key: String, isSecret: Bool) throws(SecretFileError) -> [UInt8] {
        let path = try CredentialFiles().file(name, key: key)
        if isSecret { try requireSecret(path, section: "page", key: key) }
        do {
            return try FileContents.bytes(of: path, limit: 1 << 18)
        } catch {
            throw SecretFileError(section: "page", key: key, path: path, reason: "\(error)")
        }
    }
}

extension JostleSettings {
    /// The secrets of a configuration, for a program that removes them from what it shows.
    package struct Secrets: Equatable, Sendable {
        /// The passwords, and the other texts that nobody else may know.
        package var passwords: [String] = []
        /// The names of users.
        package var userNames: [String] = []
    }

    /// The user name, and what the files of user name and password contain, as far as this process may read them.
    package var secrets: Secrets {
        Secrets(
            passwords: [JostleSettings.text(mqtt.passwordFile, key: "password_file")].compactMap { $0 } + webhooks,
            userNames: [mqtt.username, JostleSettings.text(mqtt.usernameFile, key: "username_file")].compactMap { $0 })
    }

    /// The URLs of webhooks.
    private var webhooks: [String] {
        actions.compactMap { action in
            switch action.post {
            case .url(let text): text
            case .file(let path): JostleSettings.text(path, key: "post.url_file")
            case nil: nil
            }
        }
    }

    private static func text(_ name: String?, key: String) -> String? {
        guard let name else { return nil }
        do {
            let path = try CredentialFiles().file(name, key: key)
            let bytes = try FileContents.bytes(of: path, limit: 4096)
            return String(decoding: DocumentText.withoutMark(bytes), as: UTF8.self)
        } catch {
            return nil
        }
    }
}

/// Why a secret file cannot be used.
package struct SecretFileError: Error, Equatable, Sendable {
    /// The section of the setting that names the file: `mqtt`, `page` or `actions`.
    package let section: String
    /// The setting below it.
    package let key: String
    package let path: String
    package let reason: String

    init(section: String = "mqtt", key: String, path: String, reason: String) {
        self.section = section
        self.key = key
        self.path = path
        self.reason = reason
    }
}

extension SecretFileError: FailureConvertible, CustomStringConvertible {
    package var failure: Failure { Failure(.configuration, description) }

    package var description: String { "\(section).\(key): \(path): \(reason)" }
}
