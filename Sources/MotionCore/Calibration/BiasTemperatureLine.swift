/// A gyroscope's bias as a straight line over temperature, estimated from rests by recursive least squares with slow
/// forgetting.
public struct BiasTemperatureLine: Equatable, Sendable, BitwiseCopyable {
    /// Whether any rest has been learnt.
    public private(set) var hasBias = false

    /// The temperature at which `bias` holds, °C: the temperature of the first rest.
    public private(set) var referenceTemperature = 25.0

    /// The bias at the reference temperature, rad/s, sensor axes.
    public private(set) var bias = Vector3.zero

    /// Change of the bias with temperature, rad/s per °C, without bounds; see `calibratedSlope`.
    public private(set) var slope = Vector3.zero

    /// The range of temperatures of the rests, °C.
    public private(set) var lowestTemperature = 25.0
    public private(set) var highestTemperature = 25.0

    /// Variances and covariance of bias and slope, in units of one rest's noise.
    public private(set) var biasVariance = BiasTemperatureLine.initialBiasVariance
    public private(set) var slopeVariance = BiasTemperatureLine.initialSlopeVariance
    public private(set) var covariance = 0.0

    /// The temperature range from which on the slope is used, °C.
    public static let smallestSpan = 3.0

    /// Largest plausible slope, rad/s per °C: 0.5 °/s per °C, three times the specification's ±20 °/s over -40 to 85 °C
    /// (PS-MPU-6000A-00 r3.4, 6.1).
    public static let largestSlope = 0.5 * radiansPerDegree

    /// The factor by which the weight of a rest shrinks with each later one. Rests are reported every 10 s, so this is
    /// a memory of hours.
    private static let memory = 0.9995
    private static let initialBiasVariance = 1e6
    private static let initialSlopeVariance = 1e3

    /// Creates a line without any data.
    public init() {}

    /// Restores a stored line. If the values are not usable, the line starts without any data.
    public init(
        referenceTemperature: Double, bias: Vector3, slope: Vector3, lowestTemperature: Double,
        highestTemperature: Double, biasVariance: Double, slopeVariance: Double, covariance: Double
    ) {
        let isUsable =
            referenceTemperature.isFinite && bias.isFinite && slope.isFinite && lowestTemperature.isFinite
            && highestTemperature >= lowestTemperature && highestTemperature.isFinite && biasVariance > 0
            && slopeVariance > 0 && covariance * covariance < biasVariance * slopeVariance
        guard isUsable, biasVariance <= Self.initialBiasVariance, slopeVariance <= Self.initialSlopeVariance else {
            return
        }
        hasBias = true
        self.referenceTemperature = referenceTemperature
        self.bias = bias
        self.slope = slope
        self.lowestTemperature = lowestTemperature
        self.highestTemperature = highestTemperature
        self.biasVariance = biasVariance
        self.slopeVariance = slopeVariance
        self.covariance = covariance
    }

    /// Whether the temperature range is large enough to use the slope.
    public var hasSlope: Bool { highestTemperature - lowestTemperature >= Self.smallestSpan }

    /// The slope to use, rad/s per °C: within bounds, and zero until the temperature range is large enough.
    public var calibratedSlope: Vector3 {
        guard hasSlope else { return .zero }
        var bounded = slope
        for axis in 0..<3 { bounded[axis] = max(-Self.largestSlope, min(Self.largestSlope, slope[axis])) }
        return bounded
    }

    /// Adds a rest: the gyroscope's whole bias (rad/s, sensor axes) at a chip temperature (°C).
    ///
    /// Ignores values that are not finite or that no gyroscope has.
    public mutating func learn(bias measured: Vector3, temperature: Double) {
        guard measured.isFinite, temperature.isFinite, measured.length < 60 * radiansPerDegree else { return }
        guard hasBias else {
            hasBias = true
            referenceTemperature = temperature
            lowestTemperature = temperature
            highestTemperature = temperature
            bias = measured
            biasVariance = 1
            return
        }
        lowestTemperature = min(lowestTemperature, temperature)
        highestTemperature = max(highestTemperature, temperature)
        let warmth = temperature - referenceTemperature
        // P·h, with h = (1, warmth); noise is 1 by the choice of units.
        let biasGain = biasVariance + warmth * covariance
        let slopeGain = covariance + warmth * slopeVariance
        let total = Self.memory + biasGain + warmth * slopeGain
        let error = measured - bias - warmth * slope
        bias += error * (biasGain / total)
        slope += error * (slopeGain / total)
        biasVariance = (biasVariance - biasGain * biasGain / total) / Self.memory
        slopeVariance = (slopeVariance - slopeGain * slopeGain / total) / Self.memory
        covariance = (covariance - biasGain * slopeGain / total) / Self.memory
        bound()
    }

    /// Bounds the variances. A chip that stays at one temperature gives no information about the slope; without a bound
    /// its variance would grow until the noise of one degree passed for a slope.
    private mutating func bound() {
        if slopeVariance > Self.initialSlopeVariance {
            let shrink = (Self.initialSlopeVariance / slopeVariance).squareRoot()
            slopeVariance = Self.initialSlopeVariance
            covariance *= shrink
        }
        if biasVariance > Self.initialBiasVariance {
            let shrink = (Self.initialBiasVariance / biasVariance).squareRoot()
            biasVariance = Self.initialBiasVariance
            covariance *= shrink
        }
    }

    /// The bias, rad/s, at a temperature (°C).
    public func bias(at temperature: Double) -> Vector3 {
        bias + (temperature - referenceTemperature) * calibratedSlope
    }
}
