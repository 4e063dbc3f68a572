package import MotionCore

/// A driver for any magnetometer that a `MagnetometerPart` describes: a state machine that performs the due work each time
/// it is polled, and never sleeps or waits. It allocates nothing after it was created.
///
///     asleep -> identifying -> starting -> measuring
///                    ^---- recovering <- any failure of any of them
///
/// The chip measures continuously, at 80 or 100 Hz, and a reading takes the newest measurement, 20 times a second. So a
/// reading costs one or two transactions and needs no estimate of the chip's phase: its measurement was completed at most
/// one period of the chip before the transaction, 10 or 12.5 ms. The time stamp is the middle of that interval minus the
/// delay of a measurement. Its error is at most half a period plus half the duration of the transaction, 7 ms on a bus of
/// 100 kHz. A transaction of more than half the interval between readings delivers nothing, so that the error is below half
/// the interval at worst. At 20 Hz, the chip would be read as often, and the error would be up to 25 ms.
///
/// The configuration is read with or after each reading. If it is not what was written, the reading is not delivered.
package struct MagnetometerDriver<
    Part: MagnetometerPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock
>: ~Copyable {
    package let info: MagnetometerInfo
    package internal(set) var status = MagnetometerStatus()

    var bus: Bus
    let clock: Clock
    var part = Part()
    let registers: RegisterTable
    let buffer = MagnetometerBuffer()

    /// When the next poll is due.
    var due = Timestamp(nanoseconds: 0)
    /// The next step of the bring-up, and the end of its wait; `nil` if it is not waiting.
    var step = 0
    var waitEnd: Timestamp?
    /// When the chip last had a new measurement, and when the bus last answered.
    var lastMeasurement = Timestamp(nanoseconds: 0)
    var lastAnswer = Timestamp(nanoseconds: 0)
    /// The last field that differed from the one before, µT, and how often it has been repeated since. A frozen chip may
    /// repeat it even after it was brought up again.
    var lastField: Vector3?
    var repetitions = 0
    /// Whether a transaction was interrupted, so that the chip may hold back a part of an old measurement.
    var isInterrupted = false
    var retries = TransactionRetries()
    /// The pause before the next attempt, seconds.
    var backoff = MagnetometerTiming.firstBackoff
    /// Whether readings have stopped, or could not begin.
    var isOut = false

    /// Creates a driver. It does not use the bus before the first `poll`.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: the clock for timestamps and deadlines.
    package init(bus: consuming Bus, clock: Clock) {
        self.bus = bus
        self.clock = clock
        registers = Self.table()
        info = MagnetometerInfo(
            name: Part.name, range: Part.figures.range, nominalRate: 1 / Part.figures.interval)
    }

    /// Not in the initialiser: Swift 6.0.3 crashes on a mutating method call there.
    private static func table() -> RegisterTable {
        var table = RegisterTable()
        Part().addRegisters(to: &table)
        return table
    }

    /// Performs the work due now. Polling a stopped driver starts it again.
    package mutating func poll() -> MagnetometerPoll {
        guard status.state == .asleep || clock.now() >= due else { return MagnetometerPoll(next: due) }
        var sample: MagneticSample?
        do {
            switch status.state {
            case .asleep, .identifying: try identify()
            case .starting: try start()
            case .measuring: sample = try measure()
            case .recovering:
                try reopen()
                try identify()
            }
        } catch {
            recover(from: error)
        }
        return MagnetometerPoll(next: due, sample: sample)
    }

    /// Puts the part to sleep. The driver does not use the bus again until the next `poll`.
    package mutating func stop() throws(BusError) {
        guard status.state != .asleep else { return }
        // A part that was not identified is left alone.
        let isStarted = status.state == .starting || status.state == .measuring
        status.state = .asleep
        backoff = MagnetometerTiming.firstBackoff
        isOut = false
        if isStarted { try write(Part.sleep.register, Part.sleep.set) }
    }

    /// Abandons the present attempt. The part is brought up from scratch after a pause that grows with each failure.
    private mutating func recover(from fault: MagnetometerFault) {
        status.state = .recovering
        status.lastFault = fault
        if !isOut { status.failures += 1 }
        isOut = true
        due = clock.now().advanced(bySeconds: backoff)
        backoff = min(2 * backoff, MagnetometerTiming.longestBackoff)
    }
}

