internal import LinuxSystem

/// One thing that is wrong with a configuration: where it stands, what was found and what is allowed.
package struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where it stands.
    package var position: ConfigurationPosition

    /// The key's path, `gestures.shake.cooldown`; empty where the text as a whole cannot be read.
    package var path: String

    /// What was found there, as it was written; `nil` where it says nothing or does not belong in a log.
    package var found: String?

    /// What is wrong, in words that can follow the value found.
    package var reason: String

    /// What may stand there, with an example.
    package var allowed: String?

    /// Makes a problem; `found` is made fit for one line of a log.
    package init(
        at position: ConfigurationPosition, path: String = "", found: String? = nil, _ reason: String,
        allowed: String? = nil
    ) {
        self.position = position
        self.path = path
        self.found = found.map(Self.shortened)
        self.reason = reason
        self.allowed = allowed
    }

    /// The problem in one line: `jostle.yaml:7:9: sensor.rate: "fast" is not a frequency; allowed: 4 Hz … 1000 Hz`.
    package var description: String {
        var text = "\(Self.escaped("\(position)")): "
        // An argument already says its key.
        if !path.isEmpty, position.source != .argument(path) { text += "\(path): " }
        if let found { text += "\"\(found)\" " }
        text += reason
        if let allowed { text += "; allowed: \(allowed)" }
        return text
    }

    /// The text in quotes, fit for one line of a log.
    static func quoted(_ text: String) -> String { "\"\(shortened(text))\"" }

    /// The text with control characters escaped, cut after 60 characters: who wrote it will know the rest.
    private static func shortened(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(60)
        return escaped(String(shown)) + (shown.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }

    /// The text with characters escaped that would break a line or hide something.
    static func escaped(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            if ForeignText.isControl(scalar) || scalar.properties.generalCategory == .format {
                line += scalar.escaped(asASCII: true)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }
}
