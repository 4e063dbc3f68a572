/// Finds where secrets are in lines of text: what follows a name such as `password`, and what has the form of a secret. It
/// splits a line into names, separators and values, with quotes or without. It works on bytes: all that matters is ASCII.
/// The time grows with the length of a line.
struct SecretFinder {
    struct Place {
        var range: Range<Int>
        /// Whether the name of a user is there.
        var isUser = false
    }

    /// What separates a value from its name.
    private enum Separator {
        case equals, colon, blank
    }

    /// Words of programs before a secret whose name says nothing, and how many words later it is.
    private static let commands: [(program: [UInt8], word: [UInt8], count: Int)] = [
        ("curl", "-u", 1), ("curl", "--user", 1), ("htpasswd", "-b", 3), ("mosquitto_passwd", "-b", 3),
        ("mosquitto_pub", "-P", 1), ("mosquitto_sub", "-P", 1), ("redis-cli", "-a", 1), ("smbclient", "-U", 1),
        ("sshpass", "-p", 1),
    ].map { (Array($0.utf8), Array($1.utf8), $2) }

    /// How options begin that begin like `-pSECRET`.
    private static let options = ["pa", "peak", "pid", "ping", "pipe", "pitch", "port", "pr", "pu", "pw"]
        .map { Array($0.utf8) }

    /// How tokens begin that are known by their form, and how many bytes of a word follow at least: JSON web tokens, those of
    /// Amazon, GitHub, GitLab, Slack and others.
    private static let tokens: [(start: [UInt8], count: Int)] = [
        ("eyJ", 20), ("AKIA", 16), ("ASIA", 16), ("AIza", 30), ("ghp_", 20), ("gho_", 20), ("ghr_", 20), ("ghs_", 20),
        ("ghu_", 20), ("github_pat_", 20), ("glpat-", 20), ("hvs.", 20), ("npm_", 30), ("sk-", 20), ("sk_live_", 20),
        ("xoxb-", 20), ("xoxp-", 20),
    ].map { (Array($0.utf8), $1) }

    private let line: [UInt8]
    private var places: [Place] = []
    /// The end of the quoted text in which the current place is, or that was the last one.
    private var quoteEnd = -1
    /// The quotes that nothing closes.
    private var unclosed: [UInt8] = []
    /// The programs of `commands` that were named.
    private var programs: Set<[UInt8]> = []
    private var former: Range<Int>?

    private init(_ line: [UInt8]) { self.line = line }

    // MARK: Places

    /// The places in each of some lines that follow one another; with `nested`, those in a value too, as in
    /// `{username: a, password: b}`.
    static func places(in lines: [[UInt8]], nested: Bool = false) -> [[Place]] {
        // The column of a name whose value is in the lines below it.
        var column: Int?
        return lines.map { line in
            guard let start = line.firstIndex(where: { !isBlank($0) }) else { return [] }
            let isItem = line[start] == UInt8(ascii: "-")
            if let begin = column, start > begin || start == begin && isItem {
                return [Place(range: start..<line.count)]
            }
            var finder = SecretFinder(line)
            finder.findValues(nested: nested)
            column = nil
            // Nothing, or a sign of YAML, JSON or the shell that it follows.
            if let last = finder.places.last.map({ line[$0.range] }), last.endIndex == line.count,
                ["", "|", ">", "|-", ">-", "|+", ">+", "\\", "[", "{"].contains(where: { last.elementsEqual($0.utf8) })
            {
                column = start
                finder.places.removeLast()
            }
            let places = finder.places + finder.credentials() + finder.requesters() + finder.tokens()
            return places.filter { !$0.range.isEmpty }
        }
    }

