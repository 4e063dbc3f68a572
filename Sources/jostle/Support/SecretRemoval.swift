internal import Documents
internal import JostleConfiguration
internal import LinuxSystem

/// Removes secrets from text: those that are known, wherever they are, and what stands where secrets usually are.
///
/// It removes too much rather than too little: nobody misses a word of a log that looked like a password.
struct SecretRemoval {
    /// What stands in the place of a secret.
    static let mark = "[removed]"

    /// A shorter text is in any report by chance, and removing it everywhere would make the report unreadable.
    private static let shortest = 3

    /// Names that everybody knows, and that a report cannot do without.
    private static let commonNames: Set<String> = [
        "homeassistant", "jostle", "mqtt", "operator", "page", "root", "watch",
    ]

    private struct Known {
        let bytes: [UInt8]
        let isWord: Bool
        let mark: String
    }

    /// What is removed wherever it is, the longest first.
    private var known: [Known] = []

    // MARK: What is known

    /// Removes a password or a key wherever it is.
    mutating func add(_ secret: String) {
        for line in secret.split(whereSeparator: \.isNewline) {
            let text = SecretRemoval.trimmed(line)
            guard text.utf8.count >= SecretRemoval.shortest else { continue }
            // As it is, and as it is written in JSON and on one line of a log.
            for form in [text, String(JSONText.quoted(text).dropFirst().dropLast()), ForeignText.oneLine(text)] {
                add(Known(bytes: Array(form.utf8), isWord: text.utf8.count < 5, mark: SecretRemoval.mark))
            }
        }
    }

    /// Removes the name of a user wherever it is a word of its own. A name that is also one of `publicNames`, such as the
    /// id of the device, is no secret.
    mutating func add(userName: String, publicNames: [String]) {
        let name = SecretRemoval.trimmed(userName[...])
        guard name.utf8.count >= SecretRemoval.shortest, !publicNames.contains(name),
            !SecretRemoval.commonNames.contains(name.lowercased())
        else { return }
        add(Known(bytes: Array(name.utf8), isWord: true, mark: SecretRemoval.mark))
    }

    /// Writes `[broker]` instead of a host.
    mutating func hide(broker host: String) {
        guard !["localhost", "::1"].contains(host), !host.hasPrefix("127."), !host.isEmpty else { return }
        add(Known(bytes: Array(host.utf8), isWord: true, mark: "[broker]"))
    }

    /// Removes what stands where secrets usually are in the text of a configuration file, also in its comments.
    mutating func add(secretsOf text: String, publicNames: [String]) {
        for line in text.split(whereSeparator: \.isNewline) {
            let bytes = Array(line.utf8)
            for place in SecretFinder.labelled(in: bytes, mayOverlap: true) + SecretFinder.credentials(in: bytes) {
                for candidate in SecretRemoval.candidates(String(decoding: bytes[place.range], as: UTF8.self)) {
                    if place.isName { add(userName: candidate, publicNames: publicNames) } else { add(candidate) }
                }
            }
        }
    }

    /// What the value may be: all of the text, what is before a comment, a comma or a bracket, and both parts of
    /// `user:password`.
    private static func candidates(_ text: String) -> [String] {
        let whole = trimmed(text[...])
        var candidates = [whole, trimmed(whole.prefix { !",}]".contains($0) })]
        if let comment = whole.firstRange(of: " #") { candidates.append(trimmed(whole[..<comment.lowerBound])) }
        if whole.hasSuffix("@") { candidates += whole.dropLast().split(separator: ":").map(String.init) }
        return candidates
    }

    /// The text without blanks and quotes around it.
    private static func trimmed(_ text: Substring) -> String {
        let isEdge = { (character: Character) in character.isWhitespace || character == "\"" || character == "'" }
        var rest = text.drop(while: isEdge)
        while let last = rest.last, isEdge(last) { rest.removeLast() }
        return String(rest)
    }

    private mutating func add(_ secret: Known) {
        guard !known.contains(where: { $0.bytes == secret.bytes && (!$0.isWord || secret.isWord) }) else { return }
        let index = known.firstIndex { $0.bytes.count < secret.bytes.count } ?? known.endIndex
        known.insert(secret, at: index)
    }

    // MARK: Removing

