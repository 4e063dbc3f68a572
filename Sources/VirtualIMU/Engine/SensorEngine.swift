internal import MotionCore

/// What all virtual chips have behind their registers: an oscillator that makes samples due, and sensors that take them.
///
/// What a sample holds depends on its index, not on when the chip is looked at.
struct SensorEngine {
    let imperfections: Imperfections
    private let trajectory: any Trajectory
    private let seed: UInt64
    /// The trajectory's time zero.
    private let start: Timestamp

    /// The instant that the chip has been brought up to.
    private(set) var now: Timestamp
    private(set) var clock: SampleClock
    /// The clocks before the present one that counted samples, oldest first.
    private var earlierClocks: [SampleClock] = []
    private(set) var nextIndex: UInt64 = 0
    private var nextTime: Timestamp
    private(set) var setup: SensorModel.Setup
    private var model: SensorModel

    /// Whether the outputs repeat their last values, and whether no samples are taken: faults.
    var isFrozen = false
    var isStalled = false
    /// What the thermometer says more than it should, °C: a fault.
    var temperatureError = 0.0
    /// Where the data-ready pin leads.
    var wire: VirtualWire?
    /// When the gyroscope was last started.
    var gyroscopeStart: Timestamp

    /// What the sensors say: m/s², rad/s, °C.
    struct Reading {
        var force: Vector3
        var rate: Vector3
        var temperature: Double
    }

    /// A sample that is due.
    struct Sample {
        var index: UInt64
        var time: Timestamp
        /// `nil` where the outputs are to repeat their last values.
        var reading: Reading?
    }

    /// Makes an engine that stands still.
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

    /// Seconds by which readings of slow movements come late.
    var delay: (accelerometer: Double, gyroscope: Double) { model.delay }

    /// The chip's true temperature now, °C.
    var temperature: Double { clock.temperature(at: now) + temperatureError }

    /// From now on takes samples as `wanted` says, or none with `nil`.
    ///
    /// The clock starts anew where its period or error (ppm, that of the oscillator unless told) changes, the filters where
    /// anything of theirs does. A chip that is awake is warm, also where it takes no samples.
    mutating func run(_ wanted: SensorModel.Setup?, oscillatorError: Double? = nil, isAwake: Bool? = nil) {
        let period = wanted?.period
        let error = (oscillatorError ?? imperfections.oscillatorError) * 1e-6
        if period != clock.period || error != clock.error {
            if nextIndex > clock.firstIndex {
                // More than anybody looks back to; a chip may be reconfigured for years.
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

    /// Forgets the past of the signal paths.
    mutating func resetFilters() { model.reset() }

    /// Goes to the first sample that matters at `instant`, if that is not the next: after a long time of which nothing can be
    /// seen any more, only so many are taken as are remembered (`frames`) and settle the filters.
    mutating func skipUnseenSamples(until instant: Timestamp, remembering frames: Int) {
        let seen = UInt64(frames + model.memory)
        guard let period = clock.period, instant.seconds(since: nextTime) > Double(seen) * period,
            let last = clock.lastIndex(at: instant), last >= nextIndex + seen
        else { return }
        nextIndex = last + 1 - seen
        nextTime = clock.time(of: nextIndex)
        model.reset()
    }

    /// Takes the next sample that is due by `instant`; `nil`, and time has passed, where there is none.
    mutating func nextSample(until instant: Timestamp) -> Sample? {
        while nextTime <= instant {
            now = max(now, nextTime)
            var sample = Sample(index: nextIndex, time: nextTime)
            if isFrozen || isStalled {
                // The filters know nothing of what happens meanwhile.
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
        model.take(nextIndex, at: nextTime.seconds(since: start), temperature: temperature, along: trajectory)
        return Reading(
            force: model.specificForce,
            rate: model.rotationRate + model.startUpError(after: nextTime.seconds(since: gyroscopeStart)),
            temperature: temperature + temperatureError)
    }

    /// The instant of a sample that was taken; `nil` where it is not yet, or too long ago to know.
    func time(ofSample index: UInt64) -> Timestamp? {
        guard index < nextIndex else { return nil }
        if index >= clock.firstIndex { return clock.time(of: index) }
        return earlierClocks.last { $0.firstIndex <= index }?.time(of: index)
    }
}