    private mutating func findValues(nested: Bool) {
        var index = 0
        while index < line.count {
            guard SecretFinder.isName(line[index]) else {
                if SecretFinder.isQuote(line[index]), index > quoteEnd { open(at: index) }
                index += 1
                continue
            }
            let name = index..<end(from: index, while: SecretFinder.isName)
            index = name.upperBound
            if let (place, next) = value(of: name) {
                places.append(place)
                index = max(index, nested ? place.range.lowerBound : next)
            }
            let slash = line[name].lastIndex(of: UInt8(ascii: "/"))
            let program = line[(slash.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound]
            if SecretFinder.commands.contains(where: { $0.program[...] == program }) { programs.insert(Array(program)) }
            // What follows a prefix such as `board jostle[812]: ` is the beginning of a line.
            let isPrefix = before(name) == UInt8(ascii: "[") && line[name.upperBound...].starts(with: "]: ".utf8)
            former = isPrefix ? nil : name
        }
    }

    /// A quote begins a quoted text after a blank, a bracket or a separator.
    private mutating func open(at index: Int) {
        guard index == 0 || !SecretFinder.isName(line[index - 1]) && line[index - 1] != UInt8(ascii: "\\"),
            !unclosed.contains(line[index])
        else { return }
        let end = closing(line[index], from: index + 1)
        if end == line.count { unclosed.append(line[index]) } else { quoteEnd = end }
    }

    // MARK: Values

    /// The secret that a name announces, and where to go on.
    private func value(of name: Range<Int>) -> (Place, next: Int)? {
        let (separator, start) = separator(after: name)
        if separator == nil || separator == .blank || name.count == 2, let attached = attached(to: name) {
            return attached
        }
        guard let separator else { return nil }
        var begin = start
        if separator == .blank {
            guard let count = count(of: name, begin) else { return nil }
            for _ in 1..<count { begin = skipped(extent(of: name, separator, begin).next) }
        } else {
            guard isAnnounced(name, separator, start) else { return nil }
        }
        let (range, next) = extent(of: name, separator, begin)
        return (Place(range: range, isUser: kind(of: name) == .user), next)
    }

    /// What separates a name from its value, and where that begins. The quote at the end of the name and a bracket are passed.
    private func separator(after name: Range<Int>) -> (Separator?, Int) {
        var closed = end(from: name.upperBound) { SecretFinder.isQuote($0) || "\\]".utf8.contains($0) }
        // As in `password[0]=…`, but not in `passwd[812]: …`.
        if line[closed...].first == UInt8(ascii: "[") {
            let index = end(from: closed + 1, while: SecretFinder.isDigit)
            if line[index...].starts(with: "]=".utf8) { closed = index + 1 }
        }
        var at = skipped(closed)
        if line[at...].starts(with: "%22".utf8) { at += 3 }
        guard at < line.count else { return (.blank, at) }
        let next = at + 1 < line.count ? line[at + 1] : 0
        switch line[at] {
        case UInt8(ascii: "="): return (.equals, end(from: at + 1) { "=>".utf8.contains($0) })
        case UInt8(ascii: ":") where next == UInt8(ascii: "="): return (.equals, at + 2)
        case UInt8(ascii: ":"): return (.colon, at + (next == UInt8(ascii: ":") ? 2 : 1))
        case UInt8(ascii: "-") where next == UInt8(ascii: ">"): return (.equals, at + 2)
        case UInt8(ascii: ">") where before(name) == UInt8(ascii: "<"): return (.colon, at + 1)
        case UInt8(ascii: ","): return (.blank, skipped(at + 1))
        case UInt8(ascii: "%")
        where next == UInt8(ascii: "3") && at + 2 < line.count && "ADad".utf8.contains(line[at + 2]):
            return (.equals, at + 3)
        default: return (at > closed ? .blank : nil, at)
        }
    }

    /// What a name says; the key in `API key` gets its meaning from both words.
    private func kind(of name: Range<Int>) -> SecretName? {
        // This option of Jostle names a file.
        guard !line[name].elementsEqual("--passwords".utf8) else { return nil }
        let kind = SecretName(line[name])
        guard kind == .key, let former, former.upperBound + 1 == name.lowerBound,
            SecretName(line[former.lowerBound..<name.upperBound]) == .secret
        else { return kind }
        return .secret
    }

    /// Whether a message says what is wrong with a setting: `jostle.yaml:4:13: mqtt.password: unknown key`. The name of a user
    /// is one word.
    private func isRefused(_ name: Range<Int>, _ begin: Int) -> Bool {
        guard line[name].contains(UInt8(ascii: ".")), begin < line.count, !SecretFinder.isQuote(line[begin]),
            line[begin...].contains(where: SecretFinder.isBlank)
        else { return false }
        if kind(of: name) == .user { return true }
        guard let former else { return false }
        return former.upperBound + 2 == name.lowerBound && before(former) == UInt8(ascii: ":")
            && line[former].allSatisfy(SecretFinder.isDigit)
    }

    private func isAnnounced(_ name: Range<Int>, _ separator: Separator, _ start: Int) -> Bool {
        let begin = skipped(start)
        let isBeforePath = begin < line.count && line[begin] == UInt8(ascii: "/")
        let isPath = (begin > start || isBeforePath) && line[name].contains(UInt8(ascii: "/"))
        switch kind(of: name) {
        case .secret, .user:
            // After a path, a message says what is wrong with the file. PWD is the working directory.
            if separator == .colon, isPath || isRefused(name, begin) { return false }
            return !isBeforePath || !SecretFinder.lowercased(line[name]).suffix(3).elementsEqual("pwd".utf8)
        case .noun:
            let isQuoted = SecretFinder.isQuote(before(name)) && SecretFinder.isQuote(line[name.upperBound])
            return separator != .colon || isQuoted || former == nil && begin > start && !isPath
        case .key:
            // As in `--set key=value` and `<add key="password" value="…">`.
            let isQuoted = begin < line.count && SecretFinder.isQuote(line[begin])
            let value = line[(isQuoted ? begin + 1 : begin)...].prefix(while: SecretFinder.isName)
            return separator != .colon && !SecretFinder.lowercased(value).elementsEqual("value".utf8)
                && !(isQuoted && SecretName(value) == .secret)
        case nil:
            // As in `name: MQTT_PASSWORD, value: …`.
            return SecretFinder.lowercased(line[name]).elementsEqual("value".utf8)
                && former.map { SecretName(line[$0]) == .secret } ?? false
        }
    }

    /// Of how many words after an option or a word such as `Bearer` the last one is a secret; `nil` if none is.
    private func count(of name: Range<Int>, _ start: Int) -> Int? {
        let bytes = line[name]
        // Who quotes the one quotes the other: "`--password`, if it is given, …" is a sentence.
        if start < line.count, SecretFinder.isQuote(line[name.upperBound]), !SecretFinder.isQuote(line[start]) {
            return nil
        }
        for command in SecretFinder.commands where command.word[...] == bytes && programs.contains(command.program) {
            return command.count
        }
        if bytes.first == UInt8(ascii: "-") {
            let kind = kind(of: name)
            return bytes.elementsEqual("-P".utf8) && !isNumber(from: start) || kind != nil && kind != .key ? 1 : nil
        }
        let small = SecretFinder.lowercased(bytes)
        if small.elementsEqual("bearer".utf8) { return 1 }
        // As in `WITH PASSWORD '…'` and `invalid token "…"`, and at the end of a line such as `remote_password …` or
        // `nmcli dev wifi connect home password …`.
        guard start < line.count, SecretFinder.isBlank(line[name.upperBound]), kind(of: name) == .secret else {
            return nil
        }
        let isLast = former == nil || small.elementsEqual("password".utf8)
        return SecretFinder.isQuote(line[start]) || isLast && !line[start...].contains(where: SecretFinder.isBlank)
            ? 1 : nil
    }

    /// The secret in an option such as `-pSECRET`, `-p'SECRET'` or `-p=SECRET`.
    private func attached(to name: Range<Int>) -> (Place, next: Int)? {
        guard line[name.lowerBound] == UInt8(ascii: "-") else { return nil }
        var start = name.lowerBound + 2
        let option = SecretFinder.lowercased(line[name].prefix(8))
        guard option.starts(with: "-p".utf8), !SecretFinder.options.contains(where: option.dropFirst().starts) else {
            return nil
        }
        if name.count == 2 {
            // The quote must not be the end of one around the option.
            guard start < line.count, start != quoteEnd, !SecretFinder.isQuote(before(name)) else { return nil }
            if line[start] == UInt8(ascii: "=") { start += 1 } else if !SecretFinder.isQuote(line[start]) { return nil }
        }
        guard !isNumber(from: start) else { return nil }
        let (range, next) = extent(of: name, .blank, start)
        return (Place(range: range), next)
    }

    /// Whether a word is a number, such as the port in `-p8080:80`.
    private func isNumber(from start: Int) -> Bool {
        let end = end(from: start) { "0123456789.:,'\"]".utf8.contains($0) }
        return end == line.count || SecretFinder.isBlank(line[end])
    }

    /// The value from `start` on, and where it and its quote end: a quoted text, all that follows a colon, and what is before
    /// a blank otherwise. In a quoted text, it does not go beyond that.
    private func extent(of name: Range<Int>, _ separator: Separator, _ start: Int) -> (range: Range<Int>, next: Int) {
        let begin = skipped(start)
        let limit = begin <= quoteEnd ? quoteEnd : line.count
        guard begin < limit else { return (begin..<begin, begin) }
        let first = line[begin]
        if SecretFinder.isQuote(first) {
            let end = closing(first, from: begin + 1)
            return (min(begin + 1, end)..<end, min(end + 1, line.count))
        }
        // As in `"--password=a b"`, in an INI file, and in `authorization=Bearer a`.
        let isRest =
            SecretFinder.isQuote(before(name)) && begin <= quoteEnd
            || SecretFinder.lowercased(line[name].suffix(13)).elementsEqual("authorization".utf8)
            || separator == .equals && former == nil && start == name.upperBound + 2 && begin > start
        // A quote in a quote, or a list; but not the mark that stands for a known secret.
        let isOpen = "\\[{(".utf8.contains(first) && !line[begin...].starts(with: SecretRemoval.mark.utf8)
        if separator == .colon || isRest || isOpen { return (begin..<limit, limit) }
        let isQuery = "?&".utf8.contains(before(name))
        var end = begin
        while end < limit, !SecretFinder.isBlank(line[end]), !isQuery || line[end] != UInt8(ascii: "&") {
            switch line[end] {
            case UInt8(ascii: "\\"): end += 2
            case let byte where SecretFinder.isQuote(byte): end = closing(byte, from: end + 1) + 1
            default: end += 1
            }
        }
        end = min(end, limit)
        let next = end
        while end > begin, ",;".utf8.contains(line[end - 1]) { end -= 1 }
        return (begin..<end, next)
    }

    /// Where a quote closes: what follows does not continue the word. The end of the line if nothing does.
    private func closing(_ quote: UInt8, from start: Int) -> Int {
        var index = start
        while index < line.count {
            let next = index + 1 < line.count ? line[index + 1] : 0
            let isJoined = SecretFinder.isWord(next) || SecretFinder.isQuote(next) || next == UInt8(ascii: "\\")
            if line[index] == quote, !isJoined { return index }
            // An escaped byte; a quote in the quotes of a shell: '\''.
            let isShell = line[index] == quote && next == UInt8(ascii: "\\")
            index += line[index] == UInt8(ascii: "\\") ? 2 : isShell ? 4 : 1
        }
        return line.count
    }

    // MARK: Forms

    /// The user and the password in URLs, also in encoded ones, and before a host: `user:password@host`.
    private func credentials() -> [Place] {
        line.split { SecretFinder.isBlank($0) || $0 == UInt8(ascii: "\"") }.compactMap { word in
            guard word.contains(UInt8(ascii: "@")) || word.contains(UInt8(ascii: "%")) else { return nil }
            let small = SecretFinder.lowercased(word)
            for (scheme, sign) in [("://", "@"), (":\\/\\/", "@"), ("%3a%2f%2f", "%40")] {
                guard let start = SecretFinder.offsets(of: scheme, in: small).first else { continue }
                let user = start + scheme.utf8.count
                guard let end = SecretFinder.offsets(of: sign, in: small).last, end >= user else { return nil }
                return Place(range: word.startIndex + user..<word.startIndex + end + sign.utf8.count)
            }
            guard let sign = word.lastIndex(of: UInt8(ascii: "@")),
                let colon = word[..<sign].firstIndex(of: UInt8(ascii: ":")),
                colon > word.startIndex, colon + 1 < sign, !word[..<sign].contains(UInt8(ascii: "/"))
            else { return nil }
            // After the @ of a device there is its address, as in `soc:i2c@7e804000` and `i2c-1:mpu6050@0x68`.
            let host = word[(sign + 1)...].prefix(while: SecretFinder.isName)
            let number = host.starts(with: "0x".utf8) ? host.dropFirst(2) : host
            let isAddress =
                host.contains(where: SecretFinder.isDigit)
                && number.allSatisfy { SecretFinder.isDigit($0) || (0x61...0x66).contains($0) }
            return isAddress ? nil : Place(range: word.startIndex..<sign + 1)
        }
    }

    /// The users in topics of answers: `_reply/user/…`.
    private func requesters() -> [Place] {
        SecretFinder.offsets(of: "_reply/", in: line).map { index in
            let start = index + 7
            return Place(range: start..<end(from: start) { $0 != UInt8(ascii: "/") && !SecretFinder.isBlank($0) })
        }
    }

    /// The tokens that are known by their form.
    private func tokens() -> [Place] {
        line.split { !SecretFinder.isWord($0) && $0 != UInt8(ascii: ".") }.compactMap { word in
            let isToken = SecretFinder.tokens.contains {
                word.starts(with: $0.start) && word.count >= $0.start.count + $0.count
            }
            return isToken ? Place(range: word.startIndex..<word.endIndex) : nil
        }
    }

    /// The private keys (PEM) in a text, each to the end of its last line.
    static func privateKeys(in text: [UInt8]) -> [Range<Int>] {
        var ends = offsets(of: "-----END ", in: text)[...]
        var end = 0
        return offsets(of: "-----BEGIN ", in: text).compactMap { begin in
            // The name of the kind of key is short: `RSA `, `ENCRYPTED `.
            guard begin >= end, !offsets(of: "PRIVATE KEY", in: Array(text[begin...].prefix(40))).isEmpty else {
                return nil
            }
            ends = ends.drop { $0 < begin }
            end = ends.first.flatMap { text[$0...].firstIndex(of: UInt8(ascii: "\n")) } ?? text.count
            return begin..<end
        }
    }

    // MARK: Bytes

    /// Whether a byte belongs to a word: letters, digits, `_` and `-`, and everything that is not ASCII.
    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isName(_ byte: UInt8) -> Bool { isWord(byte) || "./".utf8.contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    private static func isQuote(_ byte: UInt8) -> Bool { "\"'`".utf8.contains(byte) }

    /// Where a text begins.
    static func offsets(of text: String, in bytes: [UInt8]) -> [Int] {
        let text = Array(text.utf8)
        return bytes.indices.filter { bytes[$0] == text[0] && bytes[$0...].starts(with: text) }
    }

    private func end(from start: Int, while isPart: (UInt8) -> Bool) -> Int {
        line[start...].firstIndex { !isPart($0) } ?? line.count
    }

    private func before(_ name: Range<Int>) -> UInt8 { name.lowerBound > 0 ? line[name.lowerBound - 1] : 0 }

    /// Where the blanks from `start` on end.
    private func skipped(_ start: Int) -> Int { end(from: start, while: SecretFinder.isBlank) }

    static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    }
}
