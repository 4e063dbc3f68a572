internal import MotionCore

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
