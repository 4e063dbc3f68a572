internal import LinuxSystem

/// The fixed texts of a recording's header.
enum RecordingFormat {
    static let header = "t_s,ax,ay,az,gx,gy,gz"
    static let temperature = ",temp_c"
    static let field = ",mx,my,mz"
    static let accelerometerRange = "accelerometer_range_m_s2"
    static let gyroscopeRange = "gyroscope_range_rad_s"

    /// The largest values that a recording may contain, m/s², rad/s and µT: beyond every sensor, and small enough for the
    /// filter to square them.
    static let largestAcceleration = 1e5
    static let largestRotationRate = 1e4
    static let largestField = 1e5
}

/// The lines of a recording before its rows.
struct RecordingHeader {
    private(set) var accelerometerRange: Double?
    private(set) var gyroscopeRange: Double?
    private(set) var hasTemperature = false
    private(set) var hasField = false

    /// The number of lines in the header.
    private(set) var lines = 0

    /// Reads all lines up to and including the one that names the columns.
    init(reading reader: inout LineReader, path: String) throws(RecordingError) {
        while true {
            lines += 1
            switch reader.next({ String(decoding: UnsafeRawBufferPointer($0), as: UTF8.self) }) {
            case .failed(let failure):
                throw .system(path: path, failure)
            case .tooLong:
                throw .malformed(path: path, line: lines, reason: LineReader.tooLongReason)
            case .end:
                throw .malformed(path: path, line: lines, reason: "no header; expected \(RecordingFormat.header)")
            case .line(var text):
                // Some spreadsheets write a byte order mark.
                if lines == 1, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
                do throws(Malformed) {
                    if text.hasPrefix("#") {
                        try readComment(text)
                    } else if try readColumns(text) {
                        return
                    }
                } catch {
                    throw .malformed(path: path, line: lines, reason: error.reason)
                }
            }
        }
    }

    private struct Malformed: Error {
        var reason: String
    }

    /// Reads a range from a comment that states one, and ignores any other comment.
    private mutating func readComment(_ text: String) throws(Malformed) {
        let body = text.drop { $0 == "#" || $0 == " " }
        guard let colon = body.firstIndex(of: ":") else { return }
        let name = body[..<colon]
        guard name == RecordingFormat.accelerometerRange || name == RecordingFormat.gyroscopeRange else { return }
        let number = body[body.index(after: colon)...].drop { $0 == " " }.prefix { $0 != " " }
        guard let range = Double(number), range > 0, range.isFinite else {
            throw Malformed(reason: "\(name) is \"\(ForeignText.excerpt(String(number)))\", not a positive number")
        }
        let isAccelerometer = name == RecordingFormat.accelerometerRange
        let limit = isAccelerometer ? RecordingFormat.largestAcceleration : RecordingFormat.largestRotationRate
        guard range <= limit else { throw Malformed(reason: "\(name) is \(range), beyond \(Int(limit))") }
        if isAccelerometer { accelerometerRange = range } else { gyroscopeRange = range }
    }

    /// Checks the line that names the columns. Returns false for an empty line before it.
    private mutating func readColumns(_ text: String) throws(Malformed) -> Bool {
        let names = text.filter { $0 != " " }
        if names.isEmpty { return false }
        let withTemperature = RecordingFormat.header + RecordingFormat.temperature
        hasField = names == withTemperature + RecordingFormat.field
        hasTemperature = hasField || names == withTemperature
        guard hasTemperature || names == RecordingFormat.header else {
            throw Malformed(
                reason:
                    "the header is \"\(ForeignText.excerpt(text))\"; expected \(RecordingFormat.header) and optionally "
                    + "\(RecordingFormat.temperature), or \(RecordingFormat.temperature)\(RecordingFormat.field)")
        }
        return true
    }
}
