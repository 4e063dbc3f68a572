internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// The file of a private key that signs a fleet's documents.
enum SigningKeyFile {
    private static let maximumBytes = 65_536

    /// Reads a key; one without a name is called like the file.
    ///
    /// - Throws: status 66 if the file cannot be read, 65 if it has no key of Ed25519.
    static func read(_ path: String) throws(CommandFailure) -> DocumentSigner {
        let text: String
        do throws(SystemFailure) {
            text = try FileContents.text(of: path, limit: maximumBytes)
        } catch {
            throw CommandFailure(.noInput, "--sign-key: \(path): \(error)")
        }
        let name = path.split(separator: "/").last.map { String($0.prefix { $0 != "." }) } ?? ""
        guard let signer = DocumentSigner(reading: text, otherName: name) else {
            throw CommandFailure(
                .badData,
                "--sign-key: \(path): has no private key of Ed25519 without a passphrase (jostle fleet keygen)")
        }
        if let mode = DirectoryContents.permissions(path), mode & 0o077 != 0 {
            let octal = String(mode, radix: 8)
            Output.errors("jostle: --sign-key: others may read or write \(path) (mode \(octal)); chmod 600 \(path)")
        }
        return signer
    }
}

extension FleetConnection {
    /// Refuses to publish without a signature where the configuration names keys, and says otherwise which documents were
    /// signed and will not be.
    ///
    /// - Throws: status 64.
    func checkSignatures(_ documents: [FleetDocumentID]) throws(CommandFailure) {
        guard signer == nil else { return }
        if let key = settings.fleet.trustedKeys.first {
            throw CommandFailure(
                .usage,
                "the configuration has fleet.trusted_keys: sign with --sign-key FILE, for example \(key.name).key")
        }
        for id in documents where model.documents[id]?.envelope?.signature != nil {
            Output.errors(
                "jostle: \(id.text) was signed, and the new revision is not: boards with trusted keys reject it (--sign-key)"
            )
        }
    }
}
