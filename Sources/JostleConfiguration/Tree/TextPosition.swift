/// Finds positions and malformed bytes in UTF-8 text.
enum TextPosition {
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

    /// The line and column of the byte at `offset`.
    static func position(of offset: Int, in bytes: [UInt8], source: ConfigurationSource) -> ConfigurationPosition {
        var position = ConfigurationPosition(source)
        for byte in bytes.prefix(offset) { position.advance(over: byte) }
        return position
    }
}

extension ConfigurationPosition {
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
