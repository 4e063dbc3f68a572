internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient

/// A message to `set`: which keys it changes, and to what.
///
/// `set/<key>` has one value. A document on `set`, or on `set/<section>`, has the values of any number of keys. The names
/// in a key may also be levels of the topic, as in `set/gestures/shake/sensitivity`.
enum SettingMessage {
    /// A key with its new value; `nil` removes the value.
    struct Entry: Sendable {
        var key: String
        var value: JSONValue?
    }

    /// The maximum size of a value and of a document, bytes.
    private static let largestValue = 1024
    private static let largestDocument = 16_384

    /// The topics, which do not overlap. A broker's access rules may permit only the first one: then the device works
    /// with that.
    static func filters(_ topics: Topics) -> [(filter: String, isOptional: Bool)] {
        [(topics.set("+"), false), (topics.setDocument, true), (topics.set("+/+/#"), true)]
    }

    /// The key or section to which a topic belongs, empty for all; `nil` for other topics.
    static func key(of topic: String, _ topics: Topics) -> String? {
        if topic == topics.setDocument { return "" }
        let start = topics.set("")
        guard topic.hasPrefix(start) else { return nil }
        let key = topic.dropFirst(start.count).split(separator: "/").joined(separator: ".")
        return shortened(key)
    }

    /// What a message sets.
    ///
    /// - Throws: why the whole message is refused.
    static func entries(
        in message: MQTTMessage, key: String, _ topics: Topics
    ) throws(ConfigurationProblem) -> [Entry] {
        let position = ConfigurationPosition(.layer(LocalLayer.name))
        guard !message.retain else {
            throw ConfigurationProblem(
                at: position, path: key, "must not be retained: it would be set again at every connection")
        }
        let isDocument = ConfigurationSchema.hasSection(key) || ConfigurationSchema.isAboveRuleSwitch(key)
        let limit = isDocument ? largestDocument : largestValue
        guard message.payload.count <= limit else {
            throw ConfigurationProblem(at: position, path: key, "is longer than \(limit) bytes")
        }
        guard isDocument else {
            guard !message.payload.isEmpty else { return [Entry(key: key, value: nil)] }
            return [Entry(key: key, value: try JSONValue(message: message.payload, topic: topics.set(key)))]
        }
        let topic = key.isEmpty ? topics.setDocument : topics.set(key)
        let value = message.payload.isEmpty ? nil : try JSONValue(message: message.payload, topic: topic)
        var entries: [Entry] = []
        if case .object(let members) = value { add(members, below: key, to: &entries) }
        // The list of rules itself is refused as every key that cannot be set.
        if let value, entries.isEmpty, ConfigurationSchema.isAboveRuleSwitch(key) {
            entries = [Entry(key: key, value: value)]
        }
        guard !entries.isEmpty else {
            throw ConfigurationProblem(
                at: position, path: key, found: value?.compactText,
                "is not a document with values; one value belongs on \(topics.set("KEY")), for example "
                    + topics.set("gestures.shake.sensitivity"),
                allowed:
                    #"a JSON object, for example {"gestures":{"shake":{"sensitivity":7}}} on \#(topics.setDocument)"#)
        }
        return entries
    }

    /// Adds the values of an object. A member that is no section is a value, which is judged as on a topic of its own.
    private static func add(_ members: [JSONValue.Member], below key: String, to entries: inout [Entry]) {
        for member in members {
            let path = shortened(key.isEmpty ? member.name : "\(key).\(member.name)")
            if case .object(let inner) = member.value,
                ConfigurationSchema.hasSection(path) || ConfigurationSchema.isAboveRuleSwitch(path)
            {
                add(inner, below: path, to: &entries)
            } else {
                entries.append(Entry(key: path, value: member.value))
            }
        }
    }

    /// A key, shortened: the topic may be anything. The log escapes it.
    private static func shortened(_ key: String) -> String {
        String(String.UnicodeScalarView(key.unicodeScalars.prefix(129)))
    }
}
