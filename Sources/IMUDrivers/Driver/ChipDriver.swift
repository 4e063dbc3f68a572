package import MotionCore

/// A driver for any chip that a `ChipPart` describes: a state machine that performs the due work each time it is polled, and
/// never sleeps or waits. It reads the chip through its FIFO.
///
/// The sensor thread calls `poll`, forwards the samples, and calls again at the returned time. The state changes only in
/// `poll`, and every state has a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `ChipDriver+Streaming` reads the FIFO, of which `FIFOStream` makes samples. The state of each part of the work is in a
/// structure of its own: `FIFOStream`, `RegisterAccess`, `BringUpProgress`, `HealthCheck`.
package struct ChipDriver<
    Part: ChipPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock, Line: DataReadyLine & ~Copyable
>: ~Copyable {
    /// The chip and its configuration. Complete once the first sample has been delivered.
    package internal(set) var info: IMUInfo
    /// The FIFO, and the stream of its samples.
    var fifo: FIFOStream

    /// The driver's state, and its counters since it was created.
    package var status: IMUStatus {
        var status = fifo.stream.status
        status.busErrors = access.errors
        return status
    }

    var bus: Bus
    var access: RegisterAccess<IMUFault>
    /// The data-ready line.
    var line: Line
    let clock: Clock
    let settings: IMUSettings
    /// The chip; assumed from the settings until it has been identified.
    var part: Part

    /// The part's register table and scripts.
    var plan: ChipPlan
    var bringUp = BringUpProgress()
    var health = HealthCheck()
    /// A register whose value is restored when the chip changes it.
    var kept: KeptRegister?

    /// Creates a driver. It does not use the bus before the first `poll`.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: the clock for timestamps and deadlines.
    ///   - settings: the requested configuration.
    ///   - line: the chip's data-ready line; its timestamps use the same clock.
    package init(bus: consuming Bus, clock: Clock, settings: IMUSettings, line: consuming Line) {
        var settings = settings
        if Line.isWired { settings.signalsDataReady = true }
        let part = Part(settings: settings)
        self.bus = bus
        access = RegisterAccess(
            burstBit: Part.burstBit, bankRegister: Part.bankRegister, fifo: Part.largestFIFO)
        self.line = line
        self.clock = clock
        self.settings = settings
        self.part = part
        plan = ChipPlan.of(part)
        info = IMUInfo(part, identity: 0, settings)
        fifo = FIFOStream(
            ChipTraits(part, readsGyroscope: settings.readsGyroscope), settings: settings, isWired: Line.isWired)
    }

    /// Performs the work due now and appends completed samples to `batch`. Polling a stopped driver starts it again.
    package mutating func poll(into batch: inout SampleBatch) -> IMUPoll {
        do {
            switch fifo.stream.status.state {
            case .asleep: return try identify()
            case .recovering:
                return clock.now() < fifo.stream.retry ? IMUPoll(next: fifo.stream.retry) : try restartBringUp()
            case .identifying: return try identify()
            case .resetting, .waking, .configuring: return try runBringUp()
            case .settling, .streaming: return try readFIFO(into: &batch)
            }
        } catch {
            // The chip is brought up from scratch after a pause that grows with each failure.
            forgetStream()
            return fifo.stream.fail(with: error, at: clock.now())
        }
    }

    /// Puts the chip to sleep. The driver does not use the bus again until the next `poll`.
    package mutating func stop() throws(BusError) {
        guard fifo.stream.status.state != .asleep else { return }
        forgetStream()
        fifo.stream.stop()
        let count = plan.sleep.count
        for index in 0..<count {
            if case .write(let register, let value) = plan.sleep[index] { try access.write(register, value, on: &bus) }
        }
    }
}

