package import MotionCore

/// The effective settings of a part in SI units: the figures that every chip has.
package struct ChipFigures: Equatable, Sendable, BitwiseCopyable {
    /// The sample rate with a perfect oscillator, Hz.
    package let rate: Double

    /// -3 dB bandwidth of the chip's low-pass, Hz, and its delay, seconds: the gyroscope's, or the accelerometer's on a
    /// part without a gyroscope.
    package let bandwidth: Double
    package let delay: Double

    /// Full scales, m/s² and rad/s (the gyroscope's is zero if the part has none), and the size of one count.
    package let accelerometerRange: Double
    package let gyroscopeRange: Double
    package let accelerometerScale: Double
    package let gyroscopeScale: Double

    /// The size of one count of each accelerometer axis, and what an axis reads without acceleration, m/s².
    package let accelerometerScales: Vector3
    package let accelerometerOffset: Vector3

    /// Creates the figures.
    ///
    /// If `delay` is `nil`, it is computed for a second-order Butterworth low-pass of this bandwidth, √2/(2π·f). A
    /// scale that is `nil` is the range divided by 2¹⁵. `accelerometerScales` is `nil` if the axes do not differ.
    package init(
        rate: Double, bandwidth: Double, delay: Double? = nil, accelerometerRange: Double, gyroscopeRange: Double,
        accelerometerScale: Double? = nil, gyroscopeScale: Double? = nil, accelerometerScales: Vector3? = nil,
        accelerometerOffset: Vector3 = .zero
    ) {
        self.rate = rate
        self.bandwidth = bandwidth
        self.delay = delay ?? 0.2251 / bandwidth
        self.accelerometerRange = accelerometerRange
        self.gyroscopeRange = gyroscopeRange
        let scale = accelerometerScale ?? accelerometerRange / 32768
        self.accelerometerScale = scale
        self.accelerometerScales = accelerometerScales ?? Vector3(scale, scale, scale)
        self.accelerometerOffset = accelerometerOffset
        self.gyroscopeScale = gyroscopeScale ?? gyroscopeRange / 32768
    }
}
