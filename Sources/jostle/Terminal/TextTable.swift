internal import LinuxSystem

/// A table with columns as wide as their widest cell, two blanks apart.
struct TextTable {
    private let rows: [[String]]
    private let rightAligned: ClosedRange<Int>?

    /// Creates a table; the columns in `rightAligned` are aligned at the right. Without any, the last cell of a row may
    /// be longer than its column.
    init(_ rows: [[String]], rightAligned: ClosedRange<Int>? = nil) {
        self.rows = rows.map { $0.map(ForeignText.oneLine) }
        self.rightAligned = rightAligned
    }

    /// The table, one line per row.
    var description: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { row in
                let isOpen = rightAligned == nil && column == row.count - 1
                return row.indices.contains(column) && !isOpen ? row[column].count : 0
            }.max() ?? 0
        }
        var text = ""
        for row in rows {
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
                return rightAligned?.contains(column) == true ? padding + cell : cell + padding
            }
            var line = "  " + cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}
