/// The topics on which an action must not publish: the device's own and the fleet's.
///
/// Other devices' topics are allowed: a shake here may tare a device elsewhere.
package struct ActionTopics: Equatable, Sendable {
    private let prefix: String
    private let id: String?

    /// Creates the rule for the device `id` under `prefix`; `id` is `nil` if it is not known yet.
    package init(prefix: String, id: String?) {
        self.prefix = prefix
        self.id = id
    }

    /// Whether a topic belongs to the device or the fleet, or is a parent of such a topic.
    package func isReserved(_ topic: String) -> Bool {
        guard topic.hasPrefix("\(prefix)/") else { return false }
        let level = topic.dropFirst(prefix.count + 1).prefix { $0 != "/" }
        // Fleet topics begin with an underscore; device ids never do.
        return level.hasPrefix("_") || id.map { level == $0 } ?? false
    }

    /// Whether a template could produce a reserved topic, as far as its text and the device's id decide that.
    func isReserved(_ template: Template) -> Bool {
        // Unknown parts are replaced by a character that no id contains.
        let unknown = "\u{1}"
        let topic = template.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(.device, _): id ?? unknown
            case .field: unknown + unknown
            }
        }.joined()
        return isReserved(topic) || topic.hasPrefix("\(prefix)/\(unknown)/")
    }
}
