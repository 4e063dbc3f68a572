package import JostleConfiguration
internal import LinuxSystem

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
        do throws(SystemFailure) {
            return try FileContents.bytes(of: path, limit: 1 << 18)
        } catch {
            throw SecretFileError(section: "page", key: key, path: path, reason: "\(error)")
        }
    }
}
