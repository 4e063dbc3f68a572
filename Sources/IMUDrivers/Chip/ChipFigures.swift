/// What a part's settings come to, in SI units: the figures that every chip has.
package struct ChipFigures: Equatable, Sendable, BitwiseCopyable {
    /// The sample rate with a perfect oscillator, Hz.
    package let rate: Double

    /// -3 dB bandwidth of the low-pass in the chip, Hz, and how much it delays the gyroscope (the accelerometer where
    /// there is none), seconds.
    package let bandwidth: Double
    package let delay: Double

    /// Full scales, m/s² and rad/s, the latter zero where there is no gyroscope; and of one count.
    package let accelerometerRange: Double
    package let gyroscopeRange: Double
    package let accelerometerScale: Double
    package let gyroscopeScale: Double

    /// Makes the figures.
    ///
    /// Where no delay is told it is that of a Butterworth low-pass of second order with this bandwidth, √2/(2π·f); where no
    /// scale is, a 2¹⁵th of the range.
    package init(
        rate: Double, bandwidth: Double, delay: Double? = nil, accelerometerRange: Double, gyroscopeRange: Double,
        accelerometerScale: Double? = nil, gyroscopeScale: Double? = nil
    ) {
        self.rate = rate
        self.bandwidth = bandwidth
        self.delay = delay ?? 0.2251 / bandwidth
        self.accelerometerRange = accelerometerRange
        self.gyroscopeRange = gyroscopeRange
        self.accelerometerScale = accelerometerScale ?? accelerometerRange / 32768
        self.gyroscopeScale = gyroscopeScale ?? gyroscopeRange / 32768
    }
}
