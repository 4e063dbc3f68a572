package import LinuxSystem

/// One problem in a document: its position, the value found and the values allowed.
package struct DocumentProblem: FailureConvertible, Equatable, Sendable, CustomStringConvertible {
    /// The position of the problem.
    package var position: DocumentPosition

    /// The key's path, `gestures.shake.cooldown`; empty if the text as a whole cannot be read.
    package var path: String

    /// The value found, as it was written; `nil` if it is irrelevant or does not belong in a log.
    package var found: String?

    /// What is wrong, phrased to follow the value found.
    package var reason: String

    /// The values allowed, with an example.
    package var allowed: String?

    /// `path` and `found` are escaped and shortened to fit into one line of a log.
    package init(
        at position: DocumentPosition, path: String = "", found: String? = nil, _ reason: String,
        allowed: String? = nil
    ) {
        self.position = position
        self.path = Self.shortenedPath(path)
        self.found = found.map { Self.shortened($0) }
        self.reason = reason
        self.allowed = allowed
    }

    /// The problem on one line: `jostle.yaml:7:9: sensor.rate: "fast" is not a frequency; allowed: 4 Hz … 1000 Hz`.
    package var description: String {
        var text = "\(Self.escaped("\(position)")): "
        // The position of an argument is already its key.
        if !path.isEmpty, position.source != .argument(path) { text += "\(path): " }
        if let found { text += "\"\(found)\" " }
        text += reason
        if let allowed { text += "; allowed: \(allowed)" }
        return text
    }

    /// A file or a message is malformed.
    package var failure: Failure { Failure(.badData, description) }

    /// The text in quotes, escaped and shortened for one line of a log.
    package static func quoted(_ text: String) -> String { "\"\(shortened(text))\"" }

    /// A key's path, escaped and shortened for one line of a log. Paths of known keys are not as long.
    package static func shortenedPath(_ path: String) -> String { shortened(path, limit: 128) }

    /// The text with control characters escaped, cut after `limit` characters: enough to recognise it in the file.
    private static func shortened(_ text: String, limit: Int = 60) -> String {
        let shown = text.unicodeScalars.prefix(limit)
        return escaped(String(shown)) + (shown.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }

    /// The text with all characters escaped that would break a line or are invisible.
    package static func escaped(_ text: String) -> String {
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

/// Why a value was refused, phrased to follow the value in a message.
package struct ValueRefusal: Error, Equatable {
    package var reason: String

    /// What to show instead of the value as it was written, because parts of it may be secret; `nil` shows the value.
    package var found: String?

    /// The position of the refused element of a list; `nil` if the value as a whole is refused.
    package var position: DocumentPosition?

    /// The problems of a list's elements, with paths relative to the list: `[0].publish.topic`. If there are any, they
    /// are reported instead of this refusal.
    package var inner: [DocumentProblem] = []

    package init(_ reason: String, found: String? = nil, at position: DocumentPosition? = nil) {
        self.reason = reason
        self.found = found
        self.position = position
    }
}
