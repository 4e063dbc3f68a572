extension ValueFormat<JostleSettings.Broker> {
    /// `embedded`, the URL of a broker, or a list of URLs.
    static var broker: ValueFormat {
        let url: JSONValue = ["type": "string", "pattern": "^[mM][qQ][tT][tT][sS]?://[^@/?#]+/?$"]
        return ValueFormat(
            allowed: "embedded, mqtt://host[:port], mqtts://host[:port], or a list of URLs", wantsExample: true,
            constraints: [
                .init("anyOf", [["const": "embedded"], url, ["type": "array", "minItems": 1, "items": url]])
            ],
            read: { node, _ throws(ValueRefusal) in
                guard case .sequence(let elements) = node.value else {
                    let text = try node.scalarText()
                    return text == "embedded" ? .embedded : .remote([try address(text, at: node.position)])
                }
                guard !elements.isEmpty else { throw ValueRefusal("is an empty list") }
                var addresses: [BrokerAddress] = []
                for element in elements {
                    guard let text = element.text else {
                        throw ValueRefusal("has an element that is not a URL", at: element.position)
                    }
                    addresses.append(try address(text, at: element.position))
                }
                return .remote(addresses)
            },
            write: { broker in
                switch broker {
                case .embedded: return "embedded"
                case .remote(let addresses) where addresses.count == 1:
                    return .string(addresses[0].description)
                case .remote(let addresses): return .array(addresses.map { .string($0.description) })
                }
            })
    }

    private static func address(
        _ text: String, at position: ConfigurationPosition
    ) throws(ValueRefusal) -> BrokerAddress {
        do throws(BrokerAddress.Malformed) {
            return try BrokerAddress(url: text)
        } catch {
            throw ValueRefusal(error.reason, found: withoutCredentials(text), at: position)
        }
    }

    /// The text without anything before an `@`, because a password must not be logged.
    private static func withoutCredentials(_ text: String) -> String {
        guard let end = text.lastIndex(of: "@") else { return text }
        let scheme = text.firstRange(of: "://").map { text[..<$0.upperBound] } ?? ""
        return "\(scheme)…\(text[end...])"
    }
}
