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

    /// A word before a secret, as in `password: …`, `MQTT_PASS=…`, `"token":"…"` and `--secret-key …`. Capital letters, and
    /// `_` and `-` in it, do not matter.
    private struct Label {
        let text: [UInt8]
        /// Whether it may be the end of a word, as in `mqttpassword`; a short one is the end of many.
        var mayEndWord = true
        /// What may be between it and the secret: a blank only after an option.
        var separators = ":= "
        /// Whether the name of a user follows.
        var isName = false

        init(_ text: String) { self.text = Array(text.utf8) }
    }

    private static let labels: [Label] = {
        let words = [
            "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey",
            "secretkey", "authorization", "cookie", "pass", "pw", "psk", "key", "username", "login",
        ]
        return words.map { word in
            var label = Label(word)
            label.mayEndWord = !["pass", "pw", "psk", "key"].contains(word)
            label.isName = ["username", "login"].contains(word)
            // `key: gestures.shake` names a setting, and `--key` a file.
            if word == "key" { label.separators = "=" }
            return label
        }
    }()

    /// What looks like a label, and is none.
    private static let harmless = ["lowpass", "key=value"].map { Array($0.utf8) }

    /// What precedes a secret on the command lines of mosquitto_pub, mysql and others, and in HTTP. After `-p` and a blank
    /// there is a port.
    private static let options = ["bearer ", "bearer=", " -P ", " -P=", " -P", " -p"].map { Array($0.utf8) }

    /// How tokens begin that are known by their form, and how many bytes of a word follow at least: JSON web tokens, those of
    /// Amazon, GitHub, GitLab and Slack.
    private static let tokens: [(start: [UInt8], count: Int)] = [
        ("eyJ", 20), ("AKIA", 16), ("ASIA", 16), ("ghp_", 20), ("gho_", 20), ("ghs_", 20), ("ghu_", 20),
        ("github_pat_", 20), ("glpat-", 20), ("xoxb-", 20), ("xoxp-", 20),
    ].map { (Array($0.utf8), $1) }

    /// Whether a key names a secret itself, and not a file that contains it.
    static func isSecret(_ key: String) -> Bool {
        let name = key.utf8.split(separator: UInt8(ascii: "/")).last ?? key.utf8[...]
        return !labelled(in: Array(name) + Array(":x".utf8)).isEmpty
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
            guard isFirst[Int(small[index])] else {
                index += 1
                continue
            }
            let harmlessEnd = harmless.lazy.compactMap { end(of: $0, at: index, small) }.first
            if let end = harmlessEnd, end == line.count || !isWord(line[end]) {
                index = end
                continue
            }
            guard let (end, isName) = value(at: index, small, line), end < line.count else {
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
        for text in labels.map(\.text) + harmless + options { isFirst[Int(text[0])] = true }
        return isFirst
    }()

    /// Where the value begins whose label begins at `index`; `nil` if there is no label.
    private static func value(at index: Int, _ small: [UInt8], _ line: [UInt8]) -> (start: Int, isName: Bool)? {
        for option in options where matches(option, at: index, option[0] == 0x20 ? line : small) {
            let start = index + option.count
            let isAttached = isWord(option[option.count - 1])
            // `-password` and `-pass` are options of other programs.
            if isAttached, labels.contains(where: { end(of: $0.text, at: index + 2, small) != nil }) { continue }
            if !isAttached || start < line.count && !isNumber(from: start, line) { return (start, false) }
        }
        for label in labels {
            guard let end = end(of: label.text, at: index, small), label.mayEndWord || isWordStart(index, line) else {
                continue
            }
            var after = end
            while after < line.count, "\\\"' ".utf8.contains(line[after]) { after += 1 }
            guard after < line.count else { continue }
            let first = wordStart(of: index, line)
            if label.separators.utf8.contains(line[after]) {
                // After a path, a message says what is wrong with the file.
                if first == 0 || line[first - 1] != UInt8(ascii: "/") {
                    // As in `=>` and `==`.
                    while after + 1 < line.count, "=>".utf8.contains(line[after + 1]) { after += 1 }
                    return (after + 1, label.isName)
                }
            } else if line[first] == UInt8(ascii: "-"), line[end] == 0x20, label.separators.utf8.contains(0x20) {
                return (end + 1, label.isName)
            }
        }
        return nil
    }

    /// The end of a label that begins at `index`; `nil` if it does not.
    private static func end(of label: [UInt8], at index: Int, _ small: [UInt8]) -> Int? {
        var end = index
        for byte in label {
            while end > index, end < small.count, "_-".utf8.contains(small[end]) { end += 1 }
            guard end < small.count, small[end] == byte else { return nil }
            end += 1
        }
        return end
    }

    /// Whether a word, or a part of one as in `MQTT_PASS` and `mqttPass`, begins at `index`.
    private static func isWordStart(_ index: Int, _ line: [UInt8]) -> Bool {
        guard index > 0, isWord(line[index - 1]), !"_-".utf8.contains(line[index - 1]) else { return true }
        return (0x41...0x5A).contains(line[index]) && (0x61...0x7A).contains(line[index - 1])
    }

    /// Where the word begins in which `index` is; dots belong to it.
    private static func wordStart(of index: Int, _ line: [UInt8]) -> Int {
        var start = index
        while start > 0, isWord(line[start - 1]) || line[start - 1] == UInt8(ascii: ".") { start -= 1 }
        return start
    }

    /// Whether a blank or a number, such as the port in `-p8080:80`, begins at `index`.
    private static func isNumber(from index: Int, _ line: [UInt8]) -> Bool {
        line[index...].prefix { $0 != 0x20 }.allSatisfy { "0123456789.:".utf8.contains($0) }
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

    /// The tokens that are known by their form.
    private static func tokens(in line: [UInt8]) -> [Match] {
        let words = line.split { !isWord($0) && $0 != UInt8(ascii: ".") }
        return words.compactMap { word in
            let isToken = tokens.contains { word.starts(with: $0.start) && word.count >= $0.start.count + $0.count }
            return isToken ? Match(range: word.startIndex..<word.endIndex) : nil
        }
    }

    // MARK: Removing

    /// A line with a mark in each of these matches.
    static func cleaned(_ line: [UInt8], mark: String) -> [UInt8] {
        var line = line
        let finders: [([UInt8]) -> [Match]] = [credentials, requesters, { labelled(in: $0) }, tokens]
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
