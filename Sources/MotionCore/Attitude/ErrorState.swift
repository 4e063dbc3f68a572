/// The errors that the filter estimates, and their indices in the covariance and in a correction.
///
/// Twenty numbers in five groups of four. A group is one SIMD vector:
///
///     0…3    θx θy θz δ       attitude (earth frame, rad); the accelerometer's delay behind the gyroscope (s)
///     4…7    K00 K01 K02 bx   gyroscope scale and misalignment, row 0 (ratio); bias x (rad/s)
///     8…11   K10 K11 K12 by   the same of row 1 and y
///     12…15  K20 K21 K22 bz   the same of row 2 and z
///     16…19  vx vy px py      horizontal velocity (m/s) and position (m), earth frame
///
/// With this order, a group of calibration states lines up with the four sums that the block's Jacobian holds for it.
enum ErrorState {
    static var count: Int { 20 }
    static var groups: Int { 5 }

    static var heading: Int { 2 }
    static var delay: Int { 3 }
    static var velocity: Int { 16 }
    static var position: Int { 18 }

    /// The attitude error about an earth axis.
    static func attitude(_ axis: Int) -> Int { axis }
    /// The gyroscope's bias along a body axis.
    static func bias(_ axis: Int) -> Int { 7 + 4 * axis }
    /// The part of rate `from` that appears in rate `to`, beyond the identity.
    static func scale(_ to: Int, _ from: Int) -> Int { 4 + 4 * to + from }
}

/// One number for each error state.
struct ErrorVector: Sendable, BitwiseCopyable {
    var attitudeAndDelay = SIMD4<Float>.zero
    var calibration0 = SIMD4<Float>.zero
    var calibration1 = SIMD4<Float>.zero
    var calibration2 = SIMD4<Float>.zero
    var motion = SIMD4<Float>.zero

    @inline(__always)
    static func * (a: ErrorVector, k: Float) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay * k, calibration0: a.calibration0 * k,
            calibration1: a.calibration1 * k, calibration2: a.calibration2 * k, motion: a.motion * k)
    }

    @inline(__always)
    static func + (a: ErrorVector, b: ErrorVector) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay + b.attitudeAndDelay, calibration0: a.calibration0 + b.calibration0,
            calibration1: a.calibration1 + b.calibration1, calibration2: a.calibration2 + b.calibration2,
            motion: a.motion + b.motion)
    }

    @inline(__always)
    static func - (a: ErrorVector, b: ErrorVector) -> ErrorVector {
        ErrorVector(
            attitudeAndDelay: a.attitudeAndDelay - b.attitudeAndDelay, calibration0: a.calibration0 - b.calibration0,
            calibration1: a.calibration1 - b.calibration1, calibration2: a.calibration2 - b.calibration2,
            motion: a.motion - b.motion)
    }

    /// The vector with heading and calibration set to zero.
    @inline(__always)
    var withoutCalibration: ErrorVector {
        var rest = ErrorVector()
        rest.attitudeAndDelay = SIMD4(attitudeAndDelay.x, attitudeAndDelay.y, 0, 0)
        rest.motion = motion
        return rest
    }

    /// The element of a state. Too slow for the inner loops.
    subscript(state: Int) -> Float {
        switch state >> 2 {
        case 0: attitudeAndDelay[state & 3]
        case 1: calibration0[state & 3]
        case 2: calibration1[state & 3]
        case 3: calibration2[state & 3]
        default: motion[state & 3]
        }
    }
}
