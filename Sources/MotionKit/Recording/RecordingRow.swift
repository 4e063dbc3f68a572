internal import Glibc
internal import LinuxSystem
internal import MotionCore

/// The values of one row.
struct RowValues {
    var time = 0.0
    var timeText = ""
    var acceleration = Vector3.zero
    /// `nil` if the three fields are empty: the sensor has no gyroscope.
    var rotationRate: Vector3?
    var temperature = Double.nan
    /// µT; `nil` if the three fields are empty or there is no column: the magnetometer had no new reading.
    var field: Vector3?
}

/// A parsed line of a recording.
enum Row {
    case skipped
    case values(RowValues)
    /// The line is not a row of the format, and why.
    case malformed(String)

    private static let names = ["t_s", "ax", "ay", "az", "gx", "gy", "gz", "temp_c", "mx", "my", "mz"]

    /// The largest value of a column, with its unit. Times have to fit into 63 bits of nanoseconds.
    private static func limit(ofColumn column: Int) -> (value: Double, unit: String) {
        switch column {
        case 0: (9e9, "s")
        case 1...3: (RecordingFormat.largestAcceleration, "m/s²")
        case 4...6: (RecordingFormat.largestRotationRate, "rad/s")
        case 7: (10_000, "°C")
        default: (RecordingFormat.largestField, "µT")
        }
    }

    /// Parses a zero-terminated line.
    init(parsing text: UnsafeBufferPointer<CChar>, hasTemperature: Bool, hasField: Bool = false) {
        let expected = hasField ? 11 : hasTemperature ? 8 : 7
        var values = RowValues()
        var rate = Vector3.zero
        var rates = 0
        var field = Vector3.zero
        var fields = 0
        var start = 0
        var column = 0
        while true {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: ",") { end += 1 }
            guard column < expected else {
                self = .malformed("more than \(expected) fields")
                return
            }
            switch Row.number(in: text, from: start, to: end) {
            case .malformed:
                let field = ForeignText.excerpt(Row.string(text, start..<end))
                self = .malformed("\(Row.names[column]) is \"\(field)\", not a finite number")
                return
            case .empty:
                guard column >= 4 else {
                    self = .malformed("\(Row.names[column]) is empty")
                    return
                }
            case .value(let value):
                let limit = Row.limit(ofColumn: column)
                guard abs(value) <= limit.value else {
                    self = .malformed("\(Row.names[column]) is \(value), beyond \(Int(limit.value)) \(limit.unit)")
                    return
                }
                switch column {
                case 0:
                    values.time = value
                    values.timeText = Row.string(text, start..<end)
                case 1...3: values.acceleration[column - 1] = value
                case 4...6:
                    rate[column - 4] = value
                    rates += 1
                case 7: values.temperature = value
                default:
                    field[column - 8] = value
                    fields += 1
                }
            }
            column += 1
            if end >= text.count { break }
            start = end + 1
        }
        guard column == expected else {
            self = .malformed("\(column) fields instead of \(expected)")
            return
        }
        guard rates == 0 || rates == 3 else {
            self = .malformed("gx, gy and gz must be all present or all empty")
            return
        }
        guard fields == 0 || fields == 3 else {
            self = .malformed("mx, my and mz must be all present or all empty")
            return
        }
        values.rotationRate = rates == 3 ? rate : nil
        values.field = fields == 3 ? field : nil
        self = .values(values)
    }

    private static func string(_ text: UnsafeBufferPointer<CChar>, _ range: Range<Int>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[range]), as: UTF8.self)
    }

    private enum Number {
        case value(Double)
        case empty
        case malformed
    }

    /// Parses the number between two commas with strtod(3). Only spaces may surround it.
    private static func number(in text: UnsafeBufferPointer<CChar>, from: Int, to: Int) -> Number {
        guard let base = text.baseAddress else { return .empty }
        var first = from
        while first < to, text[first] == UInt8(ascii: " ") { first += 1 }
        var last = to
        while last > first, text[last - 1] == UInt8(ascii: " ") { last -= 1 }
        guard last > first else { return .empty }
        // strtod also accepts hexadecimal numbers, "inf" and "nan"; a recording may only contain decimal numbers.
        for index in first..<last {
            switch UInt8(bitPattern: text[index]) {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                continue
            default:
                return .malformed
            }
        }
        var end: UnsafeMutablePointer<CChar>?
        let value = strtod(base + first, &end)
        guard let end, end == base + last, value.isFinite else { return .malformed }
        return .value(value)
    }
}
