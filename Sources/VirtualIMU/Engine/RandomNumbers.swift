internal import Glibc
internal import MotionCore

/// A random number generator with the same sequence on every machine: SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
///
/// A separate generator for every sample of a chip makes its noise depend on the seed and the sample's index only.
struct RandomNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// The generator `stream` of a seed.
    init(seed: UInt64, stream: UInt64) {
        var mixer = RandomNumbers(seed: seed)
        // An odd multiplier other than the generator's own increment; otherwise neighbouring streams would overlap.
        state = mixer.next() ^ (stream &* 0xD134_2543_DE82_EF95)
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A uniformly distributed number from -1 to just below 1.
    mutating func symmetric() -> Double { Double(Int64(bitPattern: next()) >> 11) * 0x1p-52 }

    /// Two independent normal numbers with mean 0 and variance 1 (Marsaglia's polar method, which is exact).
    mutating func normalPair() -> (Double, Double) {
        while true {
            let u = symmetric()
            let v = symmetric()
            let s = u * u + v * v
            guard s > 0, s < 1 else { continue }
            let k = (-2 * log(s) / s).squareRoot()
            return (u * k, v * k)
        }
    }

    /// Six normal numbers, for the axes of an accelerometer and a gyroscope.
    mutating func normalVectors() -> (Vector3, Vector3) {
        let (a, b) = normalPair()
        let (c, d) = normalPair()
        let (e, f) = normalPair()
        return (Vector3(a, b, c), Vector3(d, e, f))
    }
}
