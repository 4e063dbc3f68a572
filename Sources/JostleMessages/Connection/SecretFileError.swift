/// Why a file with a secret cannot be used.
public struct SecretFileError: Error, Equatable, Sendable {
    /// The setting below `mqtt` that names it.
    public let key: String
    public let path: String
    public let reason: String

    init(key: String, path: String, reason: String) {
        self.key = key
        self.path = path
        self.reason = reason
    }
}

extension SecretFileError: CustomStringConvertible {
    public var description: String { "mqtt.\(key): \(path): \(reason)" }
}
