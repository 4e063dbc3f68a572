internal import LinuxSystem

/// What was done when in a recording: the file `NAME.labels.csv` beside `NAME.csv`, a CSV file with the columns
/// `start_s,end_s,label`. A label is a gesture that was made, such as `shake`; `not shake` if it was none; `everyday` for
/// movements that are no gesture; or any other text.
package struct RecordingLabels: Equatable, Sendable {
    /// One label, and the times of the recording between which it holds, s.
    package struct Row: Equatable, Sendable {
        package var start: Double
        package var end: Double
        package var label: String

        package init(start: Double, end: Double, label: String) {
            self.start = start
            self.end = end
            self.label = label
        }
    }

    package var rows: [Row]

    package init(_ rows: [Row]) {
        self.rows = rows
    }

    /// The label of ordinary movements.
    package static let everyday = "everyday"
    /// What precedes a gesture that was not made.
    package static let negation = "not "
    /// The longest label, bytes.
    package static let longestLabel = 64
    /// The longest file, bytes.
    private static let longestFile = 65_536
    private static let header = "start_s,end_s,label"
    static let suffix = ".labels.csv"

    /// What a label must be; for a message.
    package static let allowedLabels =
        "a gesture, \"not\" and a gesture, or another text of 1 to \(longestLabel) bytes without control characters, commas and quotes"

    /// Whether a text can be a label.
    package static func isLabel(_ text: String) -> Bool {
        (1...longestLabel).contains(text.utf8.count) && text.first != " " && text.last != " "
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: scalar != "," && scalar != "\""
                }
            }
    }

    /// The file of the labels of a recording.
    package static func path(ofRecording path: String) -> String {
        (path.hasSuffix(".csv") ? String(path.dropLast(4)) : path) + suffix
    }

    /// The text of the file.
    package var text: String {
        "\(RecordingLabels.header)\n"
            + rows.map { "\(RecordingLabels.time($0.start)),\(RecordingLabels.time($0.end)),\($0.label)\n" }.joined()
    }

    /// A time to the millisecond, without zeros at the end.
    private static func time(_ seconds: Double) -> String {
        var text = fixed(seconds, decimals: 3)[...]
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return String(text)
    }

    /// Parses the text of a file.
    package init(parsing text: String, path: String) throws(RecordingError) {
        rows = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard index > 0 else {
                guard line == RecordingLabels.header else {
                    throw .malformed(path: path, line: 1, reason: "the header is not \(RecordingLabels.header)")
                }
                continue
            }
            if line.isEmpty { continue }
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            guard fields.count == 3, let start = Double(fields[0]), let end = Double(fields[1]), start.isFinite,
                end.isFinite, start <= end, RecordingLabels.isLabel(String(fields[2]))
            else {
                throw .malformed(path: path, line: index + 1, reason: "it is not a start, a later end and a label")
            }
            rows.append(Row(start: start, end: end, label: String(fields[2])))
        }
    }

    /// Reads the labels of a recording; none if it has no file of them.
    package init(ofRecording recording: String) throws(RecordingError) {
        let path = RecordingLabels.path(ofRecording: recording)
        let text: String
        do {
            text = try FileContents.text(of: path, limit: RecordingLabels.longestFile)
        } catch {
            guard error.isMissing else { throw .system(path: path, error) }
            self.init([])
            return
        }
        try self.init(parsing: text, path: path)
    }
}
