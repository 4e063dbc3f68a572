/// A row of the history: something that a board did, or that is known of it from then on.
struct HistoryRow: Equatable, Sendable {
    enum Kind: String, Sendable {
        /// A phase of a gesture; the content is the board's message.
        case gesture
        /// What a board says of itself, all of it, because something changed: `HistoryRecorder.Condition`.
        case board
        /// Levels, at most one a minute, each held until the next: vibration in mm/s², tilt in degrees, then minutes since
        /// the last one, vibration, tilt, and so on.
        case levels
        /// Whether the page records from then on.
        case recording
        /// All rows of the board go that came before. It is never in the file.
        case erasure
    }

    /// In place of a board's id, for what is of all boards: no device can be named so.
    static let allBoards = "_page"

    /// The largest message of a gesture that is kept, bytes. An agent sends no larger one.
    static let largestContent = 2048

    var board: String
    /// Milliseconds since 1970.
    var time: Int64
    var kind: Kind
    /// What no two rows of a board may share: the id of an event.
    var id: String?
    /// A JSON value.
    var content: [UInt8]

    /// About how many bytes it has in memory and on the disk.
    var size: Int { content.count + 100 }

    /// The row for a page.
    static func json(time: Int64, kind: String, content: [UInt8]) -> [UInt8] {
        Array("{\"t\":\(time),\"kind\":\"\(kind)\",\"data\":".utf8) + content + [UInt8(ascii: "}")]
    }
}
