internal import CYAML

/// Reads the part of YAML that a configuration needs: one document of mappings, lists and scalars.
///
/// Refuses duplicate keys, anchors, aliases, merge keys, tags, further documents, and anything that exceeds the limits.
package enum YAMLReader {
    /// The tree of `bytes`, which may begin with a byte order mark; an empty text is a null node.
    ///
    /// - Throws: the first problem, with its line and column.
    package static func read(
        _ bytes: [UInt8], source: DocumentSource, limits: ReaderLimits = ReaderLimits()
    ) throws(DocumentProblem) -> JSONValue {
        try DocumentText.check(bytes, source, limits, format: "YAML")
        let bytes = DocumentText.withoutMark(bytes)
        var builder = YAMLTreeBuilder(
            events: try YAMLEventSource(bytes, source: source), remainingNodes: limits.nodes, maximumDepth: limits.depth
        )
        return try builder.document(from: DocumentPosition(source))
    }
}

/// Builds a tree from libyaml's events.
private struct YAMLTreeBuilder: ~Copyable {
    var events: YAMLEventSource
    var remainingNodes: Int
    let maximumDepth: Int

    /// The only document of the stream.
    mutating func document(from start: DocumentPosition) throws(DocumentProblem) -> JSONValue {
        var root = JSONValue(.null, at: start)
        var hasDocument = false
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamEnd:
                return root
            case .documentStart(let hasTagDirectives):
                guard !hasDocument else {
                    throw DocumentProblem(at: event.position, "more than one document")
                }
                guard !hasTagDirectives else {
                    throw DocumentProblem(at: event.position, "tags are not supported")
                }
                hasDocument = true
                root = try node(try events.next(), depth: 0)
            default: continue
            }
        }
    }

    /// The node that begins with `event`.
    private mutating func node(_ event: YAMLEvent, depth: Int) throws(DocumentProblem) -> JSONValue {
        guard remainingNodes > 0 else {
            throw DocumentProblem(at: event.position, "too many values")
        }
        remainingNodes -= 1
        try check(event, "value")
        switch event.kind {
        case .mappingStart:
            return JSONValue(.object(try members(of: event, depth: depth + 1)), at: event.position)
        case .sequenceStart:
            return JSONValue(.array(try elements(of: event, depth: depth + 1)), at: event.position)
        case .scalar(let text, isPlain: true): return JSONValue(plain: text, at: event.position)
        case .scalar(let text, isPlain: false): return JSONValue(.string(text), at: event.position)
        default:
            throw DocumentProblem(at: event.position, "not YAML: a value is missing")
        }
    }

    private mutating func members(
        of start: YAMLEvent, depth: Int
    ) throws(DocumentProblem) -> [JSONValue.Member] {
        guard depth <= maximumDepth else { throw DocumentProblem(at: start.position, "nested too deeply") }
        var members: [JSONValue.Member] = []
        var keys: [String: DocumentPosition] = [:]
        while true {
            let event = try events.next()
            if event.kind == .mappingEnd { return members }
            let name = try key(event)
            if let first = keys.updateValue(event.position, forKey: name) {
                throw DocumentProblem(
                    at: event.position,
                    "the key \(DocumentProblem.quoted(name)) occurs twice, first on line \(first.line)")
            }
            let value = try node(try events.next(), depth: depth)
            members.append(JSONValue.Member(name, value, at: event.position))
        }
    }

    private mutating func elements(
        of start: YAMLEvent, depth: Int
    ) throws(DocumentProblem) -> [JSONValue] {
        guard depth <= maximumDepth else { throw DocumentProblem(at: start.position, "nested too deeply") }
        var elements: [JSONValue] = []
        while true {
            let event = try events.next()
            if event.kind == .sequenceEnd { return elements }
            elements.append(try node(event, depth: depth))
        }
    }

    /// Refuses what is not supported for a key or a value.
    private func check(_ event: YAMLEvent, _ part: String) throws(DocumentProblem) {
        guard !event.hasAnchor, event.kind != .alias else {
            throw DocumentProblem(at: event.position, "anchors and aliases are not supported; write the \(part) out")
        }
        guard !event.hasTag else { throw DocumentProblem(at: event.position, "tags are not supported") }
    }

    /// The text of a key.
    private func key(_ event: YAMLEvent) throws(DocumentProblem) -> String {
        try check(event, "key")
        guard case .scalar(let text, let isPlain) = event.kind else {
            throw DocumentProblem(at: event.position, "a key must be text, not a list or mapping")
        }
        if isPlain {
            guard !text.isEmpty else { throw DocumentProblem(at: event.position, "a key is missing") }
            guard text != "<<" else { throw DocumentProblem(at: event.position, "merge keys are not supported") }
        }
        return text
    }
}

