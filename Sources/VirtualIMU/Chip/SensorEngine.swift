internal import MotionCore

/// What all virtual chips have behind their registers: an oscillator that makes samples due, and sensors that take them.
struct SensorEngine {
    let imperfections: Imperfections
    private let trajectory: any Trajectory
    private let seed: UInt64
    /// The trajectory's time zero.
    private let start: Timestamp

    /// The instant that the chip has been brought up to.
    private(set) var now: Timestamp
    private(set) var clock: SampleClock
    private var earlierClocks: [SampleClock] = []
    private(set) var nextIndex: UInt64 = 0
    private var nextTime: Timestamp
    private var setup: SensorModel.Setup
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
    private var last = Reading(force: .zero, rate: .zero, temperature: 25)

    /// What the sensors say: m/s², rad/s, °C.
    struct Reading {
        var force: Vector3
        var rate: Vector3
        var temperature: Double
    }

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

    /// From now on takes a sample every `period` seconds of the chip's own time; none with `nil`.
    mutating func run(period: Double?, lowPass: LowPassSetting) {
        if period != clock.period {
            if nextIndex > clock.firstIndex {
                // More than anybody looks back to.
                if earlierClocks.count == 64 { earlierClocks.removeFirst() }
                earlierClocks.append(clock)
            }
            clock = SampleClock(
                origin: now, firstIndex: nextIndex, period: period, error: imperfections.oscillatorError * 1e-6,
                drift: imperfections.oscillatorDrift * 1e-6, temperature: clock.temperature(at: now),
                finalTemperature: imperfections.ambientTemperature + (period == nil ? 0 : imperfections.selfHeating),
                timeConstant: imperfections.thermalTimeConstant)
            nextTime = clock.time(of: nextIndex)
        }
        guard let period else { return }
        let wanted = SensorModel.Setup(lowPass: lowPass, period: period)
        guard wanted != setup else { return }
        setup = wanted
        model = SensorModel(imperfections, seed: seed, setup: setup)
    }

    /// Takes the next sample that is due by `instant`; `nil`, and time has passed, where there is none.
    mutating func nextReading(until instant: Timestamp) -> Reading? {
        guard nextTime <= instant else {
            now = max(now, instant)
            return nil
        }
        now = max(now, nextTime)
        if isFrozen || isStalled {
            model.reset()
        } else {
            let temperature = clock.temperature(at: nextTime)
            model.take(nextIndex, at: nextTime.seconds(since: start), temperature: temperature, along: trajectory)
            last = Reading(
                force: model.specificForce,
                rate: model.rotationRate + model.startUpError(after: nextTime.seconds(since: gyroscopeStart)),
                temperature: temperature + temperatureError)
        }
        nextIndex += 1
        nextTime = clock.time(of: nextIndex)
        return last
    }

    /// The instant of a sample that was taken; `nil` where it is not yet, or too long ago to know.
    func time(ofSample index: UInt64) -> Timestamp? {
        guard index < nextIndex else { return nil }
        if index >= clock.firstIndex { return clock.time(of: index) }
        return earlierClocks.last { $0.firstIndex <= index }?.time(of: index)
    }
}

/// The registers of one kind of chip: what is its own, beside the engine.
protocol VirtualRegisters: Sendable {
    /// The register that says who is there.
    var identityRegister: UInt8 { get }

    /// Answers one read, or takes one write.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine)
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine)

    /// Whether the next sample lets the data-ready pin rise.
    var raisesPin: Bool { get }

    /// Takes a sample that is due.
    mutating func take(_ reading: SensorEngine.Reading)

    /// What was to happen by itself by `instant` happens.
    mutating func settle(_ engine: inout SensorEngine)

    /// Everything is as after power-on.
    mutating func powerCycle(_ engine: inout SensorEngine)

    /// Puts frames into the FIFO until the first is lost.
    mutating func overflow()

    /// Loses the FIFO's oldest bytes.
    mutating func slip(_ bytes: Int)

    /// Inverts a bit of a register, with all that follows from it.
    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine)
}

extension VirtualRegisters {
    mutating func settle(_ engine: inout SensorEngine) {}
}

/// A value as counts of `scale`, within the limits that it saturates at.
func counts(_ value: Double, scale: Double, within limits: ClosedRange<Double> = -32767...32767) -> Int16 {
    let value = value / scale
    return value.isFinite ? Int16(max(limits.lowerBound, min(limits.upperBound, value.rounded()))) : 0
}

extension Array where Element == UInt8 {
    /// Appends a value, low byte first.
    mutating func appendLittleEndian(_ value: Int16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(truncatingIfNeeded: value >> 8))
    }
}
