extension JSONValue {
    /// The value that a message means: JSON where it is JSON, else the text as it stands, so that `0.5 s` needs no quotes.
    ///
    /// - Throws: where it begins like JSON and is none, or is no text at all.
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
