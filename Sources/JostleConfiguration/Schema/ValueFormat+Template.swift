extension ValueFormat<Template> {
    /// What a message says: text with places for an event's fields. It may have any characters, and none.
    static var payloadTemplate: ValueFormat {
        ValueFormat(
            allowed: "text of at most \(maximumPayload) bytes with ${field} for the event's fields",
            wantsExample: false,
            constraints: [.init("type", ["string", "number", "boolean"])],
            read: { node, _ throws(ValueRefusal) in
                switch node.value {
                case .mapping, .sequence:
                    throw ValueRefusal("is not text; JSON stands in quotes: '{\"state\": \"TOGGLE\"}'")
                default: break
                }
                let text = try node.scalarText()
                guard text.utf8.count <= maximumPayload else {
                    throw ValueRefusal("is longer than \(maximumPayload) bytes")
                }
                return try template(text)
            },
            write: { .string($0.source) })
    }

    /// Where a message goes: no wildcards, not a broker's own `$` topics.
    static var topicTemplate: ValueFormat {
        ValueFormat(
            allowed: "a topic without + and #, not beginning with $, with ${field} for the event's fields",
            wantsExample: true,
            constraints: [
                .init("type", "string"), .init("minLength", 1), .init("pattern", "^(?!\\$[^{])[^+#]+$"),
            ],
            read: { node, _ throws(ValueRefusal) in
                let topic = try template(try ValueFormat<String>.lineOfText(node, maximum: maximumTopic))
                for (index, part) in topic.parts.enumerated() {
                    switch part {
                    case .text(let text), .field(_, otherwise: let text):
                        guard !text.contains(where: { $0 == "+" || $0 == "#" }) else {
                            throw ValueRefusal("has a wildcard")
                        }
                        guard index > 0 || !text.hasPrefix("$") else {
                            throw ValueRefusal("begins with $, which is the broker's")
                        }
                        // Brokers may close the connection over these (MQTT 5.0, section 1.5.4).
                        guard text.unicodeScalars.allSatisfy({ !$0.properties.isNoncharacterCodePoint }) else {
                            throw ValueRefusal("has a code point that is no character")
                        }
                    }
                }
                for field in topic.fields {
                    switch field {
                    case .side, .from, .to:
                        throw ValueRefusal("has ${\(field.rawValue)}, which may be +x: + is a wildcard in topics")
                    case .event: throw ValueRefusal("has ${event}, which is no part of a topic")
                    default: break
                    }
                }
                return topic
            },
            write: { .string($0.source) })
    }

    /// Bytes of a payload's template and a topic's: what people write is far below, what a broker takes far above.
    private static var maximumPayload: Int { 16_384 }
    private static var maximumTopic: Int { 1024 }

    private static func template(_ text: String) throws(ValueRefusal) -> Template {
        do throws(Template.Malformed) {
            return try Template(text)
        } catch {
            throw ValueRefusal(error.reason)
        }
    }
}
