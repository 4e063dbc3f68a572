internal import Glibc
internal import LinuxSystem
internal import MotionCore

/// The values of one row.
struct RowValues {
    private(set) var time = 0.0
    private(set) var timeText = ""
    private(set) var acceleration = Vector3.zero
    /// `nil` if the three fields are empty: the sensor has no gyroscope.
    private(set) var rotationRate: Vector3?
    private(set) var temperature = Double.nan
    /// µT; `nil` if the three fields are empty or there is no column: the magnetometer had no new reading.
    private(set) var field: Vector3?

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
    init(
        parsing text: UnsafeBufferPointer<CChar>, hasTemperature: Bool, hasField: Bool = false
    ) throws(MalformedLine) {
        let expected = hasField ? 11 : hasTemperature ? 8 : 7
        var rate = Vector3.zero
        var rates = 0
        var field = Vector3.zero
        var fields = 0
        var start = 0
        var column = 0
        while true {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: ",") { end += 1 }
            guard column < expected else { throw MalformedLine("more than \(expected) fields") }
            let name = RowValues.names[column]
            if let value = try RowValues.number(in: text, start..<end, name) {
                let limit = RowValues.limit(ofColumn: column)
                guard abs(value) <= limit.value else {
                    throw MalformedLine("\(name) is \(value), beyond \(Int(limit.value)) \(limit.unit)")
                }
                switch column {
                case 0:
                    time = value
                    timeText = RowValues.string(text, start..<end)
                case 1...3: acceleration[column - 1] = value
                case 4...6:
                    rate[column - 4] = value
                    rates += 1
                case 7: temperature = value
                default:
                    field[column - 8] = value
                    fields += 1
                }
            } else if column < 4 {
                throw MalformedLine("\(name) is empty")
            }
            column += 1
            if end >= text.count { break }
            start = end + 1
        }
        guard column == expected else { throw MalformedLine("\(column) fields instead of \(expected)") }
        guard rates == 0 || rates == 3 else { throw MalformedLine("gx, gy and gz must be all present or all empty") }
        guard fields == 0 || fields == 3 else { throw MalformedLine("mx, my and mz must be all present or all empty") }
        if rates == 3 { rotationRate = rate }
        if fields == 3 { self.field = field }
    }

    private static func string(_ text: UnsafeBufferPointer<CChar>, _ range: Range<Int>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[range]), as: UTF8.self)
    }

    /// Parses the number between two commas with strtod(3); `nil` if there is none. Only spaces may surround it.
    private static func number(
        in text: UnsafeBufferPointer<CChar>, _ range: Range<Int>, _ name: String
    ) throws(MalformedLine) -> Double? {
        guard let base = text.baseAddress else { return nil }
        var (first, last) = (range.lowerBound, range.upperBound)
        while first < last, text[first] == UInt8(ascii: " ") { first += 1 }
        while last > first, text[last - 1] == UInt8(ascii: " ") { last -= 1 }
        guard last > first else { return nil }
        // strtod also accepts hexadecimal numbers, "inf" and "nan"; a recording may only contain decimal numbers.
        let isDecimal = text[first..<last].allSatisfy { character in
            switch UInt8(bitPattern: character) {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        }
        var end: UnsafeMutablePointer<CChar>?
        let value = isDecimal ? strtod(base + first, &end) : .nan
        guard isDecimal, let end, end == base + last, value.isFinite else {
            throw MalformedLine("\(name) is \"\(ForeignText.excerpt(string(text, range)))\", not a finite number")
        }
        return value
    }
}
