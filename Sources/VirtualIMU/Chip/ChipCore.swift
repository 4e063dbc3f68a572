internal import MotionCore

/// The chip itself: its registers and FIFO, its oscillator and its sensors, brought up to an instant at each access.
///
/// `ChipCore+Registers` is its bus interface, `ChipCore+Sampling` what it does on its own.
struct ChipCore {
    /// Seconds from a reset's beginning until its bit clears itself and writes are taken again. Drivers wait 10 ms to
    /// 100 ms; RM p. 41 gives no figure.
    static let resetTime = 0.005

    /// Which member of the family it is.
    let variant: VirtualMPUModel

    let trajectory: any Trajectory
    let imperfections: Imperfections
    let seed: UInt64

    /// The trajectory's time zero.
    let start: Timestamp

    /// The instant that the chip has been brought up to.
    var now: Timestamp

    var registers = [UInt8](repeating: 0, count: Register.count)
    var fifo: ByteFIFO

    /// FIFO_COUNT as it was when its high byte was read last (RM p. 43).
    var latchedCount: UInt16 = 0

    /// When the reset under way is done.
    var resetEnd: Timestamp?

    /// The registers whose bytes make up a frame, in order.
    var frameRegisters: [UInt8] = []

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

    /// When the gyroscope was last started.
    var gyroscopeStart: Timestamp

    /// Whether the outputs repeat their last values, and whether no samples are taken: faults.
    var isFrozen = false
    var isStalled = false
    /// What the thermometer says more than it should, °C: a fault.
    var temperatureError = 0.0

    /// Where the INT pin leads.
    var wire: VirtualWire?

    /// Makes a chip that was just powered.
    init(
        _ variant: VirtualMPUModel = .mpu6050, trajectory: any Trajectory, imperfections: Imperfections, seed: UInt64,
        start: Timestamp
    ) {
        self.variant = variant
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
        self.trajectory = trajectory
        self.imperfections = imperfections
        self.seed = seed
        self.start = start
        now = start
        frameTime = start
        gyroscopeStart = start
        clock = SampleClock(
            origin: start, firstIndex: 0, period: nil, error: 0, drift: 0,
            temperature: imperfections.ambientTemperature, finalTemperature: imperfections.ambientTemperature,
            timeConstant: imperfections.thermalTimeConstant)
        nextTime = clock.time(of: 0)
        setup = SensorModel.Setup(lowPass: LowPassSetting(code: 0), period: 1.0 / 8000)
        model = SensorModel(imperfections, seed: seed, setup: setup)
        setDefaults()
    }

    /// Loses power and gets it back: everything is as after power-on, the chip asleep (RM p. 9).
    mutating func powerCycle() {
        resetEnd = nil
        setDefaults()
    }

    /// Begins the reset that DEVICE_RESET asks for.
    mutating func reset() {
        setDefaults()
        resetEnd = now.advanced(bySeconds: Self.resetTime)
    }

    /// Whether a reset is under way.
    var isResetting: Bool { resetEnd.map { now < $0 } ?? false }

    /// Sets every register to its default (RM p. 8) and empties the FIFO.
    private mutating func setDefaults() {
        for index in registers.indices { registers[index] = 0 }
        registers[Int(Register.powerManagement1)] = variant.powerManagement1Default
        registers[Int(Register.configuration)] = variant.configurationDefault
        registers[Int(Register.identity)] = variant.identity
        setSelfTestTrim()
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
        latchedCount = 0
        configure()
        model.reset()
    }

    /// The instant of a sample that was taken; `nil` where it is not yet, or too long ago to know.
    func time(ofSample index: UInt64) -> Timestamp? {
        guard index < nextIndex else { return nil }
        if index >= clock.firstIndex { return clock.time(of: index) }
        return earlierClocks.last { $0.firstIndex <= index }?.time(of: index)
    }
}
