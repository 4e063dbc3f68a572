/// Why a secret file cannot be used.
package struct SecretFileError: Error, Equatable, Sendable {
    /// The section of the setting that names the file: `mqtt` or `page`.
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

extension SecretFileError: CustomStringConvertible {
    package var description: String { "\(section).\(key): \(path): \(reason)" }
}
