/// Why a secret file cannot be used.
package struct SecretFileError: Error, Equatable, Sendable {
    /// The setting below `mqtt` that names the file.
    package let key: String
    package let path: String
    package let reason: String

    init(key: String, path: String, reason: String) {
        self.key = key
        self.path = path
        self.reason = reason
    }
}

extension SecretFileError: CustomStringConvertible {
    package var description: String { "mqtt.\(key): \(path): \(reason)" }
}
