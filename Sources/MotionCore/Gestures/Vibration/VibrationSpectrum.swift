internal import CMotionMath

/// The power spectrum of a window of acceleration, summed over the three axes.
///
/// The axes are transformed side by side in the lanes of a SIMD vector. A window of N real values is treated as N/2
/// complex ones, transformed by decimation in time, and separated again (Press et al., Numerical Recipes, 12.3).
struct VibrationSpectrum: ~Copyable {
    /// The longest window.
    static let capacity = 512

    private let work: UnsafeMutablePointer<SIMD4<Float>>
    /// cos and sin of 2πk/512 in the first half turn.
    private let cosines: UnsafeMutablePointer<Float>
    private let sines: UnsafeMutablePointer<Float>

    /// The power in each bin, m²/s⁴, up to half the window's length; the frequency of bin k is k times the sample rate
    /// over the length. The sum is the mean square of the acceleration without its mean.
    let power: UnsafeMutablePointer<Float>

    init() {
        let half = VibrationSpectrum.capacity / 2
        work = .allocate(capacity: VibrationSpectrum.capacity)
        work.initialize(repeating: .zero, count: VibrationSpectrum.capacity)
        cosines = .allocate(capacity: half)
        sines = .allocate(capacity: half)
        power = .allocate(capacity: half)
        power.initialize(repeating: 0, count: half)
        for k in 0..<half {
            let angle = .pi * Double(k) / Double(half)
            (cosines + k).initialize(to: Float(cos(angle)))
            (sines + k).initialize(to: Float(sin(angle)))
        }
    }

    deinit {
        work.deallocate()
        cosines.deallocate()
        sines.deallocate()
        power.deallocate()
    }

    /// Computes `power` from `count` values, a power of two from 8 to 512, after subtracting their `mean`.
    mutating func transform(_ values: UnsafePointer<SIMD4<Float>>, count: Int, mean: SIMD4<Float>) {
        load(values, count: count, mean: mean)
        let half = count / 2
        var length = 1
        while length < half {
            merge(length: length, of: half)
            length *= 2
        }
        separate(count: count)
    }

    /// Applies a von Hann window and stores the values in bit-reversed order, pairs as real and imaginary part.
    private func load(_ values: UnsafePointer<SIMD4<Float>>, count: Int, mean: SIMD4<Float>) {
        let half = count / 2
        let quarter = half / 2
        let stride = VibrationSpectrum.capacity / count
        var reversed = 0
        for pair in 0..<half {
            let index = 2 * pair
            // The second half of the window is the first with the sign of the cosine reversed.
            let isLate = index >= half
            let at = (isLate ? index - half : index) * stride
            let sign: Float = isLate ? 0.5 : -0.5
            work[2 * reversed] = (values[index] - mean) * (0.5 + sign * cosines[at])
            work[2 * reversed + 1] = (values[index + 1] - mean) * (0.5 + sign * cosines[at + stride])
            var bit = quarter
            while bit > 0, reversed & bit != 0 {
                reversed ^= bit
                bit >>= 1
            }
            reversed |= bit
        }
    }

    /// Merges transforms of `length` into transforms of twice that length.
    private func merge(length: Int, of half: Int) {
        let stride = VibrationSpectrum.capacity / (2 * length)
        for k in 0..<length {
            let c = cosines[k * stride]
            let s = sines[k * stride]
            var even = k
            while even < half {
                let odd = even + length
                let re = work[2 * odd]
                let im = work[2 * odd + 1]
                let turnedRe = re * c + im * s
                let turnedIm = im * c - re * s
                let evenRe = work[2 * even]
                let evenIm = work[2 * even + 1]
                work[2 * odd] = evenRe - turnedRe
                work[2 * odd + 1] = evenIm - turnedIm
                work[2 * even] = evenRe + turnedRe
                work[2 * even + 1] = evenIm + turnedIm
                even += 2 * length
            }
        }
    }

    /// Separates the transform of the pairs into that of the single values, and computes the power.
    private func separate(count: Int) {
        let half = count / 2
        let stride = VibrationSpectrum.capacity / count
        // A von Hann window passes 3/8 of the power; half of what remains is at negative frequencies.
        let scale = 2 / (0.375 * Float(count) * Float(count))
        power[0] = 0
        for k in 1...(half / 2) {
            let mirrored = half - k
            let sumRe = (work[2 * k] + work[2 * mirrored]) * 0.5
            let sumIm = (work[2 * k + 1] - work[2 * mirrored + 1]) * 0.5
            let oddRe = (work[2 * k + 1] + work[2 * mirrored + 1]) * 0.5
            let oddIm = (work[2 * mirrored] - work[2 * k]) * 0.5
            let c = cosines[k * stride]
            let s = sines[k * stride]
            let turnedRe = oddRe * c + oddIm * s
            let turnedIm = oddIm * c - oddRe * s
            power[k] = scale * VibrationSpectrum.square(sumRe + turnedRe, sumIm + turnedIm)
            power[mirrored] = scale * VibrationSpectrum.square(sumRe - turnedRe, sumIm - turnedIm)
        }
    }

    private static func square(_ re: SIMD4<Float>, _ im: SIMD4<Float>) -> Float {
        let squares = re * re + im * im
        return squares.x + squares.y + squares.z
    }
}
