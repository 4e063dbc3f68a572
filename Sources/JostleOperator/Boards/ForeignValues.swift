internal import Documents
internal import LinuxSystem

/// The values of an untrusted message: bounded in length, finite, without control characters.
extension JSONValue {
    /// No message of an agent comes near these limits.
    private static let limits = ReaderLimits(bytes: BrokerView.maximumMessage, depth: 8, nodes: 2000)
    /// Nor a report of the configuration near these.
    private static let reportLimits = ReaderLimits(bytes: BrokerView.maximumMessage, nodes: 5000)

    /// The object that a message is.
    ///
    /// - Throws: if it is not a JSON object.
    static func foreignObject(_ payload: [UInt8], topic: String) throws(DocumentProblem) -> JSONValue {
        try JSONReader.readObject(
            payload, source: .message(topic), limits: topic == FleetModel.reported ? reportLimits : limits)
    }

    /// A number; `nil` if it is implausibly large.
    var foreignNumber: Double? { number.flatMap { abs($0) <= 1e15 ? $0 : nil } }

    /// The length of an array of numbers taken as a vector.
    var foreignLength: Double? {
        guard let elements, elements.count == 3 else { return nil }
        let numbers = elements.compactMap(\.number).filter { abs($0) <= 1e6 }
        return numbers.count == 3 ? numbers.reduce(0) { $0 + $1 * $1 }.squareRoot() : nil
    }

    /// A string.
    var foreignString: String? { string.map(ForeignText.bounded) }

    /// The text of a scalar.
    var foreignText: String? { text.map(ForeignText.bounded) }

    /// The first texts of a list.
    var foreignTexts: [String] { (elements ?? []).prefix(8).compactMap(\.foreignText) }

    /// The numbers among the first members of an object, by their keys.
    func foreignNumbers(atMost limit: Int) -> [String: Double] {
        var numbers: [String: Double] = [:]
        for member in (members ?? []).prefix(limit) {
            if let number = member.value.foreignNumber { numbers[ForeignText.bounded(member.name)] = number }
        }
        return numbers
    }

    /// The time of a report, milliseconds since 1970; `nil` if the device's clock was not set, or outside 1970 to 9999.
    var reportTime: Int64? { self["clock"]?.string == "unset" ? nil : self["t"]?.foreignTime }

    /// Milliseconds since 1970 if they lie between 1970 and the year 10000, else `nil`.
    var foreignTime: Int64? {
        foreignNumber.flatMap { (0..<253_402_300_800_000).contains($0) ? Int64($0) : nil }
    }
}

extension ForeignText {
    /// A text on one line, cut to 200 characters.
    static func bounded(_ text: String) -> String { excerpt(text, limit: 200) }
}
