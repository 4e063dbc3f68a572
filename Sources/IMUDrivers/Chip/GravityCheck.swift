#if !hasFeature(Embedded)
    internal import MotionCore

    /// A comparison of gravity, as an accelerometer at rest measures it, with that of a chip that has the same identity but
    /// another scale.
    package enum GravityCheck {
        /// The part that a chip probably is, and the family that drives it right.
        package struct Likely: Equatable, Sendable {
            package let part: String
            package let family: IMUFamily
        }

        /// The likely part, if a sensor driven as `part` measures `length` m/s² at rest; `nil` if the length does not suggest
        /// another one.
        ///
        /// An LSM6DSO32 has twice the scale of an LSM6DSO. An ADXL375 has 12.5 times that of an ADXL345 and larger offsets;
        /// an ADXL345 at rest never reads as little as 0.2 g. The errors that a calibration removes are far smaller than the
        /// limits.
        package static func likelyPart(insteadOf part: String, atRest length: Double) -> Likely? {
            let gravities = length / standardGravity
            switch part {
            case "LSM6DSO" where gravities > 0.4 && gravities < 0.6:
                return Likely(part: "LSM6DSO32", family: .lsm6dso32)
            case "LSM6DSO32" where gravities > 1.7 && gravities < 2.3:
                return Likely(part: "LSM6DSO", family: .lsm6ds)
            case "ADXL345" where gravities < 0.2: return Likely(part: "ADXL375", family: .adxl375)
            case "ADXL375" where gravities > 5: return Likely(part: "ADXL345", family: .adxl345)
            default: return nil
            }
        }
    }
#endif
