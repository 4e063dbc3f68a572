internal import MotionCore

/// The text form of a calibration: a title with the version, lines of a key and its values, and an end line, whose absence
/// shows that the text is incomplete.
enum CalibrationText {
    static let title = "jostle calibration "
    static let version = "1"
    private static let end = "end"

    /// Why a text cannot be read.
    enum Failure: Error, Equatable {
        /// It has another version.
        case version(String)
        /// It is incomplete, or not a calibration.
        case damaged
    }

    static func written(_ calibration: StoredCalibration) -> String {
        let accelerometer = calibration.chip.accelerometer
        let gyroscope = calibration.chip.gyroscope
        var lines = [
            title + version,
            "# SI units along the sensor's axes; matrices row after row. true = matrix * (measured - offset)",
            "accelerometer-source \(oneLine(calibration.accelerometerSource))",
            "accelerometer-offset \(text(accelerometer.offset))",
            "accelerometer-matrix \(text(accelerometer.matrix))",
            "gyroscope-source \(oneLine(calibration.gyroscopeSource))",
            "gyroscope-bias \(text(gyroscope.bias))",
            "gyroscope-bias-slope \(text(gyroscope.biasSlope))",
            "gyroscope-temperature \(gyroscope.referenceTemperature)",
            "gyroscope-matrix \(text(gyroscope.matrix))",
        ]
        let line = calibration.biasLine
        if line.hasBias {
            lines += [
                "# The gyroscope's bias as estimated at rest",
                "learnt-temperature \(line.referenceTemperature)",
                "learnt-range \(line.lowestTemperature) \(line.highestTemperature)",
                "learnt-bias \(text(line.bias))",
                "learnt-slope \(text(line.slope))",
                "learnt-variances \(line.biasVariance) \(line.slopeVariance) \(line.covariance)",
            ]
        }
        if let learnt = calibration.learntScale {
            lines += [
                "# The gyroscope's remaining scale and misalignment after gyroscope-matrix, estimated during movement, as",
                "# ratios (0.01 is 1 %, off the diagonal 0.57 degrees), and the standard deviation of each",
                "learnt-scale \(text(learnt.scale))",
                "learnt-scale-deviation \(text(learnt.deviation))",
            ]
        }
        if let magnetometer = calibration.magnetometer {
            lines += magneticLines(magnetometer, source: calibration.magnetometerSource)
        }
        lines.append(end)
        return lines.joined(separator: "\n") + "\n"
    }

    static func read(_ text: String) throws(Failure) -> StoredCalibration {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first.hasPrefix(title) else { throw .damaged }
        let found = first.dropFirst(title.count)
        guard found == version else { throw .version(String(found.prefix(20))) }
        guard lines.count > 2, lines.removeLast().isEmpty, lines.removeLast() == end else { throw .damaged }
        var fields: [Substring: Substring] = [:]
        for line in lines.dropFirst() where !line.hasPrefix("#") {
            guard let space = line.firstIndex(of: " ") else { throw .damaged }
            guard fields.updateValue(line[line.index(after: space)...], forKey: line[..<space]) == nil else {
                throw .damaged
            }
        }
        return try calibration(Fields(values: fields))
    }

    private static func calibration(_ fields: Fields) throws(Failure) -> StoredCalibration {
        let accelerometer = AccelerometerCalibration(
            offset: try fields.vector("accelerometer-offset"), matrix: try fields.matrix("accelerometer-matrix"))
        let gyroscope = GyroscopeCalibration(
            bias: try fields.vector("gyroscope-bias"), biasSlope: try fields.vector("gyroscope-bias-slope"),
            referenceTemperature: try fields.numbers("gyroscope-temperature", count: 1)[0],
            matrix: try fields.matrix("gyroscope-matrix"))
        var line = BiasTemperatureLine()
        if fields.values["learnt-temperature"] != nil {
            let range = try fields.numbers("learnt-range", count: 2)
            let variances = try fields.numbers("learnt-variances", count: 3)
            line = BiasTemperatureLine(
                referenceTemperature: try fields.numbers("learnt-temperature", count: 1)[0],
                bias: try fields.vector("learnt-bias"), slope: try fields.vector("learnt-slope"),
                lowestTemperature: range[0], highestTemperature: range[1], biasVariance: variances[0],
                slopeVariance: variances[1], covariance: variances[2])
            guard line.hasBias else { throw .damaged }
        }
        return StoredCalibration(
            chip: ChipCalibration(accelerometer: accelerometer, gyroscope: gyroscope), biasLine: line,
            learntScale: try learntScale(fields), magnetometer: try magnetometer(fields),
            accelerometerSource: try fields.text("accelerometer-source"),
            gyroscopeSource: try fields.text("gyroscope-source"),
            magnetometerSource: fields.values["magnetometer-source"].map(String.init) ?? "")
    }

