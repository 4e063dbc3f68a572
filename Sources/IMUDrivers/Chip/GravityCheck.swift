#if !hasFeature(Embedded)
    internal import MotionCore

    /// A comparison of what an accelerometer measures at rest with gravity.
    package enum GravityCheck {
        /// The largest difference of an accelerometer that works, as a share of gravity: offset and scale that the data sheets
        /// allow. Those of the ADXL345 and ADXL375 allow larger offsets.
        private static func tolerance(of part: String) -> Double {
            switch part {
            case "ADXL345": 0.3
            case "ADXL375": 0.5
            default: 0.15
            }
        }

        /// The part that a chip probably is, and the family that drives it right.
        package struct Likely: Equatable, Sendable {
            package let part: String
            package let family: IMUFamily
        }

        /// What is wrong with the scale of an accelerometer.
        package struct Finding: Equatable, Sendable {
            /// What it measures at rest, m/s², and how many times gravity that is.
            package let length: Double
            package var factor: Double { length / standardGravity }
            /// The chip that has the same identity and the scale that was found, if there is one.
            package let likely: Likely?

            /// What that means and what to do about it, as one text.
            package var advice: String { "\(meaning.text). \(meaning.step)" }

            /// What that means, as half a sentence, and what to do about it.
            package var meaning: (text: String, step: String) {
                if let likely {
                    return (
                        "this is probably a chip \(likely.part), which has the identity of another one",
                        "Set sensor.driver: \(likely.family.name)"
                    )
                }
                let calibrate = "Run jostle calibrate accelerometer"
                switch factor {
                case 1.8..<2.2, 0.45..<0.55: return ("this is probably a copy with another scale", calibrate)
                case 0.6..<1.5: return ("its offset or scale is off", calibrate)
                default:
                    return (
                        "the chip is probably broken", "Run jostle scan --self-test: if the chip fails it, replace it"
                    )
                }
            }
        }

        /// What is wrong with a sensor that is driven as `part` and measures `length` m/s² at rest; `nil` if nothing is.
        package static func finding(driving part: String, atRest length: Double) -> Finding? {
            guard abs(length / standardGravity - 1) > tolerance(of: part) else { return nil }
            return Finding(length: length, likely: likelyPart(insteadOf: part, factor: length / standardGravity))
        }

        /// An LSM6DSO32 has twice the scale of an LSM6DSO. An ADXL375 has 12.5 times that of an ADXL345 and larger offsets;
        /// an ADXL345 at rest never reads as little as 0.2 g. The errors that a calibration removes are far smaller than the
        /// limits.
        private static func likelyPart(insteadOf part: String, factor: Double) -> Likely? {
            switch part {
            case "LSM6DSO" where factor > 0.4 && factor < 0.6: Likely(part: "LSM6DSO32", family: .lsm6dso32)
            case "LSM6DSO32" where factor > 1.7 && factor < 2.3: Likely(part: "LSM6DSO", family: .lsm6ds)
            case "ADXL345" where factor < 0.2: Likely(part: "ADXL375", family: .adxl375)
            case "ADXL375" where factor > 5: Likely(part: "ADXL345", family: .adxl345)
            default: nil
            }
        }
    }
#endif
