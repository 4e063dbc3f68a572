internal import Glibc
internal import MotionCore

/// The sample times and the temperature of a chip, in closed form, so that the instant of any sample can be computed.
///
/// The true period is the nominal one times 1 + error + drift·(temperature - 25 °C), and the temperature approaches its
/// final value exponentially. A clock is valid from one change of rate, clock source or power state to the next.
struct SampleClock {
    /// When this clock started.
    let origin: Timestamp

    /// The index of the first sample, which is taken one period after `origin`.
    let firstIndex: UInt64

    /// Nominal seconds between samples; `nil` if none are taken.
    let period: Double?

    /// Relative deviation of the period at 25 °C.
    let error: Double

    private let drift: Double
    private let finalTemperature: Double
    private let excess: Double
    private let timeConstant: Double

    /// Creates a clock whose period deviates by `error` at 25 °C plus `drift` per °C, both relative.
    ///
    /// The chip has `temperature` (°C) at `origin` and approaches `finalTemperature` with `timeConstant` (s).
    init(
        origin: Timestamp, firstIndex: UInt64, period: Double?, error: Double, drift: Double, temperature: Double,
        finalTemperature: Double, timeConstant: Double
    ) {
        self.origin = origin
        self.firstIndex = firstIndex
        self.period = period
        self.error = error
        self.drift = drift
        self.finalTemperature = finalTemperature
        excess = temperature - finalTemperature
        self.timeConstant = timeConstant
    }

    /// The chip's temperature, °C.
    func temperature(at instant: Timestamp) -> Double {
        finalTemperature + excess * exp(-instant.seconds(since: origin) / timeConstant)
    }

    /// When the sample `index` is taken; the latest possible instant if none are taken.
    func time(of index: UInt64) -> Timestamp {
        guard let period else { return Timestamp(nanoseconds: .max) }
        let nominal = period * (Double(index - firstIndex) + 1)
        return origin.advanced(bySeconds: elapsed(afterNominal: nominal))
    }

    /// The last sample taken at `instant` or before; `nil` if there is none.
    func lastIndex(at instant: Timestamp) -> UInt64? {
        guard let period else { return nil }
        let target = instant.seconds(since: origin)
        // Newton's method: the derivative is 1 within parts per million, so three steps are exact to rounding.
        var nominal = target
        for _ in 0..<3 { nominal += target - elapsed(afterNominal: nominal) }
        var count = (nominal / period).rounded(.down)
        guard count >= 0 else { return nil }
        while time(of: firstIndex + UInt64(count)) <= instant { count += 1 }
        while count > 0, time(of: firstIndex + UInt64(count) - 1) > instant { count -= 1 }
        return count > 0 ? firstIndex + UInt64(count) - 1 : nil
    }

    /// True seconds that pass while the oscillator counts `nominal` seconds: the integral of the true period.
    private func elapsed(afterNominal nominal: Double) -> Double {
        let warming = drift == 0 ? 0 : drift * excess * timeConstant * (1 - exp(-nominal / timeConstant))
        return nominal * (1 + error + drift * (finalTemperature - 25)) + warming
    }
}
