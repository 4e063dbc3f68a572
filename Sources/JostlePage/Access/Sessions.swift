internal import Cryptography
internal import Glibc
internal import LinuxSystem

/// Who is signed in: cookies that this program has signed.
///
/// The key is kept in a file, so that a browser stays signed in while the program starts again. Another password makes
/// all cookies invalid, and so does deleting the file. A second file, `-ended`, has the sessions that were ended before
/// their time.
struct Sessions: Sendable {
    /// Seconds for which a browser stays signed in.
    static let lifetime: Int64 = 30 * 86_400
    /// The most sessions that are remembered as ended. One more ends all.
    private static let mostEnded = 4096

    private let file: String
    private let password: SHA256Digest
    private var secret: [UInt8]
    /// The names of the sessions that were ended.
    private var ended: Set<String>

    /// Takes the key from the file, or makes one. A key that cannot be stored lasts as long as this program.
    init(file: String, password: String?) {
        self.file = file
        self.password = SHA256Digest(of: (password ?? "").utf8)
        let names = FileContents.text(ofOptional: "\(file)-ended", limit: 1 << 20) ?? ""
        ended = Set(names.split(separator: "\n").map(String.init))
        do {
            secret = try FileContents.bytes(of: file, limit: 64)
        } catch {
            secret = []
        }
        guard secret.count != 32 else { return }
        FileContents.makeDirectories(String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)]))
        do {
            try endAll()
        } catch {
            // Signing in once more after the next start is all that it costs.
        }
    }

    private var key: [UInt8] { secret + password.bytes }

    /// Ends all sessions, by another key.
    mutating func endAll() throws(SystemFailure) {
        secret = RandomBytes.make(32)
        ended = []
        // One that is no key would otherwise stay for ever, and all browsers be signed out at every start.
        try FileContents.remove(file)
        try FileContents.create(file, with: secret, mode: 0o600)
        try FileContents.remove("\(file)-ended")
    }

    /// Ends a session that `name(of:at:)` has named.
    mutating func end(_ name: String, at now: Int64) throws(SystemFailure) {
        ended = ended.filter { Sessions.expiry(of: $0).map { now < $0 } ?? false }
        ended.insert(name)
        if ended.count > Sessions.mostEnded { return try endAll() }
        try FileContents.replace("\(file)-ended", with: Array(ended.sorted().joined(separator: "\n").utf8), mode: 0o600)
    }

    private static func expiry(of name: String) -> Int64? { name.split(separator: ".").first.flatMap { Int64($0) } }

    /// A new cookie's value.
    func issue(at now: Int64) -> String? {
        let claim = "\(now + Sessions.lifetime).\(RandomBytes.make(16).hexadecimal)"
        return MessageAuthentication.code(of: claim, key: key).map { "\(claim).\($0)" }
    }

    /// The name of the session of a cookie's value; `nil` if this program has not issued it, or it has expired or was ended.
    func name(of value: String, at now: Int64) -> String? {
        guard value.utf8.count < 200, let dot = value.lastIndex(of: ".") else { return nil }
        let claim = String(value[..<dot])
        guard let code = MessageAuthentication.code(of: claim, key: key),
            MessageAuthentication.isEqual(code, String(value[value.index(after: dot)...])),
            let expiry = Sessions.expiry(of: claim), now < expiry, !ended.contains(claim)
        else { return nil }
        return claim
    }
}

/// Tokens in links, each of which signs one browser in.
///
/// A link is made by this program at its start, or by `jostle page link`: that leaves a file whose name is the digest of
/// the token in a directory that only root and this program can write. So whoever reads the directory cannot sign in.
struct LinkTokens: Sendable {
    /// Seconds for which a link is valid.
    static let lifetime: Int64 = 600
    /// Digits: 96 bits, and a link that fits on a narrow terminal.
    private static let length = 24

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
        guard token.utf8.count == LinkTokens.length,
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

    private static func random() -> String { RandomBytes.make(length / 2).hexadecimal }

    private static func digest(_ token: String) -> String { SHA256Digest(of: token.utf8).hexadecimal }
}

/// The names under which the page may be addressed.
///
/// A web page of somebody else can let its own name point to this machine, and so get what is served here (DNS
/// rebinding). Such a request has that name in its header `Host`. A numeric address cannot be rebound.
struct HostNames: Equatable, Sendable {
    private let names: Set<String>
    /// The further names.
    private let listed: Set<String>

    /// `localhost`, the machine's name with and without `.local`, and further names.
    init(_ names: [String], machine: String) {
        listed = Set(names.map { $0.lowercased() })
        let machine = machine.lowercased()
        let short = String(machine.prefix { $0 != "." })
        let own = machine.isEmpty ? [] : [machine, short, "\(short).local"]
        self.names = listed.union(["localhost"] + own)
    }

    /// Whether `name:port` is one of the further names.
    func lists(_ header: String) -> Bool { HostNames.host(header).map { listed.contains($0.lowercased()) } ?? false }

    /// Whether a `Host` header, `name:port`, names this page.
    func allows(_ header: String) -> Bool {
        guard let host = HostNames.host(header) else { return false }
        return HostNames.isNumeric(host) || names.contains(host.lowercased())
    }

    /// The host in `host:port` or `host`, without the brackets of IPv6; `nil` if it is malformed.
    static func host(_ header: String) -> String? {
        if header.hasPrefix("[") {
            guard let end = header.firstIndex(of: "]") else { return nil }
            let rest = header[header.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil else { return nil }
            return String(header[header.index(after: header.startIndex)..<end])
        }
        let parts = header.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty, parts.count == 1 || UInt16(parts[1]) != nil else { return nil }
        // A name may end with the dot of the root.
        return String(parts[0].hasSuffix(".") ? parts[0].dropLast() : parts[0])
    }

    /// Whether it is a numeric address: inet_pton(3).
    private static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }
}
