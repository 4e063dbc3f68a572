package import MotionCore

/// A driver for any chip that a `ChipPart` describes. It reads the chip through its FIFO.
///
/// The state changes only in `poll`, and every state has a deadline:
///
///     asleep -> identifying -> resetting -> waking -> configuring -> settling -> streaming
///                    ^------------------ recovering <- any failure of any of them
///
/// `ChipDriver+Streaming` reads the FIFO and delivers samples. The state of each part of the work is in a structure of its
/// own: `BringUpProgress`, `StreamProgress`, `RepetitionFilter`, `Thermometer`, `HealthCheck`, `Recovery`.
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
        do {
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

/// Transactions with retries. Reading or writing these registers twice is harmless. FIFO reads may be retried only if
/// the chip did not answer at all.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Writes a register; retries after a failure that may pass.
    mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        try select(register.bank)
        try writeInSelectedBank(register, value)
    }

    /// Selects the bank of the registers to use next.
    mutating func select(_ wanted: UInt8) throws(BusError) {
        guard bank != wanted, let register = Part.bankRegister else { return }
        bank = nil
        try writeInSelectedBank(register, RegisterValue(wanted))
        bank = wanted
    }

    /// Selects the first bank, so that a chip can be identified if the program ends. If that fails, or would take long on a
    /// bus that is stuck, the next transaction selects it.
    mutating func selectFirstBank() {
        guard !retries.isBusStuck else { return }
        do {
            try select(0)
        } catch {
            // Counted, and tried again.
        }
    }

    private mutating func writeInSelectedBank(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        try bus.write(register.number, value.bits, &retries, counting: &status.busErrors)
    }

    /// Reads a register; retries after a failure that may pass.
    mutating func read(_ register: RegisterAddress) throws(BusError) -> RegisterValue {
        try readGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.registers[0])
    }

    /// Reads adjacent registers into `buffer.registers`; retries after a failure that may pass.
    mutating func readGroup(_ registers: ChipRegisters) throws(BusError) {
        try select(registers.first.bank)
        let first = registers.first.number | (registers.count > 1 ? Part.burstBit : 0)
        let group = UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<registers.count])
        try bus.read(first, into: group, &retries, counting: &status.busErrors)
    }

    /// Reads whole frames from the FIFO into `buffer.bytes`; retries if the chip was not addressed.
    ///
    /// A chip can refuse its address or the register number, and another master can win the bus until then. But the data comes
    /// from the chip alone, so such a transaction has consumed no byte. After any other failure the number of consumed bytes
    /// is unknown, and a retry could break the framing.
    mutating func readFrames(bytes: Int) throws(BusError) {
        try select(fifo.data.bank)
        var attempt = 1
        while true {
            do {
                let frames = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<bytes])
                return try bus.read(fifo.data.number | Part.burstBit, into: frames)
            } catch {
                status.busErrors.count(error)
                guard error.hasConsumedNothing else { throw error }
                try retries.giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Like `write`, but wraps errors for the bring-up, which any failure ends.
    mutating func put(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        do {
            try write(register, value)
        } catch {
            throw .bus(error)
        }
    }

    /// Like `read`, but wraps errors for the bring-up, which any failure ends.
    mutating func get(_ register: RegisterAddress) throws(IMUFault) -> RegisterValue {
        try getGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.registers[0])
    }

    /// Like `readGroup`, but wraps errors.
    mutating func getGroup(_ registers: ChipRegisters) throws(IMUFault) {
        do {
            try readGroup(registers)
        } catch {
            throw .bus(error)
        }
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Restarts the bring-up of a lost chip, after reopening the bus.
    mutating func restartBringUp() throws(IMUFault) -> IMUPoll {
        do {
            try bus.reopen()
        } catch {
            status.busErrors.count(error)
            throw .bus(error)
        }
        return try identify()
    }

    /// Identifying: reads the identity and starts the bring-up script if the chip belongs to the family.
    mutating func identify() throws(IMUFault) -> IMUPoll {
        status.state = .identifying
        var identity = try get(Part.identityRegister).bits
        if let register = Part.bankRegister, Part(identity: identity, settings: settings) == nil {
            let isInOtherBank = bringUp.mayHaveOtherBank ? true : try isBankAbandoned()
            if isInOtherBank {
                // There, the register has another content.
                try put(register, .none)
                identity = try get(Part.identityRegister).bits
            }
        }
        info.identity = identity
        guard let found = Part(identity: identity, settings: settings) ?? assumedPart else {
            throw .identity(found: identity)
        }
        if found.rate != part.rate {
            estimator = SamplePeriodEstimator(nominalPeriod: 1 / found.rate)
            status.period = 1 / found.rate
        }
        part = found
        fifo = found.fifo
        plan.replace(with: found)
        info = IMUInfo(found, identity: identity)
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
            for setting in proof where isShown { isShown = setting.holds(in: try get(setting.register)) }
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
                status.state = state
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
        case .write(let register, let value): try put(register, value)
        case .attempt(let register, let value): try attempt(register, value)
        case .read(let register): _ = try get(register)
        case .keep(let register): kept = KeptRegister(register: register, value: try get(register))
        case .discardCount: try getGroup(fifo.count)
        case .apply(let stage): try perform(stage, isWritten: true, isReadBack: false)
        case .configure(let stage): try perform(stage, isWritten: true, isReadBack: true)
        case .verify(let stage): try perform(stage, isWritten: false, isReadBack: true)
        case .check(let setting): try verify(setting)
        case .noteTemperature(let register): try noteTemperature(register)
        case .settle(let seconds): progress.settledAt = clock.now().advanced(bySeconds: seconds)
        case .enter, .waitFor, .wait: break
        }
    }

    /// Writes the table's registers of a stage, reads them back, or both, one register at a time.
    private mutating func perform(_ stage: RegisterStage, isWritten: Bool, isReadBack: Bool) throws(IMUFault) {
        let count = plan.registers.count
        for index in 0..<count {
            let row = plan.registers[index]
            guard row.stage == stage else { continue }
            if isWritten { try put(row.setting.register, row.setting.set) }
            if isReadBack { try verify(row.setting) }
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
        do {
            if wanted.holds(in: try read(wanted.register)) { return nil }
        } catch {
            // A chip in reset may not answer. If it never does, the deadline ends the wait.
            if error.isLasting { throw .bus(error) }
        }
        let now = clock.now()
        guard !bringUp.isOverdue(at: now) else { throw .deadline(status.state) }
        return IMUPoll(next: now.advanced(bySeconds: interval))
    }

    /// Starts the FIFO of a configured chip.
    private mutating func beginStream() throws(IMUFault) -> IMUPoll {
        try startFIFO(samplesOn: false)
        try perform(.verify(.fifo))
        status.state = .settling
        repetition.reset()
        health.begin(at: clock.now())
        thermometer.begin(at: clock.now())
        return IMUPoll(next: nextRead())
    }

    /// Empties and starts the FIFO. The numbering of samples restarts, and their phase too unless the chip `samplesOn`.
    mutating func startFIFO(samplesOn: Bool) throws(IMUFault) {
        thermometer.forgetReference()
        let count = plan.startFIFO.count
        for index in 0..<count { try perform(plan.startFIFO[index]) }
        estimator.restart(samplesOn: samplesOn)
        restartLine()
        repetition.held = 0
        progress.begin(at: clock.now())
    }

    /// Writes a register without requiring an acknowledgement.
    private mutating func attempt(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        do {
            try select(register.bank)
            try bus.write(register.number, value.bits)
        } catch {
            guard error.isLasting else { return }
            status.busErrors.count(error)
            throw .bus(error)
        }
    }

    private mutating func noteTemperature(_ register: RegisterAddress) throws(IMUFault) {
        try getGroup(ChipRegisters(first: register, count: 2))
        let raw = Int16(bitPattern: UInt16(buffer.registers[0]) << 8 | UInt16(buffer.registers[1]))
        thermometer.noteStart(raw: raw, celsius: part.celsius(raw))
    }

    /// Reads a register and checks its value.
    private mutating func verify(_ setting: RegisterSetting) throws(IMUFault) {
        let found = try get(setting.register)
        guard setting.holds(in: found) else {
            throw .readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
        }
    }
}

