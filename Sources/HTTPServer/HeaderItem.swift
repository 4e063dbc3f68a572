/// An item of a header that is a list, with its parameters: `gzip;q=0.8` (RFC 9110, section 12.4).
package struct HeaderItem: Equatable, Sendable {
    /// In lower case.
    package var value: String
    /// In lower case, without the quotes around a value: `version=1.0.0`.
    private var parameters: [String]

    /// The items of a header; none if it is absent.
    package static func list(_ header: String?) -> [HeaderItem] {
        header?.split(separator: ",").map(HeaderItem.init) ?? []
    }

    private init(_ text: Substring) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { part in
            part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
        }
        value = parts[0]
        parameters = Array(parts.dropFirst())
    }

    /// The value of a parameter.
    package func parameter(_ name: String) -> String? {
        parameters.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// How much the client wants it: 1 unless it says something else, 0 for not at all, and for what is no number.
    package var weight: Double { parameter("q").map { Double($0) ?? 0 } ?? 1 }
}