/// Transactions with retries. A repeated reading is at worst one without a new measurement.
extension MagnetometerDriver where Bus: ~Copyable {
    /// Writes a register; retries after a failure that may pass.
    mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        try bus.write(register.number, value.bits, &retries, counting: &status.busErrors)
    }

    /// Reads a register; retries after a failure that may pass.
    mutating func read(_ register: RegisterAddress) throws(BusError) -> RegisterValue {
        try readGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.bytes[0])
    }

    /// Reads adjacent registers into the buffer; retries after a failure that may pass.
    mutating func readGroup(_ registers: ChipRegisters) throws(BusError) {
        let first = registers.first.number | (registers.count > 1 ? Part.burstBit : 0)
        let group = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<registers.count])
        let before = status.busErrors.interruptions
        defer { if status.busErrors.interruptions > before { isInterrupted = true } }
        try bus.read(first, into: group, &retries, counting: &status.busErrors)
    }

    /// Like `write`, `read` and `readGroup`, but wrap errors for the bring-up, which any failure ends.
    mutating func put(_ register: RegisterAddress, _ value: RegisterValue) throws(MagnetometerFault) {
        do {
            try write(register, value)
        } catch {
            throw .bus(error)
        }
    }

    mutating func get(_ register: RegisterAddress) throws(MagnetometerFault) -> RegisterValue {
        try getGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.bytes[0])
    }

    mutating func getGroup(_ registers: ChipRegisters) throws(MagnetometerFault) {
        do {
            try readGroup(registers)
        } catch {
            throw .bus(error)
        }
    }
}

extension MagnetometerDriver where Bus: ~Copyable {
    /// Reopens the bus of a lost part.
    mutating func reopen() throws(MagnetometerFault) {
        do {
            try bus.reopen()
        } catch {
            status.busErrors.count(error)
            throw .bus(error)
        }
    }

    /// Identifying: reads the identity, and starts the bring-up of a part that has it. Nothing is written to another one.
    mutating func identify() throws(MagnetometerFault) {
        status.state = .identifying
        try checkIdentity(Part.identity)
        if let second = Part.secondIdentity { try checkIdentity(second) }
        status.state = .starting
        part = Part()
        step = 0
        waitEnd = nil
        isInterrupted = false
        try start()
    }

    private mutating func checkIdentity(_ wanted: RegisterSetting) throws(MagnetometerFault) {
        let found = try get(wanted.register)
        guard wanted.holds(in: found) else { throw .identity(found: found.bits) }
    }

    /// Starting: runs the steps up to the next wait.
    mutating func start() throws(MagnetometerFault) {
        while let current = part.step(step) {
            switch current {
            case .write(let register, let value): try put(register, value)
            case .wait(let seconds):
                step += 1
                due = clock.now().advanced(bySeconds: seconds)
                return
            case .waitFor(let wanted, let interval, let limit):
                guard try isReached(wanted, within: limit) else {
                    due = clock.now().advanced(bySeconds: interval)
                    return
                }
            case .readTrim(let registers):
                try getGroup(registers)
                if let wrong = part.takeTrim(UnsafeRawBufferPointer(buffer.bytes)) { throw .trim(found: wrong) }
            case .verify(let registers):
                try getGroup(registers)
                try verify(registers, at: 0)
            case .configure: try configure()
            }
            step += 1
        }
        status.state = .measuring
        let now = clock.now()
        lastMeasurement = now
        lastAnswer = now
        repetitions = 0
        due = now.advanced(bySeconds: Part.figures.interval)
    }

    /// Whether a register has the awaited value. The first read comes after the first pause, not immediately.
    private mutating func isReached(
        _ wanted: RegisterSetting, within limit: Double
    ) throws(MagnetometerFault) -> Bool {
        guard let end = waitEnd else {
            waitEnd = clock.now().advanced(bySeconds: limit)
            return false
        }
        do {
            if wanted.holds(in: try read(wanted.register)) {
                waitEnd = nil
                return true
            }
        } catch {
            // A part in reset may not answer. If it never does, the deadline ends the wait.
            if error.isLasting { throw .bus(error) }
        }
        guard clock.now() < end else { throw .deadline }
        return false
    }

    /// Writes the table's registers and reads them back, one at a time.
    private mutating func configure() throws(MagnetometerFault) {
        let count = registers.count
        for index in 0..<count where registers[index].stage == .configuration {
            let setting = registers[index].setting
            try put(setting.register, setting.set)
            let found = try get(setting.register)
            guard setting.holds(in: found) else {
                throw .readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
            }
        }
    }