    /// The text without secrets.
    func cleaned(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for secret in known { bytes = SecretRemoval.removing(secret, from: bytes) }
        bytes = SecretFinder.withoutPrivateKeys(bytes, mark: SecretRemoval.mark)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let clean = lines.map { SecretFinder.cleaned(Array($0), mark: SecretRemoval.mark) }
        return String(decoding: Array(clean.joined(separator: [UInt8(ascii: "\n")])), as: UTF8.self)
    }

    private static func removing(_ secret: Known, from bytes: [UInt8]) -> [UInt8] {
        var clean: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let end = index + secret.bytes.count
            let isHere =
                end <= bytes.count && bytes[index] == secret.bytes[0] && bytes[index..<end] == secret.bytes[...]
            let before = index > 0 ? bytes[index - 1] : 0
            let after = end < bytes.count ? bytes[end] : 0
            if isHere, !secret.isWord || !SecretFinder.isWord(before) && !SecretFinder.isWord(after) {
                clean += secret.mark.utf8
                index = end
            } else {
                clean.append(bytes[index])
                index += 1
            }
        }
        return clean
    }

    /// A value of a configuration or of a message without secrets: what is under a name such as `password`, user names,
    /// the payloads of actions, and values that somebody tried to set for keys of the broker connection.
    func cleaned(_ value: JSONValue, of name: String = "") -> JSONValue {
        if value.text != nil, value.bool == nil, SecretFinder.isSecret(name) || name == "payload" {
            return .string(SecretRemoval.mark)
        }
        switch value.content {
        case .string(let text): return .string(cleaned(text))
        case .array(let elements): return .array(elements.map { cleaned($0, of: name) })
        case .object(let members):
            let key = members.first { $0.name == "key" || $0.name == "path" }?.value.string
            let isConnection = key.map { $0.hasPrefix("mqtt") || SecretFinder.isSecret($0) } ?? false
            return .object(
                members.map { member in
                    let isSecret = isConnection && ["value", "found"].contains(member.name)
                    return .init(
                        cleaned(member.name),
                        isSecret ? .string(SecretRemoval.mark) : cleaned(member.value, of: member.name))
                })
        case .null, .bool, .number: return value
        }
    }
}

/// Finds the places in a text where secrets usually are. It works on bytes: all that matters is ASCII.
enum SecretFinder {
    struct Match {
        var range: Range<Int>
        /// Whether the name of a user is there.
        var isName = false
    }

    /// What precedes a secret, as in `password: …`, `MQTT_PASSWORD=…`, `"token":"…"`.
    private static let secretLabels = [
        "password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "apikey", "api-key", "private_key",
        "authorization",
    ].map { Array($0.utf8) }

    /// What precedes the name of a user.
    private static let nameLabels = ["username", "user_name", "login"].map { Array($0.utf8) }

    /// The options of commands such as mosquitto_pub, and the word of HTTP, before a blank and a secret.
    private static let options = [" -P", " --pw", "bearer"].map { Array($0.utf8) }

    /// Whether a key names a secret itself, and not a file that contains it.
    static func isSecret(_ key: String) -> Bool {
        let bytes = lowercased(Array(key.utf8))
        return (secretLabels + nameLabels).contains { bytes.count >= $0.count && bytes.suffix($0.count) == $0[...] }
    }

    /// Whether a byte belongs to a word: letters, digits, `_` and `-`, and everything that is not ASCII.
    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    // MARK: Places in a line

    /// The values after labels and options, one after the other. If they may overlap, a label in a value counts too, as in
    /// `{username: a, password: b}`.
    static func labelled(in line: [UInt8], mayOverlap: Bool = false) -> [Match] {
        let small = lowercased(line)
        var found: [Match] = []
        var index = 0
        while index < line.count {
            guard isFirst[Int(small[index])], let (end, isName) = value(at: index, small, line), end < line.count else {
                index += 1
                continue
            }
            let range = extent(from: end, line)
            found.append(Match(range: range, isName: isName))
            index = max(mayOverlap ? range.lowerBound : range.upperBound, index + 1)
        }
        return found
    }

    /// Whether a label or an option begins with a byte: most do not, so most places need no comparison.
    private static let isFirst: [Bool] = {
        var isFirst = [Bool](repeating: false, count: 256)
        for text in secretLabels + nameLabels + options { isFirst[Int(text[0])] = true }
        return isFirst
    }()