    /// The learnt scale; `nil` if there was none, or an earlier program that did not store it wrote the text.
    private static func learntScale(_ fields: Fields) throws(Failure) -> ScaleEstimate? {
        guard fields.values["learnt-scale"] != nil || fields.values["learnt-scale-deviation"] != nil else { return nil }
        let estimate = ScaleEstimate(
            scale: try fields.elements("learnt-scale"), deviation: try fields.elements("learnt-scale-deviation"))
        guard ScaleLearner.isPlausible(estimate) else { throw .damaged }
        return estimate
    }

    /// The values of a text by their keys.
    struct Fields {
        let values: [Substring: Substring]

        func text(_ key: Substring) throws(Failure) -> String {
            guard let value = values[key] else { throw .damaged }
            return String(value)
        }

        func numbers(_ key: Substring, count: Int) throws(Failure) -> [Double] {
            guard let value = values[key] else { throw .damaged }
            let fields = value.split(separator: " ", omittingEmptySubsequences: false)
            var numbers: [Double] = []
            for field in fields {
                guard let number = Double(field), number.isFinite else { throw .damaged }
                numbers.append(number)
            }
            guard numbers.count == count else { throw .damaged }
            return numbers
        }

        func vector(_ key: Substring) throws(Failure) -> Vector3 {
            let numbers = try numbers(key, count: 3)
            return Vector3(numbers[0], numbers[1], numbers[2])
        }

        func elements(_ key: Substring) throws(Failure) -> Matrix3 {
            let n = try numbers(key, count: 9)
            return Matrix3(Vector3(n[0], n[1], n[2]), Vector3(n[3], n[4], n[5]), Vector3(n[6], n[7], n[8]))
        }

        /// A calibration matrix. One that is far from the identity cannot belong to a chip.
        func matrix(_ key: Substring) throws(Failure) -> Matrix3 {
            let matrix = try elements(key)
            guard matrix.determinant > 0.3, matrix.determinant < 3 else { throw .damaged }
            return matrix
        }
    }

    static func text(_ vector: Vector3) -> String { "\(vector.x) \(vector.y) \(vector.z)" }

    static func text(_ matrix: Matrix3) -> String {
        "\(text(matrix.row0)) \(text(matrix.row1)) \(text(matrix.row2))"
    }

    /// The text as one line of limited length: programs may pass any text.
    static func oneLine(_ text: String) -> String {
        String(text.unicodeScalars.prefix(200).map { $0.value < 32 ? " " : Character($0) })
    }
}

// The part of a calibration's text about the magnetometer. It is left out if that is not calibrated; earlier programs, which
// wrote the same version, did not have it.
extension CalibrationText {
    private static let keys: [Substring] = [
        "magnetometer-source", "magnetometer-hard-iron", "magnetometer-matrix", "magnetometer-strength",
        "magnetometer-dip",
    ]

    /// The largest hard iron, µT. The largest range of the known parts is 4900 µT.
    private static let largestHardIron = 5000.0

    /// The largest strength of a field, µT. The earth's is up to 67 µT.
    private static let largestStrength = 1000.0

    static func magneticLines(_ calibration: MagneticCalibration, source: String) -> [String] {
        var lines = [
            "# The magnetometer, uT along the sensor's axes: true = matrix * (measured - hard iron)",
            "magnetometer-source \(oneLine(source))",
            "magnetometer-hard-iron \(text(calibration.hardIron))",
            "magnetometer-matrix \(text(calibration.softIron))",
        ]
        if let place = calibration.place {
            lines += [
                "# The field there: its strength, uT, and its angle below the horizontal, radians",
                "magnetometer-strength \(place.strength)",
                "magnetometer-dip \(place.dip)",
            ]
        }
        return lines
    }

    /// The errors of the magnetometer; `nil` if the text has none.
    static func magnetometer(_ fields: Fields) throws(Failure) -> MagneticCalibration? {
        guard keys.contains(where: { fields.values[$0] != nil }) else { return nil }
        _ = try fields.text("magnetometer-source")
        let hardIron = try fields.vector("magnetometer-hard-iron")
        guard hardIron.length <= largestHardIron else { throw .damaged }
        return MagneticCalibration(
            hardIron: hardIron, softIron: try fields.matrix("magnetometer-matrix"), place: try place(fields))
    }

    private static func place(_ fields: Fields) throws(Failure) -> MagneticFieldFigures? {
        guard fields.values["magnetometer-strength"] != nil || fields.values["magnetometer-dip"] != nil else {
            return nil
        }
        let strength = try fields.numbers("magnetometer-strength", count: 1)[0]
        let dip = try fields.numbers("magnetometer-dip", count: 1)[0]
        guard strength > 0, strength <= largestStrength, abs(dip) <= .pi / 2 else { throw .damaged }
        return MagneticFieldFigures(strength: strength, dip: dip)
    }
}