/// An event of libyaml's parser (`yaml_event_t`), copied out of libyaml's memory.
private struct YAMLEvent {
    var kind: Kind
    var position: DocumentPosition

    enum Kind: Equatable {
        case streamEnd
        case documentStart(hasTagDirectives: Bool)
        /// The start of the stream, or the end of a document, which have no content.
        case empty
        case alias
        case scalar(String, isPlain: Bool)
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
private struct YAMLEventSource: ~Copyable {
    /// On the heap, because libyaml's parser holds a pointer to itself.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>
    private let bytes: [UInt8]
    private let source: DocumentSource

    /// Calls `yaml_parser_initialize` and `yaml_parser_set_input_string`; `bytes` must be well-formed UTF-8.
    init(_ bytes: [UInt8], source: DocumentSource) throws(DocumentProblem) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            throw DocumentProblem(at: DocumentPosition(source), "not enough memory to read it")
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
    mutating func next() throws(DocumentProblem) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { yaml_event_delete(&event) }
        var copy = YAMLEvent(kind: .empty, position: position(of: event.start_mark))
        switch event.type {
        case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT: break
        case YAML_DOCUMENT_START_EVENT:
            let directives = event.data.document_start.tag_directives
            copy.kind = .documentStart(hasTagDirectives: directives.start != directives.end)
        case YAML_ALIAS_EVENT: copy.kind = .alias
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            copy.kind = .scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
            (copy.hasAnchor, copy.hasTag) = (scalar.anchor != nil, scalar.tag != nil)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            copy.kind = .sequenceStart
            (copy.hasAnchor, copy.hasTag) = (start.anchor != nil, start.tag != nil)
        case YAML_SEQUENCE_END_EVENT: copy.kind = .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            copy.kind = .mappingStart
            (copy.hasAnchor, copy.hasTag) = (start.anchor != nil, start.tag != nil)
        case YAML_MAPPING_END_EVENT: copy.kind = .mappingEnd
        // YAML_STREAM_END_EVENT; after it libyaml returns only YAML_NO_EVENT.
        default: copy.kind = .streamEnd
        }
        return copy
    }

    /// libyaml's description of the error.
    private func failure() -> DocumentProblem {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "unknown error"
        switch parser.pointee.error {
        case YAML_MEMORY_ERROR:
            return DocumentProblem(at: DocumentPosition(source), "not enough memory to read it")
        case YAML_READER_ERROR:
            // A reader error has no line and column, only a byte offset.
            let position = DocumentText.position(of: parser.pointee.problem_offset, in: bytes, source)
            return DocumentProblem(at: position, "not YAML: \(problem)")
        default:
            let mark = parser.pointee.problem_mark
            let context = parser.pointee.context.map { "\(String(cString: $0)), " } ?? ""
            let hint = isTab(at: mark) ? " (a tab: YAML is indented with spaces)" : ""
            return DocumentProblem(at: position(of: mark), "not YAML: \(context)\(problem)\(hint)")
        }
    }

    private func isTab(at mark: yaml_mark_t) -> Bool {
        var position = DocumentPosition(source)
        let wanted = self.position(of: mark)
        for byte in bytes {
            if position == wanted { return byte == 0x09 }
            position.advance(over: byte)
        }
        return false
    }

    private func position(of mark: yaml_mark_t) -> DocumentPosition {
        DocumentPosition(source, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

/// The version of libyaml that is loaded, such as 0.2.5 (`yaml_get_version_string`).
package var libyamlVersion: String {
    String(cString: yaml_get_version_string())
}
