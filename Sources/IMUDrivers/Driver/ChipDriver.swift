package import MotionCore

/// A driver of any chip that a `ChipPart` describes, read through its FIFO.
///
/// States follow one another only in `poll`, each with a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `ChipDriver+BringUp` carries out the part's scripts up to settling, `+Streaming` reads the FIFO, `+Delivery` makes
/// samples of frames, `+DataReady` gives them the instants of a line's edges, `+Health` holds the chip to the register
/// table, `+Recovery` says what becomes of a failure. What each of them has to remember is in a structure that alone
/// changes it: `BringUpProgress`, `StreamProgress`, `RepetitionFilter`, `Thermometer`, `HealthCheck`, `Recovery`.
package struct ChipDriver<
    Part: ChipPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock, Line: DataReadyLine & ~Copyable
>: IMUDriver, ~Copyable {
    package internal(set) var info: IMUInfo
    package internal(set) var status = IMUStatus()

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

    /// The part's register table and scripts.
    var plan: ChipPlan
    var bringUp = BringUpProgress()
    var progress = StreamProgress()
    var repetition = RepetitionFilter()
    var thermometer = Thermometer()
    var health = HealthCheck()
    var recovery = Recovery()

    /// Makes a driver that has not touched the bus yet.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: what timestamps and deadlines are measured with.
    ///   - settings: what is wanted of the chip.
    ///   - line: the wire from the chip's data-ready pin, whose edges are on the same clock.
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
            case .recovering: return clock.now() < recovery.retry ? IMUPoll(next: recovery.retry) : try beginAgain()
            case .identifying: return try identify()
            case .resetting, .waking, .configuring: return try goOn()
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
    /// Makes a driver of a chip whose data-ready pin leads nowhere; it has not touched the bus yet.
    package init(bus: consuming Bus, clock: Clock, settings: IMUSettings) {
        // Not by self.init: Swift 6.0.3 takes that for a copy of a noncopyable value.
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
