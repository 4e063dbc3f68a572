import Foundation
import MotionCore

/// Readings of a magnetometer on a board that is turned by hand, with the six-axis attitude.
struct MagneticRig {
    /// A movement: the board is tilted in all directions by up to an angle while it points everywhere, or turned through all
    /// attitudes.
    enum Movement: Equatable {
        case everywhere
        case tilting(degrees: Double)
    }

    struct Reading {
        var field: Vector3
        var attitude: Quaternion
    }

    /// The field, µT: 48 µT with a dip of 66°, north along y.
    var place = MagneticFieldFigures(strength: 48, dip: 66 * radiansPerDegree)
    /// Soft iron: the reading is `shape` · field + hardIron.
    let shape: Matrix3
    let hardIron: Vector3
    /// Noise, µT.
    var noise = 0.5
    /// By how much the heading of the attitude drifts in all, rad.
    var drift = 0.0
    private var random: GaussianNumbers

    /// A board with soft iron of 10 % and hard iron of 30 µT in random directions.
    init(seed: UInt64, softIron: Double = 0.1, hardIron: Double = 30) {
        var random = GaussianNumbers(seed: seed)
        let (a, b, c) = (random.vector(), random.vector(), random.vector())
        let symmetric = [a.x, b.y, c.z, (a.y + b.x) / 2, (a.z + c.x) / 2, (b.z + c.y) / 2]
        let k = softIron / (symmetric.map(abs).max() ?? 1)
        shape = Matrix3(
            Vector3(1 + k * symmetric[0], k * symmetric[3], k * symmetric[4]),
            Vector3(k * symmetric[3], 1 + k * symmetric[1], k * symmetric[5]),
            Vector3(k * symmetric[4], k * symmetric[5], 1 + k * symmetric[2]))
        self.hardIron = hardIron * (random.vector().normalized ?? Vector3(1, 0, 0))
        self.random = random
    }

    var field: Vector3 { Vector3(0, place.strength * cos(place.dip), -place.strength * sin(place.dip)) }

    /// The reading, without noise, of a field along the body's axes.
    func reading(of field: Vector3) -> Vector3 { shape * field + hardIron }

    mutating func readings(_ movement: Movement, _ count: Int) -> [Reading] {
        (0..<count).map { index in
            let attitude = attitude(movement)
            let field = reading(of: attitude.unrotate(self.field)) + noise * random.vector()
            let turned = Quaternion(angle: drift * Double(index) / Double(count), axis: Vector3(0, 0, 1)) * attitude
            return Reading(field: field, attitude: turned)
        }
    }

    private mutating func attitude(_ movement: Movement) -> Quaternion {
        switch movement {
        case .everywhere:
            return Quaternion(random.next(), random.next(), random.next(), random.next()).normalized
        case .tilting(let degrees):
            let tilt = random.uniform().squareRoot() * degrees * radiansPerDegree
            let direction = 2 * .pi * random.uniform()
            let yaw = Quaternion(angle: 2 * .pi * random.uniform(), axis: Vector3(0, 0, 1))
            return yaw * Quaternion(angle: tilt, axis: Vector3(cos(direction), sin(direction), 0))
        }
    }

    /// The largest error of the corrected field in 200 directions, µT, apart from the scale, which no heading depends on.
    func largestError(_ calibration: MagneticCalibration) -> Double {
        guard let found = calibration.place?.strength else { return .infinity }
        return (0..<200).map { index in
            let z = 1 - (2 * Double(index) + 1) / 200
            let angle = .pi * (1 + 5.0.squareRoot()) * Double(index)
            let across = (1 - z * z).squareRoot()
            let field = place.strength * Vector3(across * cos(angle), across * sin(angle), z)
            return (place.strength / found * calibration.apply(reading(of: field)) - field).length
        }.max() ?? 0
    }
}

/// Numbers of a normal distribution, always the same for a seed.
struct GaussianNumbers {
    private var state: UInt64

    init(seed: UInt64) { self.init(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1) }

    init(state: UInt64) { self.state = state }

    /// Between 0 and 1, exclusive (SplitMix64).
    mutating func uniform() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return (Double((z ^ (z >> 31)) >> 11) + 0.5) / 9_007_199_254_740_992
    }

    mutating func next() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }

    mutating func vector() -> Vector3 { Vector3(next(), next(), next()) }
}

extension MagneticFit {
    /// The fit to these readings. The last one stays open, because nothing follows it.
    init(_ readings: [MagneticRig.Reading]) {
        self.init()
        for reading in readings { add(reading.field, attitude: reading.attitude) }
    }
}
