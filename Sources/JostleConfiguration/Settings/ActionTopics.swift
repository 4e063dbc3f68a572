/// Which topics an action may not publish under: the device's own and the fleet's.
///
/// Other devices' topics are open to it: a shake here may tare the one there.
package struct ActionTopics: Equatable, Sendable {
    private let prefix: String
    private let id: String?

    /// Makes the rule of the device `id`, as far as that is known, under `prefix`.
    package init(prefix: String, id: String?) {
        self.prefix = prefix
        self.id = id
    }

    /// Whether a topic is the device's own or the fleet's, or a parent of these.
    package func forbid(_ topic: String) -> Bool {
        guard topic.hasPrefix("\(prefix)/") else { return false }
        let level = topic.dropFirst(prefix.count + 1).prefix { $0 != "/" }
        // No device has a name that begins so: the fleet's levels do.
        return level.hasPrefix("_") || id.map { level == $0 } ?? false
    }

    /// Whether a template would make such a topic of any event, as far as its text and the device's id tell.
    func forbid(_ template: Template) -> Bool {
        // A character that is in no id stands for what is not known yet.
        let unknown = "\u{1}"
        let topic = template.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(.device, _): id ?? unknown
            case .field: unknown + unknown
            }
        }.joined()
        return forbid(topic) || topic.hasPrefix("\(prefix)/\(unknown)/")
    }
}
