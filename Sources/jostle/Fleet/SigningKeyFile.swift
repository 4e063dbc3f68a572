internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

/// The file of a private key that signs a fleet's documents.
enum SigningKeyFile {
    private static let maximumBytes = 65_536

    /// Reads a key; one without a name is called like the file.
    ///
    /// - Throws: status 66 if the file cannot be read, 65 if it has no key of Ed25519.
    static func read(_ path: String) throws -> DocumentSigner {
        let text = try Failure.about("--sign-key: \(path)", .noInput) {
            try FileContents.text(of: path, limit: maximumBytes)
        }
        let name = path.split(separator: "/").last.map { String($0.prefix { $0 != "." }) } ?? ""
        guard let signer = DocumentSigner(reading: text, otherName: name) else {
            throw Failure(
                .badData,
                "--sign-key: \(path): has no private key of Ed25519 without a passphrase (jostle fleet keygen)")
        }
        if let mode = DirectoryContents.permissions(path), mode & 0o077 != 0 {
            let octal = String(mode, radix: 8)
            Output.warn("--sign-key: others may read or write \(path) (mode \(octal)); chmod 600 \(path)")
        }
        return signer
    }
}

/// `jostle fleet keygen`: a key that signs a fleet's documents.
extension FleetCommand {
    static let keygenUsage = CommandUsage(
        name: "fleet keygen", summary: "make a key that signs the fleet's documents",
        details: """
            Writes the private key into a file that only you can read, and prints the public key for fleet.trusted_keys in
            the configuration file of each board. Boards with trusted keys take only documents that are signed by one of
            them, with --sign-key FILE. Without FILE, the file is NAME.key.
            """,
        operands: [
            Operand("NAME", help: "the name of the key: letters, digits, _ and -"),
            Operand("FILE", help: "the file to write", isRequired: false),
        ],
        options: [Option("show", help: "only print the public key of a file that exists")])

    static func keygen(_ arguments: Arguments) throws {
        let name = arguments.operand(0) ?? ""
        guard JostleSettings.Device.isID(name) else {
            throw Failure(.usage, "\"\(name)\" is not a name: 1 … 64 letters, digits, _ and -")
        }
        let path = arguments.operand(1) ?? "\(name).key"
        let signer: DocumentSigner
        if arguments.has("show") {
            signer = try SigningKeyFile.read(path)
        } else {
            guard let new = DocumentSigner(generating: name) else {
                throw Failure(.system, "OpenSSL cannot generate a key of Ed25519")
            }
            try Failure.about(path, .cannotCreate) {
                try FileContents.create(path, with: Array(new.fileText.utf8), mode: 0o600)
            }
            Output.warn("the private key is in \(path): keep a copy offline, and keep it out of Git")
            signer = new
        }
        guard let key = signer.trustedKey else {
            throw Failure(.system, "OpenSSL cannot compute the public key")
        }
        Output.line("fleet:")
        Output.line("  trusted_keys: [\"\(key.text)\"]")
    }
}