    /// Where the value begins whose label begins at `index`; `nil` if there is no label.
    private static func value(at index: Int, _ small: [UInt8], _ line: [UInt8]) -> (start: Int, isName: Bool)? {
        for option in options where matches(option, at: index, option[0] == 0x20 ? line : small) {
            let after = index + option.count
            if after < line.count, line[after] == 0x20 || line[after] == UInt8(ascii: "=") { return (after + 1, false) }
        }
        for (labels, isName) in [(secretLabels, false), (nameLabels, true)] {
            for label in labels where matches(label, at: index, small) {
                var after = index + label.count
                while after < line.count, "\\\"' ".utf8.contains(line[after]) { after += 1 }
                guard after < line.count, ":=".utf8.contains(line[after]), !isPath(upTo: index, line) else { continue }
                return (after + 1, isName)
            }
        }
        return nil
    }

    /// Whether the word at `index` is the end of a path, after which a message says what is wrong with the file.
    private static func isPath(upTo index: Int, _ line: [UInt8]) -> Bool {
        var start = index
        while start > 0, isWord(line[start - 1]) || line[start - 1] == UInt8(ascii: ".") { start -= 1 }
        return start > 0 && line[start - 1] == UInt8(ascii: "/")
    }

    /// The value from `start` on: a quoted text, what is before a blank after `=`, and the rest of the line after `:`.
    private static func extent(from start: Int, _ line: [UInt8]) -> Range<Int> {
        let separator = line[start - 1]
        var begin = start
        while begin < line.count, line[begin] == 0x20 { begin += 1 }
        guard begin < line.count else { return start..<line.count }
        let quote = line[begin]
        var end = begin + 1
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            while end < line.count, line[end] != quote { end += line[end] == UInt8(ascii: "\\") ? 2 : 1 }
            return begin + 1..<max(begin + 1, min(end, line.count))
        }
        guard separator != UInt8(ascii: ":") else { return begin..<line.count }
        end = begin
        while end < line.count, !" &,;".utf8.contains(line[end]) { end += 1 }
        return begin..<end
    }

    /// The user and the password in URLs: `//user:password@`.
    static func credentials(in line: [UInt8]) -> [Match] {
        var found: [Match] = []
        var index = 0
        let scheme = Array("://".utf8)
        while index < line.count {
            guard matches(scheme, at: index, line) else {
                index += 1
                continue
            }
            let start = index + scheme.count
            var end = start
            while end < line.count, line[end] != 0x20, line[end] != UInt8(ascii: "\"") { end += 1 }
            if let at = line[start..<end].lastIndex(of: UInt8(ascii: "@")) {
                found.append(Match(range: start..<at + 1))
            }
            index = end
        }
        return found
    }

    /// The users in topics of answers: `_reply/user/…`.
    private static func requesters(in line: [UInt8]) -> [Match] {
        let begin = Array("_reply/".utf8)
        return line.indices.filter { matches(begin, at: $0, line) }.map { index in
            let start = index + begin.count
            let end = line[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == 0x20 } ?? line.count
            return Match(range: start..<end, isName: true)
        }
    }

    // MARK: Removing

    /// A line with a mark in each of these matches.
    static func cleaned(_ line: [UInt8], mark: String) -> [UInt8] {
        var line = line
        let finders: [([UInt8]) -> [Match]] = [credentials, requesters, { labelled(in: $0) }]
        for find in finders {
            for place in find(line).reversed() where !place.range.isEmpty {
                line.replaceSubrange(place.range, with: mark.utf8)
            }
        }
        return line
    }

    /// The text without private keys (PEM).
    static func withoutPrivateKeys(_ bytes: [UInt8], mark: String) -> [UInt8] {
        let (begin, kind) = (Array("-----BEGIN ".utf8), Array("PRIVATE KEY-----".utf8))
        let end = Array("-----END ".utf8)
        var clean: [UInt8] = []
        var index = 0
        while index < bytes.count {
            // The name of the kind of key is short: `RSA `, `ENCRYPTED `.
            let isKey =
                matches(begin, at: index, bytes)
                && (index..<min(index + 40, bytes.count)).contains { matches(kind, at: $0, bytes) }
            guard isKey else {
                clean.append(bytes[index])
                index += 1
                continue
            }
            clean += mark.utf8
            index += begin.count
            while index < bytes.count, !matches(end, at: index, bytes) { index += 1 }
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        }
        return clean
    }

    private static func matches(_ pattern: [UInt8], at index: Int, _ bytes: [UInt8]) -> Bool {
        guard bytes[index] == pattern[0], index + pattern.count <= bytes.count else { return false }
        return bytes[index..<index + pattern.count] == pattern[...]
    }

    private static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    }
}
