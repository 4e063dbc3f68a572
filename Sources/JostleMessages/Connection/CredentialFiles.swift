internal import Glibc
internal import JostleConfiguration

/// Finds the files of secrets that only root can read: systemd copies those of `/etc/jostle/credentials` for the service
/// (LoadCredential=).
struct CredentialFiles {
    /// The name in LoadCredential=. systemd puts it, and an underscore, before the names of the directory's files.
    static let identifier = "jostle"

    /// The directory in which systemd puts the service's credentials; `nil` if this is not the service.
    private let directory: String?

    /// The directory of the configuration.
    private let configuration: String

    /// The directory from which systemd takes the credentials.
    private var source: String { "\(configuration)/credentials" }

    init(
        directory: String? = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) },
        configuration: String = "/etc/jostle"
    ) {
        self.directory = directory
        self.configuration = configuration
    }

    /// The file that a setting names.
    ///
    /// `credential:NAME` is a credential of the service. A file of `/etc/jostle`, or one without a directory, may be a
    /// credential of that name too, which is preferred. So a secret that is moved into the directory of credentials
    /// needs no change of the configuration.
    func file(_ path: String, key: String) throws(SecretFileError) -> String {
        guard let name = JostleSettings.MQTT.credentialName(path) else {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            guard let name = parts.last, parts.count == 1 || parts.dropLast().joined(separator: "/") == configuration
            else { return path }
            return candidates(String(name)).first { access($0, F_OK) == 0 } ?? path
        }
        let candidates = candidates(name)
        if let found = candidates.first(where: { access($0, F_OK) == 0 }) { return found }
        guard let first = candidates.first, directory != nil else {
            throw SecretFileError(
                key: key, path: path,
                reason: "systemd passed no credentials to this process, and there is none in \(source)")
        }
        return first
    }

    /// Where a credential may be.
    private func candidates(_ name: String) -> [String] {
        guard let directory else { return ["\(source)/\(name)"] }
        let member = "\(directory)/\(Self.identifier)_\(name)"
        // The unit sets a credential of this name, with no secret in it, because systemd wants one.
        return name == Self.identifier ? [member] : ["\(directory)/\(name)", member]
    }

    /// Whether a file that `file` has found is a credential, which the service can read whatever its owner and mode are.
    func isCredential(_ path: String) -> Bool {
        [source, directory].contains { directory in directory.map { path.hasPrefix("\($0)/") } ?? false }
    }

    /// Whether there are credentials that this process may not see.
    var areHidden: Bool { directory == nil && access(source, F_OK) == 0 && access(source, X_OK) != 0 }

    /// What to add to the message about a missing file, if this process may not see the credentials.
    func advice(afterErrno code: Int32) -> String {
        guard code == ENOENT, areHidden else { return "" }
        return "; if it is in \(source), only root and the service can read it"
    }
}
