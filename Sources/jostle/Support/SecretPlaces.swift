/// Finds the places in a text where secrets usually are. It works on bytes: all that matters is ASCII.
enum SecretPlaces {
    struct Place {
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

    /// The values after labels and options, one after the other.
    static func labelled(in line: [UInt8]) -> [Place] { labelled(in: line, mayOverlap: false) }

    /// The same. If they may overlap, a label in a value counts too, as in `{username: a, password: b}`.
    static func labelled(in line: [UInt8], mayOverlap: Bool) -> [Place] {
        let small = lowercased(line)
        var places: [Place] = []
        var index = 0
        while index < line.count {
            guard isFirst[Int(small[index])], let (end, isName) = value(at: index, small, line), end < line.count else {
                index += 1
                continue
            }
            let range = extent(from: end, line)
            places.append(Place(range: range, isName: isName))
            index = max(mayOverlap ? range.lowerBound : range.upperBound, index + 1)
        }
        return places
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
    static func credentials(in line: [UInt8]) -> [Place] {
        var places: [Place] = []
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
                places.append(Place(range: start..<at + 1))
            }
            index = end
        }
        return places
    }

    /// The users in topics of answers: `_reply/user/…`.
    private static func requesters(in line: [UInt8]) -> [Place] {
        let begin = Array("_reply/".utf8)
        return line.indices.filter { matches(begin, at: $0, line) }.map { index in
            let start = index + begin.count
            let end = line[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == 0x20 } ?? line.count
            return Place(range: start..<end, isName: true)
        }
    }

    // MARK: Removing

    /// A line with a mark in each of these places.
    static func cleaned(_ line: [UInt8], mark: String) -> [UInt8] {
        var line = line
        let finders: [([UInt8]) -> [Place]] = [credentials, requesters, { labelled(in: $0) }]
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
