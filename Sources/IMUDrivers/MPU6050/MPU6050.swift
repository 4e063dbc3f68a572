public import MotionCore

/// InvenSense's MPU-6050, read through its FIFO.
///
/// States follow one another only in `poll`, each with a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `MPU6050+BringUp` has the states up to settling, `+Streaming` reads the FIFO, `+Delivery` makes samples of frames, `+Health`
/// looks after the configuration, `+Recovery` says what becomes of a failure. Datasheets: "RM" is RM-MPU-6000A-00 r4.2, "PS" is
/// PS-MPU-6000A-00 r3.4.
public struct MPU6050<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock>: IMUDriver, ~Copyable {
    public internal(set) var info: IMUInfo
    public internal(set) var status = IMUStatus()

    var bus: Bus
    let clock: Clock
    let settings: IMUSettings
    let configuration: MPU6050Configuration
    let buffer: FrameBuffer
    var estimator: SamplePeriodEstimator

    /// The end of the present state: when it is over, or when it has taken too long.
    var deadline = Timestamp(nanoseconds: 0)
    /// From this instant on the gyroscope tells the truth.
    var settledAt = Timestamp(nanoseconds: 0)
    /// The wait before the next attempt to bring the chip up, seconds.
    var backOff = MPU6050Timing.firstBackOff
    /// The failure that was last told, and has not ended yet.
    var outage: IMUFault?
    /// The interruption whose end is yet to be told.
    var interruption: IMUFault?
    /// Interruptions since the last sample.
    var interruptionsInARow = 0
    /// Polls in a row that the bus failed, and that found the FIFO between two frames.
    var failedPolls = 0
    var unevenPolls = 0

    /// Frames taken from the FIFO since it was last started.
    var taken: Int64 = 0
    /// When the FIFO last had a frame, or was started.
    var lastFill = Timestamp(nanoseconds: 0)
    /// The last frame, and how often it has been repeated since.
    var lastFrame: MPU6050Frame?
    var repetitions = 0
    /// What the next frame's temperature must be near to.
    var lastTemperature: Int16?
    var lastTimestamp: Timestamp?

    var healthDue = Timestamp(nanoseconds: 0)
    var healthGroup = 0
    var pollCount = 0

    /// Makes a driver that has not touched the bus yet.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: what timestamps and deadlines are measured with.
    ///   - settings: what is wanted of the chip.
    public init(bus: consuming Bus, clock: Clock, settings: IMUSettings) {
        let configuration = MPU6050Configuration(settings)
        self.bus = bus
        self.clock = clock
        self.settings = settings
        self.configuration = configuration
        buffer = FrameBuffer(frames: MPU6050FIFO.mostFrames)
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / configuration.rate)
        info = IMUInfo(
            name: "MPU-6050", identity: 0, nominalRate: configuration.rate,
            accelerometerRange: configuration.accelerometerRange, gyroscopeRange: configuration.gyroscopeRange,
            bandwidth: configuration.bandwidth)
        status.period = 1 / configuration.rate
    }

    public mutating func poll(into batch: inout SampleBatch) -> IMUPoll {
        do throws(IMUFault) {
            switch status.state {
            case .asleep: return try identify()
            case .recovering: return clock.now() < deadline ? IMUPoll(next: deadline) : try identify()
            case .identifying: return try identify()
            case .resetting: return try awaitReset()
            case .waking, .configuring: return try configure()
            case .settling, .streaming: return try stream(into: &batch)
            }
        } catch {
            return recover(from: error)
        }
    }

    public mutating func stop() throws(BusError) {
        guard status.state != .asleep else { return }
        status.state = .asleep
        forgetStream()
        outage = nil
        try write(MPU6050Register.powerManagement1, MPU6050Value.sleep | MPU6050Value.gyroscopeClock)
    }
}
