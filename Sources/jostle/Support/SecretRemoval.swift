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
            for place in SecretPlaces.labelled(in: bytes, mayOverlap: true) + SecretPlaces.credentials(in: bytes) {
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
        bytes = SecretPlaces.withoutPrivateKeys(bytes, mark: SecretRemoval.mark)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let clean = lines.map { SecretPlaces.cleaned(Array($0), mark: SecretRemoval.mark) }
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
            if isHere, !secret.isWord || !SecretPlaces.isWord(before) && !SecretPlaces.isWord(after) {
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
        let isText = if case .string = value { true } else if case .number = value { true } else { false }
        if isText, SecretPlaces.isSecret(name) || name == "payload" { return .string(SecretRemoval.mark) }
        switch value {
        case .string(let text): return .string(cleaned(text))
        case .array(let elements): return .array(elements.map { cleaned($0, of: name) })
        case .object(let members):
            let key = members.first { $0.name == "key" || $0.name == "path" }?.value
            let isConnection =
                if case .string(let key)? = key { key.hasPrefix("mqtt") || SecretPlaces.isSecret(key) } else { false }
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
