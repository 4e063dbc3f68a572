internal import Cryptography
internal import Glibc
internal import LinuxSystem

/// Tokens in links, each of which signs one browser in.
///
/// A link is made by this program at its start, or by `jostle page link`: that leaves a file whose name is the digest of
/// the token in a directory that only root and this program can write. So whoever reads the directory cannot sign in.
struct LinkTokens: Sendable {
    /// Seconds for which a link is valid.
    static let lifetime: Int64 = 600

    private let directory: String
    /// The digest of the token that was made at the start, until it is used.
    private var initial: String?

    init(directory: String) {
        self.directory = directory
    }

    /// Makes a token for the first browser. It does not expire.
    mutating func makeInitial() -> String {
        let token = LinkTokens.random()
        initial = LinkTokens.digest(token)
        return token
    }

    /// Makes a token in another process than the one that accepts it.
    static func make(in directory: String) throws(SystemFailure) -> String {
        let token = random()
        try FileContents.create("\(directory)/\(digest(token))", with: [], mode: 0o600)
        return token
    }

    /// Uses a token up; returns whether it was valid.
    mutating func use(_ token: String, at now: Int64) -> Bool {
        guard token.utf8.count == 32,
            token.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return false }
        let digest = LinkTokens.digest(token)
        if let initial, MessageAuthentication.isEqual(initial, digest) {
            self.initial = nil
            return true
        }
        let path = "\(directory)/\(digest)"
        var status = stat()
        guard lstat(path, &status) == 0, unlink(path) == 0 else { return false }
        // A link from the future is one from before the clock was set back.
        return abs(now - Int64(status.st_mtim.tv_sec)) <= LinkTokens.lifetime
    }

    private static func random() -> String { RandomBytes.make(16).hexadecimal }

    private static func digest(_ token: String) -> String { SHA256Digest(of: token.utf8).hexadecimal }
}
