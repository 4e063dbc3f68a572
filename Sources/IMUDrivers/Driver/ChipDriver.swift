public import MotionCore

/// A driver of any chip that a `ChipPart` describes, read through its FIFO.
///
/// States follow one another only in `poll`, each with a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `ChipDriver+BringUp` carries out the part's scripts up to settling, `+Streaming` reads the FIFO, `+Delivery` makes
/// samples of frames, `+DataReady` gives them the instants of a line's edges, `+Health` looks after the configuration,
/// `+Recovery` says what becomes of a failure.
public struct ChipDriver<
    Part: ChipPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock, Line: DataReadyLine & ~Copyable
>: IMUDriver, ~Copyable {
    public internal(set) var info: IMUInfo
    public internal(set) var status = IMUStatus()

    var bus: Bus
    /// The wire from the data-ready pin, and which of its edges belongs to which frame.
    var line: Line
    var matcher: EdgeMatcher
    let clock: Clock
    let settings: IMUSettings
    /// What the chip is; taken from the settings until it was asked.
    var part: Part
    /// The measures of the part's FIFO, which every look at it needs.
    var fifo: ChipFIFO
    let buffer: FrameBuffer
    var estimator: SamplePeriodEstimator

    /// The next step of the bring-up, and where it begins again where registers do not keep their values yet.
    var step = 0
    var wakingStep = 0
    /// The step that waits for a register.
    var awaitedStep: Int?
    /// The end of the present state: when it is over, or when it has taken too long.
    var deadline = Timestamp(nanoseconds: 0)
    /// Until when registers may refuse their values, after a reset.
    var patienceEnd = Timestamp(nanoseconds: 0)
    /// From this instant on the sensors tell the truth.
    var settledAt = Timestamp(nanoseconds: 0)
    /// The wait before the next attempt to bring the chip up, seconds.
    var backOff = DriverTiming.firstBackOff
    /// The failure that was last told, and has not ended yet.
    var outage: IMUFault?
    /// The interruption whose end is yet to be told.
    var interruption: IMUFault?
    /// Interruptions since the last sample.
    var interruptionsInARow = 0
    /// When the bus last did what it was asked to while samples flowed.
    var lastAnswer = Timestamp(nanoseconds: 0)
    /// Polls in a row that found the FIFO between two frames.
    var unevenPolls = 0

    /// Frames taken from the FIFO since it was last started.
    var taken: Int64 = 0
    /// When the FIFO last had a frame, or was started.
    var lastFill = Timestamp(nanoseconds: 0)
    /// The last frame, how often it has been repeated since, and how many of the repetitions are held back.
    var lastFrame: ChipFrame?
    var repetitions = 0
    var heldFrames = 0
    /// What the next frame's temperature must be near to, °C.
    var lastTemperature: Double?
    /// The temperature of parts that do not put it into the FIFO, °C.
    var separateTemperature = Double.nan
    var lastTimestamp: Timestamp?

    var healthDue = Timestamp(nanoseconds: 0)
    var temperatureDue = Timestamp(nanoseconds: 0)
    var healthGroup = 0
    var pollCount = 0

    /// Makes a driver that has not touched the bus yet.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: what timestamps and deadlines are measured with.
    ///   - settings: what is wanted of the chip.
    ///   - line: the wire from the chip's data-ready pin, whose edges are on the same clock.
    public init(bus: consuming Bus, clock: Clock, settings: IMUSettings, line: consuming Line) {
        var settings = settings
        settings.signalsDataReady = Line.isWired
        let part = Part(settings: settings)
        self.bus = bus
        self.line = line
        matcher = EdgeMatcher(capacity: Line.isWired ? Part.mostEdges : 0)
        self.clock = clock
        self.settings = settings
        self.part = part
        fifo = part.fifo
        buffer = FrameBuffer(bytes: Part.largestFIFO)
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / part.rate)
        info = IMUInfo(part, identity: 0)
        status.period = 1 / part.rate
    }

    public mutating func poll(into batch: inout SampleBatch) -> IMUPoll {
        do throws(IMUFault) {
            switch status.state {
            case .asleep: return try identify()
            case .recovering: return clock.now() < deadline ? IMUPoll(next: deadline) : try beginAnew()
            case .identifying: return try identify()
            case .resetting, .waking, .configuring: return try goOn()
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
        var index = 0
        while let step = part.sleep(index) {
            if case .write(let register, let value) = step { try write(register, value) }
            index += 1
        }
    }
}

extension ChipDriver where Bus: ~Copyable, Line == NoDataReadyLine {
    /// Makes a driver of a chip whose data-ready pin leads nowhere; it has not touched the bus yet.
    public init(bus: consuming Bus, clock: Clock, settings: IMUSettings) {
        // Not by self.init: Swift 6.0.3 takes that for a copy of a noncopyable value.
        let part = Part(settings: settings)
        self.bus = bus
        line = NoDataReadyLine()
        matcher = EdgeMatcher(capacity: 0)
        self.clock = clock
        self.settings = settings
        self.part = part
        fifo = part.fifo
        buffer = FrameBuffer(bytes: Part.largestFIFO)
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / part.rate)
        info = IMUInfo(part, identity: 0)
        status.period = 1 / part.rate
    }
}

extension IMUInfo {
    /// The description of a part that answered with `identity`.
    init<Part: ChipPart>(_ part: Part, identity: UInt8) {
        self.init(
            name: part.name, identity: identity, nominalRate: part.rate, accelerometerRange: part.accelerometerRange,
            gyroscopeRange: part.gyroscopeRange, bandwidth: part.bandwidth)
    }
}
