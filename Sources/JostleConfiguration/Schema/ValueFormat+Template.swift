extension ValueFormat<Template> {
    /// A message's payload: any text, also empty, with placeholders for an event's fields.
    static var payloadTemplate: ValueFormat {
        ValueFormat(
            allowed: "text of at most \(maximumPayload) bytes with ${field} for the event's fields",
            wantsExample: false,
            constraints: [.init("type", ["string", "number", "boolean"])],
            read: { node, _ throws(ValueRefusal) in
                switch node.value {
                case .mapping, .sequence:
                    throw ValueRefusal("is not text; put JSON in quotes: '{\"state\": \"TOGGLE\"}'")
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

    /// A message's topic: no wildcards, none of the broker's own `$` topics.
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
                    case .text(let text), .field(_, fallback: let text):
                        guard !text.contains(where: { $0 == "+" || $0 == "#" }) else {
                            throw ValueRefusal("has a wildcard")
                        }
                        guard index > 0 || !text.hasPrefix("$") else {
                            throw ValueRefusal("begins with $, which is reserved for the broker")
                        }
                        // Brokers may close the connection if they receive one of these (MQTT 5.0, section 1.5.4).
                        guard text.unicodeScalars.allSatisfy({ !$0.properties.isNoncharacterCodePoint }) else {
                            throw ValueRefusal("has a code point that is not a character")
                        }
                    }
                }
                for field in topic.fields {
                    switch field {
                    case .side, .from, .to:
                        throw ValueRefusal("has ${\(field.rawValue)}, which may be +x, and + is a wildcard in topics")
                    case .event: throw ValueRefusal("has ${event}, which is not allowed in a topic")
                    default: break
                    }
                }
                return topic
            },
            write: { .string($0.source) })
    }

    /// The longest template of a payload and of a topic, bytes: far above what users write, far below what brokers
    /// accept.
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
