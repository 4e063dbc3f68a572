internal import CMotionMath

extension MagneticFieldFigures {
    /// Whether a field along horizontal axes and up has this strength and dip within `tolerance` µT.
    func matches(_ field: Vector3, within tolerance: Double) -> Bool {
        field.differenceInStrengthAndDip(from: Vector3(strength * cos(dip), 0, -strength * sin(dip))) < tolerance
    }
}

extension Vector3 {
    /// How far two fields along horizontal axes and up differ, whatever their directions along the horizon.
    func differenceInStrengthAndDip(from other: Vector3) -> Double {
        Vector3(Vector3(x, y, 0).length - Vector3(other.x, other.y, 0).length, 0, z - other.z).length
    }
}

/// Sums of the readings of a block.
struct HeadingBlock: BitwiseCopyable {
    var count = 0.0
    /// Seconds.
    var duration = 0.0
    /// Of the field and of the angular rate in the six-axis frame, and of the matrices from the body into it.
    private var fields = Vector3.zero
    private var rates = Vector3.zero
    private var rotations = Matrix3(.zero, .zero, .zero)
    /// Angle turned, rad, and what of it may be missing, rad².
    var path = 0.0
    var lostVariance = 0.0

    mutating func add(_ field: Vector3, attitude: Quaternion, rate: Vector3, interval: Double) {
        count += 1
        duration += interval
        fields += attitude.rotate(field)
        rates += attitude.rotate(rate)
        rotations = rotations + attitude.matrix
    }

    var field: Vector3 { fields * (1 / count) }
    var rate: Vector3 { rates * (1 / count) }
    var rotation: Matrix3 { (1 / count) * rotations }
}

/// The usual field while another one is used.
struct KeptField: BitwiseCopyable {
    /// The errors when the disturbance was noticed. Heading and drift do not count.
    private(set) var errors = HeadingVector.zero
    /// The variances of heading and drift relative to the usual field at that time.
    private(set) var offsetVariance = 0.0
    private(set) var driftVariance = 0.0
    /// The field since, low-passed, in the frame of the heading, µT.
    private(set) var field = Vector3.zero
    private var hasField = false
    /// Seconds for which it has been like the usual one, and like it from another side, and the angle turned meanwhile, rad.
    var matchTime = 0.0
    var farTime = 0.0
    var farPath = 0.0

    init() {}

    init(errors: HeadingVector, offsetVariance: Double, driftVariance: Double) {
        self.errors = errors
        self.offsetVariance = offsetVariance
        self.driftVariance = driftVariance
    }

    mutating func take(_ measured: Vector3, share: Double) {
        field = hasField ? field + share * (measured - field) : measured
        hasField = true
    }
}

/// The errors ten to twenty seconds ago.
struct HeadingHistory: BitwiseCopyable {
    private var newer: HeadingVector
    private var older: HeadingVector
    /// Corrections of the heading since `newer`, and between `older` and `newer`, rad.
    private var newerCorrection = 0.0
    private var olderCorrection = 0.0
    private var age = 0.0

    init(_ errors: HeadingVector = .zero) {
        newer = errors
        older = errors
    }

    /// Records a correction of the heading.
    mutating func note(_ correction: Double) { newerCorrection += correction }

    /// Records the errors every `seconds`.
    mutating func advance(_ duration: Double, _ errors: HeadingVector, keeping seconds: Double) {
        age += duration
        guard age > seconds else { return }
        age = 0
        older = newer
        newer = errors
        olderCorrection = newerCorrection
        newerCorrection = 0
    }

    /// Takes the corrections since then back.
    func undo(_ errors: inout HeadingVector) {
        let offset = errors[HeadingError.offset] - newerCorrection - olderCorrection
        errors = older
        errors[HeadingError.offset] = offset
    }
}