extension IMUInfo {
    /// The description of a part that answered with `identity`.
    init<Part: ChipPart>(_ part: Part, identity: UInt8, _ settings: IMUSettings) {
        self.init(
            name: part.name, identity: identity, nominalRate: part.rate, accelerometerRange: part.accelerometerRange,
            gyroscopeRange: settings.readsGyroscope ? part.gyroscopeRange : 0, bandwidth: part.bandwidth)
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Restarts the bring-up of a lost chip, after reopening the bus.
    mutating func restartBringUp() throws(IMUFault) -> IMUPoll {
        try access.reopen(on: &bus)
        return try identify()
    }

    /// Identifying: reads the identity and starts the bring-up script if the chip belongs to the family.
    mutating func identify() throws(IMUFault) -> IMUPoll {
        fifo.stream.status.state = .identifying
        var identity = try access.get(Part.identityRegister, on: &bus).bits
        if let register = Part.bankRegister, Part(identity: identity, settings: settings) == nil {
            let isInOtherBank = bringUp.mayHaveOtherBank ? true : try isBankAbandoned()
            if isInOtherBank {
                // There, the register has another content.
                try access.put(register, .none, on: &bus)
                identity = try access.get(Part.identityRegister, on: &bus).bits
            }
        }
        info.identity = identity
        guard let found = Part(identity: identity, settings: settings) ?? assumedPart else {
            throw .identity(found: identity)
        }
        part = found
        fifo.use(ChipTraits(found, readsGyroscope: settings.readsGyroscope))
        plan.replace(with: found)
        info = IMUInfo(found, identity: identity, settings)
        bringUp.begin()
        kept = nil
        return try runBringUp()
    }

    /// Whether another bank is selected: by a program that used this driver and ended, or by this driver, if a write that
    /// should have selected bank 0 was lost. It only reads.
    private mutating func isBankAbandoned() throws(IMUFault) -> Bool {
        for settings in Part.abandonedBanks {
            // A chip that this driver has identified before needs no other proof than its bank register.
            let proof = bringUp.hasIdentified ? settings.prefix(1) : settings[...]
            var isShown = true
            for setting in proof where isShown {
                isShown = setting.holds(in: try access.get(setting.register, on: &bus))
            }
            if isShown { return true }
        }
        return false
    }

    /// The part that the user's `assumedIdentity` setting names, for a chip with an unknown identity.
    private var assumedPart: Part? {
        settings.assumedIdentity.flatMap { Part(identity: $0, settings: settings) }
    }

    /// Resetting, waking, configuring: runs the script up to the next wait.
    mutating func runBringUp() throws(IMUFault) -> IMUPoll {
        let end = plan.bringUp.count
        while bringUp.step < end {
            switch plan.bringUp[bringUp.step] {
            case .enter(let state):
                fifo.stream.status.state = state
                if state == .waking { bringUp.noteWaking(at: clock.now()) }
            case .wait(let seconds):
                bringUp.advance()
                return IMUPoll(next: clock.now().advanced(bySeconds: seconds))
            case .waitFor(let wanted, let interval, let limit):
                if let poll = try look(for: wanted, every: interval, within: limit) { return poll }
            case let step:
                do {
                    try perform(step)
                } catch {
                    guard case .readBack = error, bringUp.wakeAgain(at: clock.now()) else { throw error }
                    continue
                }
            }
            bringUp.advance()
        }
        bringUp.mayHaveOtherBank = false
        return try beginStream()
    }

    /// Performs a step that does not wait.
    private mutating func perform(_ step: ChipStep) throws(IMUFault) {
        switch step {
        case .write(let register, let value): try access.put(register, value, on: &bus)
        case .attempt(let register, let value): try access.attempt(register, value, on: &bus)
        case .read(let register): _ = try access.get(register, on: &bus)
        case .keep(let register): kept = KeptRegister(register: register, value: try access.get(register, on: &bus))
        case .discardCount: try access.getGroup(fifo.layout.count, on: &bus)
        case .apply(let stage): try access.perform(stage, of: plan.registers, isReadBack: false, on: &bus)
        case .configure(let stage): try access.perform(stage, of: plan.registers, on: &bus)
        case .verify(let stage): try access.perform(stage, of: plan.registers, isWritten: false, on: &bus)
        case .check(let setting): try access.verify(setting, on: &bus)
        case .noteTemperature(let register): try noteTemperature(register)
        case .settle(let seconds): fifo.progress.settledAt = clock.now().advanced(bySeconds: seconds)
        case .enter, .waitFor, .wait: break
        }
    }

    /// Checks whether a register has the awaited value. Returns the next poll if not, `nil` if it has.
    private mutating func look(
        for wanted: RegisterSetting, every interval: Double, within limit: Double
    ) throws(IMUFault) -> IMUPoll? {
        // The first read comes after the first pause, not immediately.
        if bringUp.beginWaiting(from: clock.now(), for: limit) {
            return IMUPoll(next: clock.now().advanced(bySeconds: interval))
        }
        if try access.hasReached(wanted, on: &bus) { return nil }
        let now = clock.now()
        guard !bringUp.isOverdue(at: now) else { throw .deadline(fifo.stream.status.state) }
        return IMUPoll(next: now.advanced(bySeconds: interval))
    }

    /// Starts the FIFO of a configured chip.
    private mutating func beginStream() throws(IMUFault) -> IMUPoll {
        try startFIFO(samplesOn: false)
        try perform(.verify(.fifo))
        fifo.stream.status.state = .settling
        fifo.repetition.reset()
        health.begin(at: clock.now())
        fifo.thermometer.begin(at: clock.now())
        return IMUPoll(next: fifo.nextRead(from: clock.now()))
    }

    /// Empties and starts the FIFO. The numbering of samples restarts, and their phase too unless the chip `samplesOn`.
    mutating func startFIFO(samplesOn: Bool) throws(IMUFault) {
        fifo.thermometer.forgetReference()
        let count = plan.startFIFO.count
        for index in 0..<count { try perform(plan.startFIFO[index]) }
        fifo.begin(at: clock.now(), samplesOn: samplesOn)
    }

    private mutating func noteTemperature(_ register: RegisterAddress) throws(IMUFault) {
        try access.getGroup(ChipRegisters(first: register, count: 2), on: &bus)
        let bytes = access.buffer.registers
        let raw = Int16(bitPattern: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        fifo.thermometer.noteStart(raw: raw, celsius: part.celsius(raw))
    }
}

/// The current step of a chip's bring-up, and its deadlines.
struct BringUpProgress: BitwiseCopyable {
    /// The next step of the script.
    private(set) var step = 0
    /// The step to return to while registers do not yet keep their values, and the deadline for that.
    private var wakingStep: Int?
    private var registerDeadline: Timestamp?
    /// The deadline of the step's wait; `nil` if it is not waiting.
    private var waitEnd: Timestamp?

    /// Whether this driver may have left another bank of registers selected than the one with the identity.
    var mayHaveOtherBank = false

    /// Whether this driver has identified its chip at some time.
    private(set) var hasIdentified = false

    /// Starts the script, once the chip has been identified.
    mutating func begin() {
        self = BringUpProgress()
        mayHaveOtherBank = true
        hasIdentified = true
    }

    /// Marks the current step as done.
    mutating func advance() {
        step += 1
        waitEnd = nil
    }

    /// Records that the chip is waking from its reset; from now on its registers may reject values for a while.
    mutating func noteWaking(at now: Timestamp) {
        wakingStep = step
        if registerDeadline == nil { registerDeadline = now.advanced(bySeconds: DriverTiming.registerTimeout) }
    }

    /// Returns to the waking step if a register may still reject its value. Returns whether it did.
    mutating func wakeAgain(at now: Timestamp) -> Bool {
        guard let wakingStep, let registerDeadline, now < registerDeadline else { return false }
        step = wakingStep
        return true
    }

    /// Starts the step's wait if it is not already waiting. Returns whether it started.
    mutating func beginWaiting(from now: Timestamp, for seconds: Double) -> Bool {
        guard waitEnd == nil else { return false }
        waitEnd = now.advanced(bySeconds: seconds)
        return true
    }

    /// Whether the step has exceeded its deadline.
    func isOverdue(at now: Timestamp) -> Bool {
        guard let waitEnd else { return false }
        return now >= waitEnd
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Restarts the FIFO after its content was lost; the stream continues with a gap. `event` is the change already
    /// caused by samples of the same poll.
    mutating func interrupt(_ fault: IMUFault, after event: SensorEvent = .none) throws(IMUFault) -> IMUPoll {
        guard fifo.stream.interrupt(by: fault) else { throw fault }
        try startFIFO(samplesOn: true)
        return IMUPoll(next: fifo.nextRead(from: clock.now()), event: event)
    }

    /// Discards the state that becomes invalid when the chip stops sampling.
    mutating func forgetStream() {
        if access.assumeFirstBank() { bringUp.mayHaveOtherBank = true }
        fifo.end()
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Compares the groups of registers that are due with the table: chips brown out, and registers flip bits. Returns the
    /// FIFO's count if it was read with the last of them.
    ///
    /// It runs before the FIFO is read, so that samples of a misconfigured chip are not delivered.
    mutating func checkHealth(at now: Timestamp) throws(IMUFault) -> FIFOFill? {
        let count = plan.registers.groupCount
        let groups = health.takeDue(at: now, of: count)
        try restoreKept()
        var fill: FIFOFill?
        do {
            for number in 0..<groups {
                fill = try checkNextGroup(withCount: number == groups - 1)
                health.advance(of: count)
            }
        } catch {
            access.selectFirstBank(on: &bus)
            throw error
        }
        access.selectFirstBank(on: &bus)
        return fill
    }

    /// Compares the next group of registers, which is read with the FIFO's count if that is wanted and the bus can. Returns
    /// the count then, unless a wrong register shows that the transaction was garbled. An overflow is believed nevertheless:
    /// some chips clear that flag when it is read.
    private mutating func checkNextGroup(withCount: Bool) throws(IMUFault) -> FIFOFill? {
        let group = plan.registers.group(health.group)
        let fill = withCount ? readFill(with: group) : nil
        let found = UnsafeRawBufferPointer(access.buffer.registers)
        if let fill, plan.registers.changedRegister(in: group, reading: found) == nil { return fill }
        try access.check(group, with: plan.registers, on: &bus)
        return fill.flatMap { $0.bytes > fifo.layout.size ? $0 : nil }
    }

    /// Restores the kept register, if there is one and the chip has changed it. The stream continues.
    private mutating func restoreKept() throws(IMUFault) {
        guard let kept, try access.get(kept.register, on: &bus) != kept.value else { return }
        // A single wrong reading may be a bus error.
        if try access.get(kept.register, on: &bus) != kept.value { try access.put(kept.register, kept.value, on: &bus) }
    }

    /// If no frame has arrived for too long, distinguishes a chip that was reset from one that has stalled.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        guard fifo.isStalled(at: now) else { return }
        // A chip that was reset does not send frames.
        try access.checkAll(of: plan.registers, on: &bus)
        throw .stalled
    }

    /// Reads the temperature, which is due once a second, if the FIFO does not carry it.
    mutating func readTemperature(at now: Timestamp) throws(IMUFault) {
        fifo.thermometer.schedule(after: now)
        guard let registers = fifo.layout.temperature else { return }
        try access.getGroup(registers, on: &bus)
        fifo.thermometer.separate = part.temperature(UnsafeRawBufferPointer(access.buffer.registers))
    }
}
