internal import Glibc
internal import MotionCore

/// The sensing elements and filters: everything between the true motion and the converter.
///
/// The true signal is filtered in steps of a millisecond or less, whatever the sample rate, so that a short pulse
/// between two samples is not missed. The filter is of first order. If its delay is shorter (or longer) than the
/// datasheet's, the model looks up the trajectory earlier (or later), so that both bandwidth and delay match the
/// datasheet.
struct SensorModel {
    /// A configuration of the chip in terms of the model.
    struct Setup: Equatable {
        var lowPass: LowPassSetting
        /// Nominal seconds between samples.
        var period: Double
        /// Added to the specific force (m/s²) and the rate (rad/s) by the self-test.
        var selfTestForce = Vector3.zero
        var selfTestRate = Vector3.zero
    }

    /// Delay of the readings of slow movements, s.
    let delay: (accelerometer: Double, gyroscope: Double)

    /// The number of samples after which the filters' earlier state no longer shows in 16 bits.
    let memory: Int

    /// The input of the converter, without limits: m/s² and rad/s.
    private(set) var specificForce = Vector3.zero
    private(set) var rotationRate = Vector3.zero

    private let imperfections: Imperfections
    private let seed: UInt64
    private let setup: Setup
    private let steps: Int
    private let step: Double
    private let lookBack: Double
    private var force: LowPass
    private var rate: LowPass
    private var forceNoise: BandNoise
    private var rateNoise: BandNoise
    private var isSettled = false

    /// The first sample settles the filters.
    init(_ imperfections: Imperfections, seed: UInt64, setup: Setup) {
        self.imperfections = imperfections
        self.seed = seed
        self.setup = setup
        steps = max(1, Int((setup.period * 1000 - 1e-6).rounded(.up)))
        step = setup.period / Double(steps)
        let lowPass = setup.lowPass
        force = LowPass(bandwidth: lowPass.accelerometerBandwidth, step: step)
        rate = LowPass(bandwidth: lowPass.gyroscopeBandwidth, step: step)
        lookBack = lowPass.delay - rate.delay
        delay = (lookBack + force.delay, lowPass.delay)
        forceNoise = BandNoise(
            density: imperfections.accelerometerNoise, bandwidth: lowPass.accelerometerBandwidth, period: setup.period)
        rateNoise = BandNoise(
            density: imperfections.gyroscopeNoise, bandwidth: lowPass.gyroscopeBandwidth, period: setup.period)
        // Both decay with the time constant 1/(2π·bandwidth); e⁻³⁰ of ±16 g is far below an LSB.
        let slowest = min(lowPass.accelerometerBandwidth, lowPass.gyroscopeBandwidth)
        memory = Int(30 / (2 * .pi * slowest * setup.period)) + 2
    }

    /// Resets the filters: the next sample settles them.
    mutating func reset() {
        isSettled = false
    }

    /// Computes the sample `index`, `time` seconds after the start of the trajectory, at a chip temperature in °C.
    mutating func take(_ index: UInt64, at time: Double, temperature: Double, along trajectory: any Trajectory) {
        var random = RandomNumbers(seed: seed, stream: index)
        let (normalForce, normalRate) = random.normalVectors()
        if isSettled {
            for k in 1...steps {
                let motion = trajectory.motion(at: time - lookBack - Double(steps - k) * step)
                force.add(motion.specificForce + setup.selfTestForce)
                rate.add(motion.rotationRate + setup.selfTestRate)
            }
            forceNoise.add(normalForce)
            rateNoise.add(normalRate)
        } else {
            let motion = trajectory.motion(at: time - lookBack)
            force.settle(at: motion.specificForce + setup.selfTestForce)
            rate.settle(at: motion.rotationRate + setup.selfTestRate)
            forceNoise.settle(with: normalForce)
            rateNoise.settle(with: normalRate)
            isSettled = true
        }
        let warmth = temperature - 25
        specificForce =
            imperfections.accelerometerMatrix * force.output + imperfections.accelerometerBias
            + warmth * imperfections.accelerometerBiasDrift + forceNoise.output
        rotationRate =
            imperfections.gyroscopeMatrix * rate.output + imperfections.gyroscopeBias
            + warmth * imperfections.gyroscopeBiasDrift + rateNoise.output
    }

    /// The start-up error of a gyroscope that started `time` seconds ago, rad/s.
    func startUpError(after time: Double) -> Vector3 {
        let settling = imperfections.gyroscopeStartUp
        guard settling > 0, time < 3 * settling else { return .zero }
        // From 250 °/s to 1 °/s within the start-up time (PS p. 12); the axes begin in different directions.
        let error = 250 * radiansPerDegree * exp(-time / settling * log(250))
        return error * Vector3(1, -0.8, 0.9)
    }
}
