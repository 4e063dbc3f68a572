package import MotionCore

/// The magnetic field around a board, and what the board adds to it.
package struct MagneticSurroundings: Equatable, Sendable {
    /// The earth's field in the earth frame, whose x axis is the heading zero of a trajectory, µT. By default x points
    /// north: 20 µT north and 44 µT down, as in the middle of Europe.
    package var field = Vector3(20, 0, -44)

    /// The field of magnets on the board, along the board's axes, µT.
    package var hardIron = Vector3.zero

    /// What iron on the board makes of a field, along the board's axes.
    package var softIron = Matrix3.identity

    /// The default field, and a board without magnets and iron.
    package init() {}

    /// The field along the axes of a board with this attitude, µT.
    package func field(at attitude: Quaternion) -> Vector3 { softIron * attitude.unrotate(field) + hardIron }
}

/// The imperfections of a virtual magnetometer, in addition to quantisation and saturation.
package struct MagnetometerImperfections: Equatable, Sendable {
    /// Standard deviation of a reading on each axis, µT.
    package var noise = 0.0

    /// How much longer than nominal the period of the measurements is, parts per million.
    package var oscillatorError = 0.0

    /// The factory's sensitivity codes of an AK8963: a count is 1 + (code - 128) / 256 times 0.15 µT.
    package var sensitivityCodes: (x: UInt8, y: UInt8, z: UInt8) = (128, 128, 128)

    /// A magnetometer that measures exactly.
    package static var ideal: MagnetometerImperfections { MagnetometerImperfections() }

    /// A plausible magnetometer.
    package static var typical: MagnetometerImperfections {
        var it = MagnetometerImperfections()
        it.noise = 0.4
        it.oscillatorError = 15_000
        it.sensitivityCodes = (176, 179, 165)
        return it
    }

    package init() {}

    package static func == (a: MagnetometerImperfections, b: MagnetometerImperfections) -> Bool {
        a.noise == b.noise && a.oscillatorError == b.oscillatorError && a.sensitivityCodes == b.sensitivityCodes
    }
}
