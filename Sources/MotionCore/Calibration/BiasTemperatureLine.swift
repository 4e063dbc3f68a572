/// A gyroscope's bias as a straight line over temperature, learnt from rests: recursive least squares that forgets slowly.
public struct BiasTemperatureLine: Equatable, Sendable, BitwiseCopyable {
    /// Whether it has learnt anything.
    public private(set) var hasBias = false

    /// The temperature from which the line is told, °C: that of the first rest.
    public private(set) var referenceTemperature = 25.0

    /// The bias at that temperature, rad/s, sensor axes.
    public private(set) var bias = Vector3.zero

    /// Change of the bias with temperature, rad/s per °C; what a usable line says is bounded, see `calibratedSlope`.
    public private(set) var slope = Vector3.zero

    /// The temperatures among which it was learnt, °C.
    public private(set) var lowestTemperature = 25.0
    public private(set) var highestTemperature = 25.0

    /// How uncertain bias and slope are, as variances and covariance in units of one rest's noise.
    public private(set) var biasVariance = BiasTemperatureLine.initialBiasVariance
    public private(set) var slopeVariance = BiasTemperatureLine.initialSlopeVariance
    public private(set) var covariance = 0.0

    /// Span of temperatures from which on the slope is believed, °C.
    public static let smallestSpan = 3.0

    /// Largest slope that is believed, rad/s per °C: 0.5 °/s per °C, thrice what the specification's ±20 °/s over -40
    /// to 85 °C (PS-MPU-6000A-00 r3.4, 6.1) comes to.
    public static let largestSlope = 0.5 * radiansPerDegree

    /// What is left of a rest's weight after another one. Rests are reported every 10 s, so this is a memory of hours.
    private static let memory = 0.9995
    private static let initialBiasVariance = 1e6
    private static let initialSlopeVariance = 1e3

    /// Makes a line that has learnt nothing.
    public init() {}

    /// Makes the line that was kept; one that cannot be has learnt nothing.
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

    /// Whether temperatures spanned enough to believe the slope.
    public var hasSlope: Bool { highestTemperature - lowestTemperature >= Self.smallestSpan }

    /// The slope as it may be used, rad/s per °C: bounded, and zero before it can be believed.
    public var calibratedSlope: Vector3 {
        guard hasSlope else { return .zero }
        var bounded = slope
        for axis in 0..<3 { bounded[axis] = max(-Self.largestSlope, min(Self.largestSlope, slope[axis])) }
        return bounded
    }

    /// Takes over what a rest told: the gyroscope's whole bias (rad/s, sensor axes) at a temperature of the chip (°C).
    ///
    /// What is not finite, and what no gyroscope has, is left out.
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

    /// A chip that stays at one temperature says nothing of the slope: without a bound its uncertainty would grow until
    /// a degree's noise passed for a slope.
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

    /// The bias, rad/s, that the line tells for a temperature (°C).
    public func bias(at temperature: Double) -> Vector3 {
        bias + (temperature - referenceTemperature) * calibratedSlope
    }
}