extension BusError {
    /// Whether the cause lies with the adapter or with permissions, rather than with a chip that is briefly busy or
    /// absent.
    var isLasting: Bool {
        switch kind {
        case .notAcknowledged, .arbitrationLost, .timedOut, .inputOutput: false
        case .busy, .accessDenied, .absent, .unsupported, .other: true
        }
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
        status.lastFault = fault
        switch fault {
        case .overflow: status.overflows += 1
        case .misaligned: status.misalignments += 1
        default: break
        }
        guard recovery.interrupt(by: fault) else { throw fault }
        try startFIFO(samplesOn: true)
        return IMUPoll(next: nextRead(), event: event)
    }

    /// Abandons the present attempt. The chip is brought up from scratch after a pause that grows with each failure.
    mutating func recover(from fault: IMUFault) -> IMUPoll {
        status.state = .recovering
        status.lastFault = fault
        forgetStream()
        let isNew = recovery.fail(with: fault, at: clock.now())
        return IMUPoll(next: recovery.retry, event: isNew ? .failed(fault) : .none)
    }

    /// Discards the state that becomes invalid when the chip stops sampling.
    mutating func forgetStream() {
        if bank != 0 {
            bringUp.mayHaveOtherBank = true
            bank = 0
        }
        estimator.restart()
        status.isPeriodMeasured = false
        recovery.forgetInterruptions()
        progress.end()
        repetition.reset()
        thermometer.forgetReference()
    }
}

