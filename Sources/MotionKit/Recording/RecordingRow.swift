internal import Glibc
internal import MotionCore

/// The numbers of one row.
struct RowValues {
    var time = 0.0
    var timeText = ""
    var acceleration = Vector3.zero
    /// `nil` where the three fields are empty: an accelerometer alone.
    var rotationRate: Vector3?
    var temperature = Double.nan
}

/// What a line of a recording turned out to be.
enum Row {
    case skipped
    case values(RowValues)
    case wrong(String)

    private static let names = ["t_s", "ax", "ay", "az", "gx", "gy", "gz", "temp_c"]

    /// Reads the fields of a zero-terminated line.
    init(parsing text: UnsafeBufferPointer<CChar>, hasTemperature: Bool) {
        let expected = hasTemperature ? 8 : 7
        var values = RowValues()
        var rate = Vector3.zero
        var rates = 0
        var start = 0
        var column = 0
        while true {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: ",") { end += 1 }
            guard column < expected else {
                self = .wrong("more than \(expected) fields")
                return
            }
            switch Row.number(in: text, from: start, to: end) {
            case .wrong:
                let field = String(
                    decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[start..<end]), as: UTF8.self
                )
                self = .wrong("\(Row.names[column]) is \"\(field)\", not a finite number")
                return
            case .empty:
                guard column >= 4 else {
                    self = .wrong("\(Row.names[column]) is empty")
                    return
                }
            case .value(let value):
                switch column {
                case 0:
                    values.time = value
                    values.timeText = String(
                        decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[start..<end]),
                        as: UTF8.self)
                case 1...3: values.acceleration[column - 1] = value
                case 4...6:
                    rate[column - 4] = value
                    rates += 1
                default: values.temperature = value
                }
            }
            column += 1
            if end >= text.count { break }
            start = end + 1
        }
        guard column == expected else {
            self = .wrong("\(column) fields instead of \(expected)")
            return
        }
        guard rates == 0 || rates == 3 else {
            self = .wrong("gx, gy and gz have to be all there or all empty")
            return
        }
        values.rotationRate = rates == 3 ? rate : nil
        self = .values(values)
    }

    private enum Number {
        case value(Double)
        case empty
        case wrong
    }

    /// The number between two commas: strtod(3), and nothing but blanks around it.
    private static func number(in text: UnsafeBufferPointer<CChar>, from: Int, to: Int) -> Number {
        guard let base = text.baseAddress else { return .empty }
        var first = from
        while first < to, text[first] == UInt8(ascii: " ") { first += 1 }
        var last = to
        while last > first, text[last - 1] == UInt8(ascii: " ") { last -= 1 }
        guard last > first else { return .empty }
        // strtod also reads hexadecimal and names; a recording holds plain decimal numbers.
        for index in first..<last {
            switch UInt8(bitPattern: text[index]) {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                continue
            default:
                return .wrong
            }
        }
        var end: UnsafeMutablePointer<CChar>?
        let value = strtod(base + first, &end)
        guard let end, end == base + last, value.isFinite else { return .wrong }
        return .value(value)
    }
}
