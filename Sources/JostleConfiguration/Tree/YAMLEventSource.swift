internal import CYAML

/// An event of libyaml's parser (`yaml_event_t`), copied out of libyaml's memory.
struct YAMLEvent {
    var kind: Kind
    var position: ConfigurationPosition

    enum Kind: Equatable {
        case streamStart
        case streamEnd
        case documentStart(hasTagDirectives: Bool)
        case documentEnd
        case alias
        case scalar(String, ConfigurationNode.Style)
        case sequenceStart
        case sequenceEnd
        case mappingStart
        case mappingEnd
    }

    /// Whether the node carries an anchor (`&name`).
    var hasAnchor = false

    /// Whether the node carries a tag (`!name`).
    var hasTag = false
}

/// libyaml's event parser (`yaml_parser_t`) for a text in memory.
struct YAMLEventSource: ~Copyable {
    /// On the heap, because libyaml's parser holds a pointer to itself.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>
    private let bytes: [UInt8]
    private let source: ConfigurationSource

    /// Calls `yaml_parser_initialize` and `yaml_parser_set_input_string`; `bytes` must be well-formed UTF-8.
    init(_ bytes: [UInt8], source: ConfigurationSource) throws(ConfigurationProblem) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            throw ConfigurationProblem(at: ConfigurationPosition(source), "not enough memory to read it")
        }
        let text = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = text.initialize(from: bytes)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, bytes.count)
        self.parser = parser
        self.text = text
        self.bytes = bytes
        self.source = source
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    /// Returns the next event (`yaml_parser_parse`, `yaml_event_delete`).
    ///
    /// Do not call it again after the end of the stream or an error.
    mutating func next() throws(ConfigurationProblem) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { yaml_event_delete(&event) }
        let position = position(of: event.start_mark)
        switch event.type {
        case YAML_STREAM_START_EVENT:
            return YAMLEvent(kind: .streamStart, position: position)
        case YAML_DOCUMENT_START_EVENT:
            let directives = event.data.document_start.tag_directives
            return YAMLEvent(
                kind: .documentStart(hasTagDirectives: directives.start != directives.end), position: position)
        case YAML_DOCUMENT_END_EVENT:
            return YAMLEvent(kind: .documentEnd, position: position)
        case YAML_ALIAS_EVENT:
            return YAMLEvent(kind: .alias, position: position)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let style: ConfigurationNode.Style = scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted
            return YAMLEvent(
                kind: .scalar(text, style), position: position, hasAnchor: scalar.anchor != nil,
                hasTag: scalar.tag != nil)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return YAMLEvent(
                kind: .sequenceStart, position: position, hasAnchor: start.anchor != nil, hasTag: start.tag != nil)
        case YAML_SEQUENCE_END_EVENT:
            return YAMLEvent(kind: .sequenceEnd, position: position)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return YAMLEvent(
                kind: .mappingStart, position: position, hasAnchor: start.anchor != nil, hasTag: start.tag != nil)
        case YAML_MAPPING_END_EVENT:
            return YAMLEvent(kind: .mappingEnd, position: position)
        default:
            // YAML_STREAM_END_EVENT; after it libyaml returns only YAML_NO_EVENT.
            return YAMLEvent(kind: .streamEnd, position: position)
        }
    }

    /// libyaml's description of the error.
    private func failure() -> ConfigurationProblem {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "unknown error"
        switch parser.pointee.error {
        case YAML_MEMORY_ERROR:
            return ConfigurationProblem(at: ConfigurationPosition(source), "not enough memory to read it")
        case YAML_READER_ERROR:
            // A reader error has no line and column, only a byte offset.
            let position = TextPosition.position(of: parser.pointee.problem_offset, in: bytes, source: source)
            return ConfigurationProblem(at: position, "not YAML: \(problem)")
        default:
            let mark = parser.pointee.problem_mark
            let context = parser.pointee.context.map { "\(String(cString: $0)), " } ?? ""
            let hint = isTab(at: mark) ? " (a tab: YAML is indented with spaces)" : ""
            return ConfigurationProblem(at: position(of: mark), "not YAML: \(context)\(problem)\(hint)")
        }
    }

    private func isTab(at mark: yaml_mark_t) -> Bool {
        var position = ConfigurationPosition(source)
        let wanted = self.position(of: mark)
        for byte in bytes {
            if position == wanted { return byte == 0x09 }
            position.advance(over: byte)
        }
        return false
    }

    private func position(of mark: yaml_mark_t) -> ConfigurationPosition {
        ConfigurationPosition(source, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
