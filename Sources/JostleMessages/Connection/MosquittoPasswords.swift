internal import Cryptography

/// A password file of mosquitto: a line `user:$7$iterations$salt$hash` for each user (mosquitto_passwd(1)).
package struct MosquittoPasswords: Equatable, Sendable {
    private var lines: [String]

    /// Rounds of PBKDF2. As many as mosquitto_passwd makes: a password of 144 random bits needs none.
    private static let iterations = 101
    /// The only length of a salt that mosquitto 2.0 reads, bytes.
    private static let saltLength = 12
    private static let hashLength = 64

    /// Reads a file's contents, also one with CRLF. What is no user's line stays as it is.
    package init(_ text: String) {
        lines = text.split(whereSeparator: \.isNewline).map(String.init)
    }

    package var text: String { lines.map { "\($0)\n" }.joined() }

    package func has(_ user: String) -> Bool { lines.contains { $0.hasPrefix("\(user):") } }

    /// Adds a user, or changes the password.
    ///
    /// - Returns: false, and nothing is changed, if OpenSSL has no SHA-512.
    package mutating func set(_ user: String, password: String) -> Bool {
        let salt = RandomBytes.make(MosquittoPasswords.saltLength)
        let hash = PBKDF2.sha512(
            password, salt: salt, iterations: MosquittoPasswords.iterations, count: MosquittoPasswords.hashLength)
        guard let hash else { return false }
        let line = "\(user):$7$\(MosquittoPasswords.iterations)$\(Base64.encode(salt))$\(Base64.encode(hash))"
        if let index = lines.firstIndex(where: { $0.hasPrefix("\(user):") }) {
            lines[index] = line
        } else {
            lines.append(line)
        }
        return true
    }

    package mutating func remove(_ user: String) {
        lines.removeAll { $0.hasPrefix("\(user):") }
    }
}
