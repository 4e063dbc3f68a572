internal import MotionCore

/// The part that all virtual chips have behind their registers: an oscillator that makes samples due, and sensors that
/// take them.
///
/// The contents of a sample depend on its index, not on when the chip is accessed.
struct SensorEngine: ChipEngine {
    let imperfections: Imperfections
    private let trajectory: any Trajectory
    private let seed: UInt64
    /// The instant at which the trajectory begins.
    private let start: Timestamp

    /// The instant up to which the chip has been simulated.
    private(set) var now: Timestamp
    private(set) var clock: SampleClock
    /// Earlier clocks that took samples, oldest first.
    private var earlierClocks: [SampleClock] = []
    private(set) var nextIndex: UInt64 = 0
    private var nextTime: Timestamp
    private(set) var setup: SensorModel.Setup
    private var model: SensorModel

    /// Faults: the outputs repeat their last values; no samples are taken.
    var isFrozen = false
    var isStalled = false
    /// A fault: how much too high the measured temperature is, °C.
    var temperatureError = 0.0
    /// A fault: the error of the temperature in the next samples, °C.
    var glitch = (error: 0.0, samples: 0)
    /// The wire of the data-ready pin.
    var wire: VirtualWire?
    /// When the gyroscope was last started.
    var gyroscopeStart: Timestamp

    /// The output of the sensors: m/s², rad/s, °C.
    struct Reading {
        var force: Vector3
        var rate: Vector3
        var temperature: Double
    }

    /// A sample that is due.
    struct Sample {
        var index: UInt64
        var time: Timestamp
        /// `nil` if the outputs repeat their last values.
        var reading: Reading?
    }

    /// Creates an engine that takes no samples.
    init(trajectory: any Trajectory, imperfections: Imperfections, seed: UInt64, start: Timestamp) {
        self.trajectory = trajectory
        self.imperfections = imperfections
        self.seed = seed
        self.start = start
        now = start
        gyroscopeStart = start
        clock = SampleClock(
            origin: start, firstIndex: 0, period: nil, error: 0, drift: 0,
            temperature: imperfections.ambientTemperature, finalTemperature: imperfections.ambientTemperature,
            timeConstant: imperfections.thermalTimeConstant)
        nextTime = clock.time(of: 0)
        setup = SensorModel.Setup(lowPass: LowPassSetting(100, 100, 0.003), period: 0.005)
        model = SensorModel(imperfections, seed: seed, setup: setup)
    }

    /// Delay of the readings of slow movements, s.
    var delay: (accelerometer: Double, gyroscope: Double) { model.delay }

    /// The chip's true temperature now, °C.
    var temperature: Double { clock.temperature(at: now) + temperatureError }

    /// Takes samples with this setup from now on, or none if it is `nil`.
    ///
    /// The clock restarts if its period or error changes (ppm; default: the error of the oscillator). The filters
    /// restart if any of their parameters change. A chip that is awake warms up even if it takes no samples.
    mutating func run(_ wanted: SensorModel.Setup?, oscillatorError: Double? = nil, isAwake: Bool? = nil) {
        let period = wanted?.period
        let error = (oscillatorError ?? imperfections.oscillatorError) * 1e-6
        if period != clock.period || error != clock.error {
            if nextIndex > clock.firstIndex {
                // More than any caller looks back; a chip may be reconfigured for years.
                if earlierClocks.count == 64 { earlierClocks.removeFirst() }
                earlierClocks.append(clock)
            }
            let heating = isAwake ?? (period != nil) ? imperfections.selfHeating : 0
            clock = SampleClock(
                origin: now, firstIndex: nextIndex, period: period, error: error,
                drift: imperfections.oscillatorDrift * 1e-6, temperature: clock.temperature(at: now),
                finalTemperature: imperfections.ambientTemperature + heating,
                timeConstant: imperfections.thermalTimeConstant)
            nextTime = clock.time(of: nextIndex)
        }
        guard let wanted, wanted != setup else { return }
        setup = wanted
        model = SensorModel(imperfections, seed: seed, setup: setup)
    }

    /// Resets the filters.
    mutating func resetFilters() { model.reset() }

    /// Skips samples that can no longer be seen at `instant`. After a long pause, only the samples that the chip
    /// retains (`frames`) and those that settle the filters are taken.
    mutating func skipInvisibleSamples(until instant: Timestamp, retaining frames: Int) {
        let seen = UInt64(frames + model.memory)
        guard let period = clock.period, instant.seconds(since: nextTime) > Double(seen) * period,
            let last = clock.lastIndex(at: instant), last >= nextIndex + seen
        else { return }
        nextIndex = last + 1 - seen
        nextTime = clock.time(of: nextIndex)
        model.reset()
    }

    /// Takes the next sample due by `instant`. If there is none, advances to `instant` and returns `nil`.
    mutating func nextSample(until instant: Timestamp) -> Sample? {
        while nextTime <= instant {
            now = max(now, nextTime)
            var sample = Sample(index: nextIndex, time: nextTime)
            if isFrozen || isStalled {
                // The filters must not see the time in between.
                model.reset()
            } else {
                sample.reading = reading()
            }
            nextIndex += 1
            nextTime = clock.time(of: nextIndex)
            if !isStalled { return sample }
        }
        now = max(now, instant)
        return nil
    }

    private mutating func reading() -> Reading {
        let temperature = clock.temperature(at: nextTime)
        let glitch = self.glitch.samples > 0 ? self.glitch.error : 0
        self.glitch.samples -= 1
        model.take(nextIndex, at: nextTime.seconds(since: start), temperature: temperature, along: trajectory)
        return Reading(
            force: model.specificForce,
            rate: model.rotationRate + model.startUpError(after: nextTime.seconds(since: gyroscopeStart)),
            temperature: temperature + temperatureError + glitch)
    }

    /// The instant of a sample; `nil` if it has not been taken yet, or too long ago.
    func time(ofSample index: UInt64) -> Timestamp? {
        guard index < nextIndex else { return nil }
        if index >= clock.firstIndex { return clock.time(of: index) }
        return earlierClocks.last { $0.firstIndex <= index }?.time(of: index)
    }
}
