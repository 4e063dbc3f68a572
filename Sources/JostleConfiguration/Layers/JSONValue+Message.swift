extension JSONValue {
    /// Reads a message: JSON if it is valid JSON, else plain text, so that `0.5 s` needs no quotes.
    ///
    /// - Throws: if it begins like JSON but is malformed, or if it is not UTF-8.
    package init(message bytes: [UInt8], topic: String) throws(ConfigurationProblem) {
        let source = ConfigurationSource.message(topic)
        do throws(ConfigurationProblem) {
            self = JSONValue(try JSONReader.read(bytes, source: source))
        } catch {
            guard let first = bytes.first(where: { $0 > 0x20 }), !"[{\"".utf8.contains(first),
                TextPosition.firstMalformed(in: bytes) == nil
            else { throw error }
            self = .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
