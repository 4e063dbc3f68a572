/// The origin of a text.
package enum DocumentSource: Hashable, Sendable {
    /// A file, identified by the path with which it was opened.
    case file(String)
    /// `--set key=value`, identified by its key; the value is left out because it may be unfit for a log.
    case argument(String)
    /// An MQTT message, identified by its topic.
    case message(String)
    /// A layer of single values above file and arguments, identified by its name.
    case layer(String)
}

/// A position in a text.
package struct DocumentPosition: Hashable, Sendable, CustomStringConvertible {
    package var source: DocumentSource

    /// The line, from 1.
    package var line: Int

    /// The character in the line, from 1.
    package var column: Int

    /// The default is the beginning of the source.
    package init(_ source: DocumentSource, line: Int = 1, column: Int = 1) {
        self.source = source
        self.line = line
        self.column = column
    }

    /// Of a value that was not read.
    package static let none = DocumentPosition(.layer(""))

    /// The position in the format of compiler messages, or the argument's key.
    package var description: String {
        switch source {
        case .file(let name), .message(let name): "\(name):\(line):\(column)"
        case .argument(let key): "--set \(key)"
        case .layer(let name): "\(name)"
        }
    }

    /// Advances by one byte of UTF-8; continuation bytes belong to the character before them.
    mutating func advance(over byte: UInt8) {
        if byte == 0x0A {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            column += 1
        }
    }
}

/// Limits on the size of a text and of its values, so that an untrusted message cannot exhaust the memory.
package struct ReaderLimits: Equatable, Sendable {
    /// The longest text, bytes. Default 1 MiB.
    package var bytes: Int

    /// The deepest nesting of arrays and objects. Default 16.
    package var depth: Int

    /// The largest number of values. Default 20,000, some megabytes of memory.
    package var nodes: Int

    /// The largest number of names in all objects together. Default: as many as nodes.
    package var keys: Int

    package init(bytes: Int = 1 << 20, depth: Int = 16, nodes: Int = 20_000, keys: Int? = nil) {
        self.bytes = bytes
        self.depth = depth
        self.nodes = nodes
        self.keys = keys ?? nodes
    }
}

/// The UTF-8 of a text, before it is read.
package enum DocumentText {
    /// The text without the byte order mark that some editors put before UTF-8.
    package static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Whether a text begins with the byte order mark of UTF-16.
    package static func isUTF16(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
    }

    /// Checks the length of a text and that it is well-formed UTF-8.
    ///
    /// - Throws: where it is not, and why it is not what the `format` is called.
    static func check(_ bytes: [UInt8], _ source: DocumentSource, _ limits: ReaderLimits, format: String)
        throws(DocumentProblem)
    {
        guard bytes.count <= limits.bytes else {
            throw DocumentProblem(at: DocumentPosition(source), "longer than \(limits.bytes) bytes")
        }
        guard let offset = firstMalformed(in: bytes) else { return }
        let reason = isUTF16(bytes) ? "it is UTF-16; save it as UTF-8" : "a byte is not UTF-8"
        throw DocumentProblem(at: position(of: offset, in: bytes, source), "not \(format): \(reason)")
    }

    /// The line and column of the byte at `offset`.
    static func position(of offset: Int, in bytes: [UInt8], _ source: DocumentSource) -> DocumentPosition {
        var position = DocumentPosition(source)
        for byte in bytes.prefix(offset) { position.advance(over: byte) }
        return position
    }

    /// The offset of the first byte that is not well-formed UTF-8; `nil` if there is none.
    static func firstMalformed(in bytes: [UInt8]) -> Int? {
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }
}
