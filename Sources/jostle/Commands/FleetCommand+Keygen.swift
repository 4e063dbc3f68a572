internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

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
            CommandUsage.Operand(name: "NAME", help: "the name of the key: letters, digits, _ and -"),
            CommandUsage.Operand(name: "FILE", help: "the file to write", isRequired: false),
        ],
        options: [
            CommandUsage.Option(name: "show", help: "only print the public key of a file that exists")
        ])

    static func keygen(_ arguments: Arguments) throws(CommandFailure) {
        let name = arguments.operand(0) ?? ""
        guard JostleSettings.Device.isID(name) else {
            throw CommandFailure(.usage, "\"\(name)\" is not a name: 1 … 64 letters, digits, _ and -")
        }
        let path = arguments.operand(1) ?? "\(name).key"
        let signer: DocumentSigner
        if arguments.has("show") {
            signer = try SigningKeyFile.read(path)
        } else {
            guard let new = DocumentSigner(generating: name) else {
                throw CommandFailure(.system, "OpenSSL cannot generate a key of Ed25519")
            }
            do throws(SystemFailure) {
                try FileContents.create(path, with: Array(new.fileText.utf8), mode: 0o600)
            } catch {
                throw CommandFailure(.cannotCreate, "\(path): \(error)")
            }
            Output.errors("jostle: the private key is in \(path): keep a copy offline, and keep it out of Git")
            signer = new
        }
        guard let key = signer.trustedKey else {
            throw CommandFailure(.system, "OpenSSL cannot compute the public key")
        }
        Output.line("fleet:")
        Output.line("  trusted_keys: [\"\(key.text)\"]")
    }
}