/// Failures that have not ended yet, and the schedule of the attempts to recover.
///
/// The driver recovers from an interruption by restarting the FIFO, and from an outage by bringing the chip up from
/// scratch, after pauses that grow.
struct Recovery: BitwiseCopyable {
    /// When the next bring-up attempt is due.
    private(set) var retry = Timestamp(nanoseconds: 0)
    /// The ongoing failure that was last reported.
    private(set) var outage: IMUFault?
    /// The ongoing interruption, whose end has not been reported yet.
    var interruption: IMUFault?
    /// Interruptions since the last sample.
    private var consecutiveInterruptions = 0
    /// The pause before the next attempt, seconds.
    private var backoff = DriverTiming.firstBackoff

    /// The ongoing failure.
    var fault: IMUFault? { outage ?? interruption }

    /// Records a failed attempt and schedules the next one. Returns whether the failure is new. A failure is reported
    /// once, and again only if its cause changes.
    mutating func fail(with fault: IMUFault, at now: Timestamp) -> Bool {
        retry = now.advanced(bySeconds: backoff)
        backoff = min(2 * backoff, DriverTiming.longestBackoff)
        let isNew = outage != fault
        outage = fault
        return isNew
    }

    /// Records that the FIFO's content was lost. Returns whether the FIFO may be restarted; `false` if this has
    /// happened too often.
    mutating func interrupt(by fault: IMUFault) -> Bool {
        consecutiveInterruptions += 1
        guard consecutiveInterruptions < StreamLimits.interruptionLimit else { return false }
        interruption = fault
        return true
    }

    /// Forgets interruptions once the chip has stopped sampling.
    mutating func forgetInterruptions() {
        interruption = nil
        consecutiveInterruptions = 0
    }

    /// Ends every failure, after a sample has arrived or the driver was stopped. The first sample after a bring-up also
    /// resets the pause.
    mutating func end(isBroughtUp: Bool = false) {
        forgetInterruptions()
        outage = nil
        if isBroughtUp { backoff = DriverTiming.firstBackoff }
    }
}

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Compares one group of registers with the table, if that is due: chips brown out, and registers flip bits.
    ///
    /// It runs before the FIFO is read, so that samples of a misconfigured chip are not delivered.
    mutating func checkHealth() throws(IMUFault) {
        guard health.isDue(at: clock.now()) else { return }
        // Slow polls check several groups, so that no group goes unchecked for much more than half a second.
        let late = min(4, max(1, Int((settings.batchInterval / DriverTiming.healthInterval).rounded(.up))))
        let count = plan.registers.groupCount
        guard count > 0 else { return }
        let groups = late * HealthCheck.groupsAtOnce(of: count)
        try restoreKept()
        defer { selectFirstBank() }
        for _ in 0..<min(groups, count) {
            try check(plan.registers.group(health.group))
            health.advance(of: count)
        }
    }

    /// Restores the kept register, if there is one and the chip has changed it. The stream continues.
    private mutating func restoreKept() throws(IMUFault) {
        guard let kept, try get(kept.register) != kept.value else { return }
        // A single wrong reading may be a bus error.
        if try get(kept.register) != kept.value { try put(kept.register, kept.value) }
    }

    /// If no frame has arrived for too long, distinguishes a chip that was reset from one that has stalled.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        let timeout = max(DriverTiming.shortestStall, DriverTiming.stalledPeriods * estimator.period)
        guard now.seconds(since: progress.lastFill) > timeout else { return }
        try checkAllGroups()
        throw .stalled
    }

    /// Checks all registers. A chip that was reset does not send frames.
    mutating func checkAllGroups() throws(IMUFault) {
        defer { selectFirstBank() }
        let count = plan.registers.groupCount
        for number in 0..<count { try check(plan.registers.group(number)) }
    }

    /// Checks the registers with the ranges, which determine what a count means.
    mutating func checkRanges() throws(IMUFault) {
        defer { selectFirstBank() }
        let count = plan.registers.rangeCount
        for number in 0..<count { try check(plan.registers.range(number)) }
    }

    private mutating func check(_ group: ChipRegisters) throws(IMUFault) {
        // A single wrong reading may be a bus error.
        guard try changedRegister(in: group) != nil, let register = try changedRegister(in: group) else { return }
        throw .configurationLost(register: register.number)
    }

    /// The first register of a group whose content is wrong.
    private mutating func changedRegister(in group: ChipRegisters) throws(IMUFault) -> RegisterAddress? {
        try getGroup(group)
        return plan.registers.changedRegister(in: group, reading: UnsafeRawBufferPointer(buffer.registers))
    }

    /// Reads the temperature once a second if the FIFO does not carry it.
    mutating func readTemperatureIfDue() throws(IMUFault) {
        guard let registers = fifo.temperature else { return }
        guard thermometer.isDue(at: clock.now()) else { return }
        try getGroup(registers)
        thermometer.separate = part.temperature(UnsafeRawBufferPointer(buffer.registers))
    }
}