    /// Checks registers that were read into the buffer from `offset` on.
    private func verify(_ run: ChipRegisters, at offset: Int) throws(MagnetometerFault) {
        if let register = changedRegister(in: run, at: offset) { throw .configurationLost(register: register.number) }
    }

    /// The first of the registers read into the buffer from `offset` on that has the wrong content.
    func changedRegister(in run: ChipRegisters, at offset: Int) -> RegisterAddress? {
        registers.changedRegister(
            in: run, reading: UnsafeRawBufferPointer(rebasing: buffer.bytes[offset..<offset + run.count]))
    }
}

extension MagnetometerDriver where Bus: ~Copyable {
    /// Measuring: takes the newest measurement, unless there is none that is new, whole, and of the written configuration.
    mutating func measure() throws(MagnetometerFault) -> MagneticSample? {
        let before = clock.now()
        let interval = Part.figures.interval
        // A late poll does not bring the next one nearer than half an interval.
        due = max(due.advanced(bySeconds: interval), before.advanced(bySeconds: interval / 2))
        let wasInterrupted = isInterrupted
        isInterrupted = false
        do {
            try readGroup(Part.output)
        } catch {
            try tolerate(error)
            return nil
        }
        let after = clock.now()
        let isDoubtful = wasInterrupted || isInterrupted
        defer { isInterrupted = false }
        lastAnswer = after
        let reading = part.reading(UnsafeRawBufferPointer(buffer.bytes))
        guard reading != .notReady || Part.output.offset(of: Part.configuration) != nil else {
            if isStalled(at: after) { _ = try isConfigured() }
            return try waitForMeasurement(at: after)
        }
        guard try isConfigured(), !isDoubtful else { return nil }
        switch reading {
        case .notReady: return try waitForMeasurement(at: after)
        case .overflow:
            lastMeasurement = after
            repetitions = 0
            status.overflows += 1
            return nil
        case .field(let field):
            lastMeasurement = after
            guard try isNew(field), after.seconds(since: before) < interval / 2 else { return nil }
            return deliver(field, read: before, and: after)
        }
    }

    /// A reading of a field that was measured during at most one period before a transaction from `before` to `after`.
    private mutating func deliver(_ field: Vector3, read before: Timestamp, and after: Timestamp) -> MagneticSample {
        let age = 0.5 * Part.figures.period + Part.figures.delay - 0.5 * after.seconds(since: before)
        status.readings += 1
        backoff = MagnetometerTiming.firstBackoff
        if isOut { status.recoveries += 1 }
        isOut = false
        return MagneticSample(timestamp: before.advanced(bySeconds: -age), field: field)
    }

    /// Whether a field is not the one before, bit for bit, nor zero on all axes, as the outputs are after a reset. A frozen
    /// part repeats one of these; if it was chance, a reading is lost.
    private mutating func isNew(_ field: Vector3) throws(MagnetometerFault) -> Bool {
        guard field == lastField || field == .zero else {
            lastField = field
            repetitions = 0
            return true
        }
        repetitions += 1
        guard repetitions < MagnetometerTiming.mostRepetitions else { throw .stalled }
        return false
    }

    private func isStalled(at now: Timestamp) -> Bool {
        now.seconds(since: lastMeasurement) >= MagnetometerTiming.stalledAfter
    }

    private func waitForMeasurement(at now: Timestamp) throws(MagnetometerFault) -> MagneticSample? {
        guard !isStalled(at: now) else { throw .stalled }
        return nil
    }

    /// Whether the configuration is what was written. It is in the buffer, or read now: registers that are right now were
    /// right at the measurement. `false` if a single reading of it was wrong, or failed.
    private mutating func isConfigured() throws(MagnetometerFault) -> Bool {
        let run = Part.configuration
        do {
            var offset = 0
            if let place = Part.output.offset(of: run) { offset = place } else { try readGroup(run) }
            guard changedRegister(in: run, at: offset) != nil else { return true }
            // A single wrong reading may be a bus error.
            try readGroup(run)
        } catch {
            try tolerate(error)
            return false
        }
        guard let register = changedRegister(in: run, at: 0) else { return false }
        throw .configurationLost(register: register.number)
    }

    /// After a bus failure, waits for the next reading if the bus has answered lately; otherwise throws.
    private func tolerate(_ error: BusError) throws(MagnetometerFault) {
        let silence = clock.now().seconds(since: lastAnswer)
        guard !error.isLasting, silence < MagnetometerTiming.busTimeout else { throw .bus(error) }
    }
}
