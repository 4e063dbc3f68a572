internal import LinuxSystem
package import MotionCore

/// The values that an attribute accepts, according to its `…_available`.
enum IIOAvailable: Equatable, Sendable {
    /// A list of values, as the kernel writes them.
    case values([String])
    /// `[minimum step maximum]`.
    case range(minimum: Double, step: Double, maximum: Double)

    init?(_ text: String) {
        let isRange = text.hasPrefix("[") && text.hasSuffix("]")
        let words = text.split { $0 == " " || $0 == "[" || $0 == "]" }.map(String.init)
        guard !words.isEmpty, words.allSatisfy({ Double($0) != nil }) else { return nil }
        if isRange {
            guard words.count == 3, let minimum = Double(words[0]), let step = Double(words[1]),
                let maximum = Double(words[2]), step > 0, maximum >= minimum
            else { return nil }
            self = .range(minimum: minimum, step: step, maximum: maximum)
        } else {
            self = .values(words)
        }
    }

    /// The smallest value that is at least `wanted`, less a relative `tolerance`; the largest value if none is.
    func text(atLeast wanted: Double, tolerance: Double) -> String {
        let enough = wanted * (1 - tolerance)
        switch self {
        case .values(let texts):
            let values = texts.map { (text: $0, value: Double($0) ?? 0) }
            let best = values.filter { $0.value >= enough }.min { $0.value < $1.value }
            return (best ?? values.max { $0.value < $1.value })?.text ?? "0"
        case .range(let minimum, let step, let maximum):
            let steps = max(0, ((enough - minimum) / step).rounded(.up))
            return IIOAvailable.text(min(maximum, minimum + steps * step))
        }
    }

    /// Formats a number for drivers. Many reject a decimal point in a whole number.
    static func text(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e9 ? "\(Int(value))" : "\(value)"
    }
}

extension IIODevice {
    /// The first line of an attribute; `nil` if it cannot be read.
    func text(_ attribute: String) -> String? {
        guard let content = FileContents.text(ofOptional: "\(path)/\(attribute)", limit: 4096) else { return nil }
        let line = content.prefix { $0 != "\n" }
        return line.isEmpty ? nil : String(line)
    }

    /// The number in an attribute; `nil` if it cannot be read or is not a number.
    func number(_ attribute: String) -> Double? { text(attribute).flatMap { Double($0) } }

    /// The first of these attributes that exists.
    func first(of attributes: [String]) -> String? { attributes.first { text($0) != nil } }

    /// An attribute of one axis, or the attribute shared by all axes: `in_accel_x_scale`, `in_accel_scale`.
    func number(of quantity: IIOQuantity, axis: String, _ kind: String) -> Double? {
        number("\(quantity.rawValue)_\(axis)_\(kind)") ?? number("\(quantity.rawValue)_\(kind)")
    }

    /// The attribute that sets a quantity's sample rate; `nil` if the driver has none.
    func rateAttribute(of quantity: IIOQuantity) -> String? {
        first(of: ["\(quantity.rawValue)_sampling_frequency", "sampling_frequency"])
    }

    /// The values that an attribute accepts; `nil` if the driver does not list them.
    func available(_ attribute: String) -> IIOAvailable? { text("\(attribute)_available").flatMap { IIOAvailable($0) } }

    /// The matrix that rotates a quantity's axes to the board's, from the device tree or the firmware
    /// (Documentation/ABI/testing/sysfs-bus-iio, `mount_matrix`); `nil` if there is none, or it is not a rotation.
    package func mountMatrix(of quantity: IIOQuantity) -> Matrix3? {
        guard let text = mountMatrixText(of: quantity) else { return nil }
        let rows = text.split(separator: ";").map { row in
            row.split { $0 == "," || $0 == " " }.compactMap { Double($0) }
        }
        guard rows.count == 3, rows.allSatisfy({ $0.count == 3 }) else { return nil }
        let vectors = rows.map { Vector3($0[0], $0[1], $0[2]) }
        let matrix = Matrix3(vectors[0], vectors[1], vectors[2])
        return matrix.orthonormalityError <= 1e-3 && matrix.determinant > 0 ? matrix : nil
    }

    /// The matrix as the kernel reports it, valid or not; `nil` if there is none.
    package func mountMatrixText(of quantity: IIOQuantity) -> String? {
        let names = ["\(quantity.rawValue)_mount_matrix", "in_mount_matrix", "mount_matrix"]
        return first(of: names).flatMap { text($0) }
    }
}
