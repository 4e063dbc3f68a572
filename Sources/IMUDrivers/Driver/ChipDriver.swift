package import MotionCore

/// A driver for any chip that a `ChipPart` describes. It reads the chip through its FIFO.
///
/// The state changes only in `poll`, and every state has a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `ChipDriver+BringUp` runs the part's scripts up to settling, `+Streaming` reads the FIFO, `+Delivery` converts
/// frames to samples, `+DataReady` timestamps them with a line's edges, `+Health` checks the registers against the
/// table, and `+Recovery` handles failures. The state of each of these is in a structure of its own: `BringUpProgress`,
/// `StreamProgress`, `RepetitionFilter`, `Thermometer`, `HealthCheck`, `Recovery`.
package struct ChipDriver<
    Part: ChipPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock, Line: DataReadyLine & ~Copyable
>: IMUDriver, ~Copyable {
    package internal(set) var info: IMUInfo
    package internal(set) var status = IMUStatus()

    var bus: Bus
    /// The data-ready line, and the matcher of its edges to frames.
    var line: Line
    var matcher: EdgeMatcher
    let clock: Clock
    let settings: IMUSettings
    /// The chip; assumed from the settings until it has been identified.
    var part: Part
    /// The layout of the part's FIFO, which every read needs.
    var fifo: ChipFIFO
    let buffer: FrameBuffer
    var estimator: SamplePeriodEstimator

    /// The part's register table and scripts.
    var plan: ChipPlan
    var bringUp = BringUpProgress()
    var progress = StreamProgress()
    var repetition = RepetitionFilter()
    var thermometer = Thermometer()
    var health = HealthCheck()
    var recovery = Recovery()
    /// A register whose value is restored when the chip changes it.
    var kept: KeptRegister?
    var retries = TransactionRetries()
    /// The selected bank of registers; `nil` if selecting one has failed.
    var bank: UInt8? = 0

    /// Creates a driver. It does not use the bus before the first `poll`.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: the clock for timestamps and deadlines.
    ///   - settings: the requested configuration.
    ///   - line: the chip's data-ready line; its timestamps use the same clock.
    package init(bus: consuming Bus, clock: Clock, settings: IMUSettings, line: consuming Line) {
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
        plan = ChipPlan.of(part)
        buffer = FrameBuffer(bytes: Part.largestFIFO)
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / part.rate)
        info = IMUInfo(part, identity: 0)
        status.period = 1 / part.rate
    }

    package mutating func poll(into batch: inout SampleBatch) -> IMUPoll {
        do throws(IMUFault) {
            switch status.state {
            case .asleep: return try identify()
            case .recovering: return clock.now() < recovery.retry ? IMUPoll(next: recovery.retry) : try restartBringUp()
            case .identifying: return try identify()
            case .resetting, .waking, .configuring: return try runBringUp()
            case .settling, .streaming: return try stream(into: &batch)
            }
        } catch {
            return recover(from: error)
        }
    }

    package mutating func stop() throws(BusError) {
        guard status.state != .asleep else { return }
        status.state = .asleep
        forgetStream()
        recovery.end()
        let count = plan.sleep.count
        for index in 0..<count {
            if case .write(let register, let value) = plan.sleep[index] { try write(register, value) }
        }
    }
}

extension ChipDriver where Bus: ~Copyable, Line == NoDataReadyLine {
    /// Creates a driver for a chip without a data-ready line. It does not use the bus before the first `poll`.
    package init(bus: consuming Bus, clock: Clock, settings: IMUSettings) {
        // Does not call the other initialiser: Swift 6.0.3 takes that for a copy of a noncopyable value.
        let part = Part(settings: settings)
        self.bus = bus
        line = NoDataReadyLine()
        matcher = EdgeMatcher(capacity: 0)
        self.clock = clock
        self.settings = settings
        self.part = part
        fifo = part.fifo
        plan = ChipPlan.of(part)
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
