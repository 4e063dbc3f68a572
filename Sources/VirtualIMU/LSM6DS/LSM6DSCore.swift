internal import MotionCore

/// The chip itself: its registers and FIFO, its oscillator and its sensors, brought up to an instant at each access.
///
/// `LSM6DSCore+Registers` is its bus interface, `LSM6DSCore+Sampling` what it does on its own.
struct LSM6DSCore {
    /// Seconds that a reset takes.
    static let resetTime = 50e-6

    let kind: LSM6DSModel
    let trajectory: any Trajectory
    let imperfections: Imperfections
    let seed: UInt64

    /// The trajectory's time zero.
    let start: Timestamp

    /// The instant that the chip has been brought up to.
    var now: Timestamp

    var registers = [UInt8](repeating: 0, count: LSM6DSAddress.count)
    var fifo: ByteFIFO

    /// Words that left the FIFO since it was emptied: where in the pattern its next one is.
    var bytesGone = 0

    /// FIFO flags: words were overwritten since data was last read, and since the status was.
    var isOverrun = false
    var isOverrunLatched = false

    /// TAG_CNT of the next frame.
    var slot: UInt8 = 0

    /// When the reset under way is done.
    var resetEnd: Timestamp?

    /// The newest frame, how much of it is in the FIFO, and when it was taken.
    var frame: [UInt8] = []
    var frameBytesWritten = 0
    var frameTime: Timestamp

    var clock: SampleClock
    var model: SensorModel
    var setup: SensorModel.Setup
    var nextIndex: UInt64 = 0
    var nextTime: Timestamp

    /// The clocks before the present one that counted samples, oldest first.
    var earlierClocks: [SampleClock] = []

    /// When the gyroscope was last started, and the first sample after that.
    var gyroscopeStart: Timestamp
    var firstGyroscopeIndex: UInt64 = 0

    /// Whether the outputs repeat their last values, and whether no samples are taken: faults.
    var isFrozen = false
    var isStalled = false
    /// What the thermometer says more than it should, °C: a fault.
    var temperatureError = 0.0

    /// Where the INT1 pin leads.
    var wire: VirtualWire?

    /// Makes a chip that was just powered.
    init(
        _ kind: LSM6DSModel, trajectory: any Trajectory, imperfections: Imperfections, seed: UInt64, start: Timestamp
    ) {
        self.kind = kind
        self.trajectory = trajectory
        self.imperfections = imperfections
        self.seed = seed
        self.start = start
        now = start
        frameTime = start
        gyroscopeStart = start
        fifo = ByteFIFO(capacity: kind.words * kind.wordLength)
        clock = SampleClock(
            origin: start, firstIndex: 0, period: nil, error: 0, drift: 0,
            temperature: imperfections.ambientTemperature, finalTemperature: imperfections.ambientTemperature,
            timeConstant: imperfections.thermalTimeConstant)
        nextTime = clock.time(of: 0)
        setup = SensorModel.Setup(lowPass: kind.lowPass(code: 1, filtersGyroscope: false), period: 1 / 12.5)
        model = SensorModel(imperfections, seed: seed, setup: setup)
        setDefaults()
    }

    /// Loses power and gets it back: everything is as after power-on, both sensors off.
    mutating func powerCycle() {
        resetEnd = nil
        setDefaults()
    }

    /// Begins the reset that SW_RESET asks for.
    mutating func reset() {
        setDefaults()
        resetEnd = now.advanced(bySeconds: Self.resetTime)
    }

    /// Whether a reset is under way.
    var isResetting: Bool { resetEnd.map { now < $0 } ?? false }

    private mutating func setDefaults() {
        for index in registers.indices { registers[index] = 0 }
        for (register, value) in kind.defaults { registers[Int(register)] = value }
        clearFIFO()
        configure()
        model.reset()
    }

    mutating func clearFIFO() {
        fifo.removeAll()
        bytesGone = 0
        isOverrun = false
        slot = 0
        frameBytesWritten = frame.count
    }

    /// The instant of a sample that was taken; `nil` where it is not yet, or too long ago to know.
    func time(ofSample index: UInt64) -> Timestamp? {
        guard index < nextIndex else { return nil }
        if index >= clock.firstIndex { return clock.time(of: index) }
        return earlierClocks.last { $0.firstIndex <= index }?.time(of: index)
    }

    /// Brings clock and filters in line with the registers.
    ///
    /// Both sensors run at the faster one's rate: that they can differ is not modelled.
    mutating func configure() {
        let code = max(registers[Int(LSM6DSAddress.accelerometer)], registers[Int(LSM6DSAddress.gyroscope)]) >> 4
        let period: Double? = (1...8).contains(code) ? 1 / LSM6DSModel.rates[Int(code) - 1] : nil
        startClock(period: period)
        guard let period else { return }
        let isFiltered = registers[Int(LSM6DSAddress.control4)] & 0x02 != 0
        let wanted = SensorModel.Setup(
            lowPass: kind.lowPass(code: code, filtersGyroscope: isFiltered), period: period)
        guard wanted != setup else { return }
        setup = wanted
        model = SensorModel(imperfections, seed: seed, setup: setup)
    }

    /// Lets the clock run from now on with another period, if it is another one.
    private mutating func startClock(period: Double?) {
        guard period != clock.period else { return }
        if nextIndex > clock.firstIndex {
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
}
