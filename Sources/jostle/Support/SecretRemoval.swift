internal import Documents
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
        let text: String
        let isWord: Bool
        let mark: String

        func places(in bytes: [UInt8]) -> [Range<Int>] {
            SecretFinder.offsets(of: text, in: bytes).map { $0..<$0 + text.utf8.count }.filter { place in
                let sides = [place.lowerBound - 1, place.upperBound].filter(bytes.indices.contains)
                return !isWord || !sides.contains { SecretFinder.isWord(bytes[$0]) }
            }
        }
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
                add(Known(text: form, isWord: text.utf8.count < 5, mark: SecretRemoval.mark))
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
        add(Known(text: name, isWord: true, mark: SecretRemoval.mark))
    }

    /// Writes `[broker]` instead of a host.
    mutating func hide(broker host: String) {
        guard !["localhost", "::1"].contains(host), !host.hasPrefix("127."), !host.isEmpty else { return }
        add(Known(text: host, isWord: true, mark: "[broker]"))
    }

    /// Removes what stands where secrets usually are in the text of a configuration file, also in its comments.
    mutating func add(secretsOf text: String, publicNames: [String]) {
        // The first 4096 bytes of a line: a value in a value is looked at too, so that the time grows with their square.
        let lines = text.split(whereSeparator: \.isNewline).map { Array($0.utf8.prefix(4096)) }
        for (line, places) in zip(lines, SecretFinder.places(in: lines, nested: true)) {
            for place in places {
                for candidate in SecretRemoval.candidates(String(decoding: line[place.range], as: UTF8.self)) {
                    if place.isUser { add(userName: candidate, publicNames: publicNames) } else { add(candidate) }
                }
            }
        }
    }

    /// Removes the URLs of webhooks in the text of a configuration file, also if that has mistakes.
    mutating func add(webhooksOf text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let name = line.firstRange(of: "post") else { continue }
            var rest = line[name.upperBound...]
            while let start = rest.firstRange(of: "http") {
                let url = rest[start.lowerBound...].prefix { !$0.isWhitespace && !"\"',}]".contains($0) }
                if url.hasPrefix("http://") || url.hasPrefix("https://") { add(String(url)) }
                rest = rest[url.endIndex...]
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
        guard !known.contains(where: { $0.text == secret.text && (!$0.isWord || secret.isWord) }) else { return }
        let index = known.firstIndex { $0.text.utf8.count < secret.text.utf8.count } ?? known.endIndex
        known.insert(secret, at: index)
    }

    // MARK: Removing

    /// The text without secrets.
    func cleaned(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for secret in known {
            bytes = SecretRemoval.replacing(secret.places(in: bytes), in: bytes, with: secret.mark)
        }
        bytes = SecretRemoval.replacing(SecretFinder.privateKeys(in: bytes), in: bytes, with: SecretRemoval.mark)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        let clean = zip(lines, SecretFinder.places(in: lines)).map { line, places in
            let ranges = places.map(\.range).sorted { $0.lowerBound < $1.lowerBound }
            return SecretRemoval.replacing(ranges, in: line, with: SecretRemoval.mark)
        }
        return String(decoding: Array(clean.joined(separator: "\n".utf8)), as: UTF8.self)
    }

    /// The bytes with a mark in place of each of these ranges, which are in order and may overlap.
    private static func replacing(_ ranges: [Range<Int>], in bytes: [UInt8], with mark: String) -> [UInt8] {
        var clean: [UInt8] = []
        var end = 0
        for range in ranges {
            if range.lowerBound >= end { clean += bytes[end..<range.lowerBound] + mark.utf8 }
            end = max(end, range.upperBound)
        }
        return clean + bytes[end...]
    }

    /// A value of a configuration or of a message without secrets: what is under a name such as `password`, user names,
    /// the payloads and URLs of actions, and values that somebody tried to set for keys of the broker connection.
    func cleaned(_ value: JSONValue, of name: String = "") -> JSONValue {
        let isSecret = SecretName.isSecret(name)
        if value.text != nil, value.bool == nil, isSecret || name == "payload" || name == "post" {
            return .string(SecretRemoval.mark)
        }
        switch value.content {
        case .string(let text): return .string(cleaned(text))
        case .array(let elements): return .array(elements.map { cleaned($0, of: name) })
        case .object(let members):
            let key = members.first { ["key", "name", "path"].contains($0.name) }?.value.string
            let isConnection = key.map { $0.hasPrefix("mqtt") || SecretName.isSecret($0) } ?? false
            return .object(
                members.map { member in
                    let isValue = isConnection && ["value", "found"].contains(member.name)
                    return .init(
                        cleaned(member.name),
                        isValue
                            ? .string(SecretRemoval.mark) : cleaned(member.value, of: isSecret ? name : member.name))
                })
        case .null, .bool, .number: return value
        }
    }
}
