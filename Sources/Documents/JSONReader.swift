/// Reads JSON (RFC 8259) strictly: no duplicate keys, well-formed UTF-8, nothing after the value, within limits.
///
/// Numbers keep their text.
package enum JSONReader {
    /// The tree of `bytes`.
    ///
    /// - Throws: the first problem, with its line and column.
    package static func read(
        _ bytes: [UInt8], source: DocumentSource, limits: ReaderLimits = ReaderLimits()
    ) throws(DocumentProblem) -> JSONValue {
        try DocumentText.check(bytes, source, limits, format: "JSON")
        var parser = JSONParser(bytes: bytes, source: source, limits: limits)
        return try parser.document()
    }

    /// The object that `bytes` are.
    ///
    /// - Throws: the first problem; also for a value that is not an object.
    package static func readObject(
        _ bytes: [UInt8], source: DocumentSource, limits: ReaderLimits
    ) throws(DocumentProblem) -> JSONValue {
        let value = try read(bytes, source: source, limits: limits)
        guard value.members != nil else { throw DocumentProblem(at: DocumentPosition(source), "not a JSON object") }
        return value
    }
}

extension JSONValue {
    /// Reads a message, which may begin with a byte order mark: JSON if it is valid JSON, else plain text, so that `0.5 s`
    /// needs no quotes.
    ///
    /// - Throws: if it begins like JSON but is malformed, or if it is not UTF-8.
    package init(message bytes: [UInt8], topic: String) throws(DocumentProblem) {
        let bytes = DocumentText.withoutMark(bytes)
        do {
            self = try JSONReader.read(bytes, source: .message(topic))
        } catch {
            guard let first = bytes.first(where: { $0 > 0x20 }), !"[{\"".utf8.contains(first),
                DocumentText.firstMalformed(in: bytes) == nil
            else { throw error }
            self = .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// A recursive-descent parser over well-formed UTF-8.
private struct JSONParser {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var remainingNodes: Int
    private let maximumKeys: Int
    private var keyCount = 0
    private var offset = 0
    private var position: DocumentPosition

    init(bytes: [UInt8], source: DocumentSource, limits: ReaderLimits) {
        self.bytes = bytes
        maximumDepth = limits.depth
        remainingNodes = limits.nodes
        maximumKeys = limits.keys
        position = DocumentPosition(source)
    }

    mutating func document() throws(DocumentProblem) -> JSONValue {
        skipSpace()
        let root = try value(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw unexpected("after the value") }
        return root
    }

    private mutating func value(depth: Int) throws(DocumentProblem) -> JSONValue {
        guard remainingNodes > 0 else { throw DocumentProblem(at: position, "too many values") }
        remainingNodes -= 1
        let start = position
        switch byte {
        case UInt8(ascii: "{"): return JSONValue(.object(try members(depth: depth + 1)), at: start)
        case UInt8(ascii: "["): return JSONValue(.array(try elements(depth: depth + 1)), at: start)
        case UInt8(ascii: "\""): return JSONValue(.string(try string()), at: start)
        case UInt8(ascii: "-"): return JSONValue(.number(try number()), at: start)
        default:
            if isDigit { return JSONValue(.number(try number()), at: start) }
            if take("true") { return JSONValue(.bool(true), at: start) }
            if take("false") { return JSONValue(.bool(false), at: start) }
            if take("null") { return JSONValue(.null, at: start) }
            throw unexpected("where a value should be")
        }
    }

    private mutating func members(depth: Int) throws(DocumentProblem) -> [JSONValue.Member] {
        guard depth <= maximumDepth else { throw DocumentProblem(at: position, "nested too deeply") }
        advance()
        var members: [JSONValue.Member] = []
        var keys: Set<String> = []
        skipSpace()
        if take("}") { return members }
        while true {
            let keyPosition = position
            guard byte == UInt8(ascii: "\"") else { throw unexpected("where a key in quotes should be") }
            let key = try string()
            keyCount += 1
            guard keyCount <= maximumKeys else {
                throw DocumentProblem(at: keyPosition, "more than \(maximumKeys) keys")
            }
            guard keys.insert(key).inserted else {
                throw DocumentProblem(
                    at: keyPosition, "the key \(DocumentProblem.quoted(key)) occurs twice")
            }
            skipSpace()
            guard take(":") else { throw unexpected("where a colon should be") }
            skipSpace()
            members.append(JSONValue.Member(key, try value(depth: depth), at: keyPosition))
            skipSpace()
            if take("}") { return members }
            guard take(",") else { throw unexpected("where a comma or } should be") }
            skipSpace()
        }
    }

    private mutating func elements(depth: Int) throws(DocumentProblem) -> [JSONValue] {
        guard depth <= maximumDepth else { throw DocumentProblem(at: position, "nested too deeply") }
        advance()
        var elements: [JSONValue] = []
        skipSpace()
        if take("]") { return elements }
        while true {
            elements.append(try value(depth: depth))
            skipSpace()
            if take("]") { return elements }
            guard take(",") else { throw unexpected("where a comma or ] should be") }
            skipSpace()
        }
    }

    /// The text of a number: `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`.
    private mutating func number() throws(DocumentProblem) -> String {
        let start = offset
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func digits() throws(DocumentProblem) {
        guard isDigit else { throw unexpected("where a digit should be") }
        while isDigit { advance() }
    }

    private mutating func string() throws(DocumentProblem) -> String {
        advance()
        var text: [UInt8] = []
        while let next = byte {
            switch next {
            case UInt8(ascii: "\""):
                advance()
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                text.append(contentsOf: Array(try escape().utf8))
            case 0..<0x20:
                throw unexpected("in a string; it must be escaped")
            default:
                text.append(next)
                advance()
            }
        }
        throw unexpected("in a string")
    }

    /// The character of an escape sequence; a character beyond U+FFFF takes two sequences.
    private mutating func escape() throws(DocumentProblem) -> String {
        let start = position
        advance()
        guard let letter = byte else { throw unexpected("in a string") }
        guard letter != UInt8(ascii: "u") else { return try unicodeEscape(from: start) }
        let character: String
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            character = String(UnicodeScalar(letter))
        case UInt8(ascii: "b"): character = "\u{8}"
        case UInt8(ascii: "f"): character = "\u{C}"
        case UInt8(ascii: "n"): character = "\n"
        case UInt8(ascii: "r"): character = "\r"
        case UInt8(ascii: "t"): character = "\t"
        default: throw DocumentProblem(at: start, "not JSON: an unknown escape sequence")
        }
        advance()
        return character
    }

    /// The character of `uXXXX`, or of `uXXXX\uXXXX` if the first is half of a surrogate pair.
    private mutating func unicodeEscape(from start: DocumentPosition) throws(DocumentProblem) -> String {
        let first = try codeUnit(from: start)
        guard UTF16.isLeadSurrogate(first) else {
            guard let scalar = UnicodeScalar(first) else { throw loneSurrogate(at: start) }
            return String(scalar)
        }
        guard take("\\"), byte == UInt8(ascii: "u") else { throw loneSurrogate(at: start) }
        let second = try codeUnit(from: start)
        guard UTF16.isTrailSurrogate(second) else { throw loneSurrogate(at: start) }
        return String(decoding: [first, second], as: UTF16.self)
    }

    /// The value of `u` and four hexadecimal digits.
    private mutating func codeUnit(from start: DocumentPosition) throws(DocumentProblem) -> UInt16 {
        advance()
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = byte.flatMap({ Character(UnicodeScalar($0)).hexDigitValue }) else {
                throw DocumentProblem(at: start, "not JSON: \\u needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            advance()
        }
        return unit
    }

    private func loneSurrogate(at start: DocumentPosition) -> DocumentProblem {
        DocumentProblem(at: start, "not JSON: half of a surrogate pair")
    }

    // MARK: Bytes

    /// The current byte, or `nil` at the end.
    private var byte: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var isDigit: Bool { byte.map { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } ?? false }

    private mutating func advance() {
        position.advance(over: bytes[offset])
        offset += 1
    }

    private mutating func skipSpace() {
        while byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { advance() }
    }

    /// Consumes `token` if it is next; it must be ASCII.
    private mutating func take(_ token: StaticString) -> Bool {
        let count = token.utf8CodeUnitCount
        guard bytes.count - offset >= count,
            token.withUTF8Buffer({ bytes[offset..<offset + count].elementsEqual($0) })
        else { return false }
        for _ in 0..<count { advance() }
        return true
    }

    private func unexpected(_ context: String) -> DocumentProblem {
        guard let byte else { return DocumentProblem(at: position, "not JSON: the text ends \(context)") }
        let shown =
            byte > 0x20 && byte < 0x7F ? "\"\(Character(UnicodeScalar(byte)))\"" : "character \(byte)"
        return DocumentProblem(at: position, "not JSON: \(shown) \(context)")
    }
}
