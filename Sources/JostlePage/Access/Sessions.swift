internal import Cryptography
internal import LinuxSystem

/// Who is signed in: cookies that this program has signed.
///
/// The key is kept in a file, so that a browser stays signed in while the program starts again. Another password makes
/// all cookies invalid, and so does deleting the file.
struct Sessions: Sendable {
    /// Seconds for which a browser stays signed in.
    static let lifetime: Int64 = 30 * 86_400

    private let key: [UInt8]

    /// Takes the key from the file, or makes one. A key that cannot be stored lasts as long as this program.
    init(file: String, password: String?) {
        var secret: [UInt8]
        do throws(SystemFailure) {
            secret = try FileContents.bytes(of: file, limit: 64)
        } catch {
            secret = []
        }
        if secret.count != 32 {
            secret = RandomBytes.make(32)
            FileContents.makeDirectories(String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)]))
            do throws(SystemFailure) {
                // One that is no key would otherwise stay for ever, and all browsers be signed out at every start.
                try FileContents.remove(file)
                try FileContents.create(file, with: secret, mode: 0o600)
            } catch {
                // Signing in once more after the next start is all that it costs.
            }
        }
        key = secret + SHA256Digest(of: (password ?? "").utf8).bytes
    }

    /// A new cookie's value.
    func issue(at now: Int64) -> String? {
        let claim = "\(now + Sessions.lifetime).\(RandomBytes.make(16).hexadecimal)"
        return MessageAuthentication.code(of: claim, key: key).map { "\(claim).\($0)" }
    }

    /// Whether a cookie's value is one that this program has issued and that has not expired.
    func accepts(_ value: String, at now: Int64) -> Bool {
        guard value.utf8.count < 200, let dot = value.lastIndex(of: ".") else { return false }
        let claim = String(value[..<dot])
        guard let code = MessageAuthentication.code(of: claim, key: key),
            MessageAuthentication.isEqual(code, String(value[value.index(after: dot)...])),
            let expiry = claim.split(separator: ".").first.flatMap({ Int64($0) })
        else { return false }
        return now < expiry
    }
}
