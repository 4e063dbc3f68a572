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
    private var stream = MagnetometerStream(
        firstPause: MagnetometerTiming.firstBackoff, longestPause: MagnetometerTiming.longestBackoff)
    private var bus: Bus
    private var access: RegisterAccess<MagnetometerFault>
    private let clock: Clock
    private var part = Part()
    private let registers: RegisterTable
    private var bringUp = BringUpProgress()

    /// When the chip last had a new measurement, and when the bus last answered.
    private var lastMeasurement = Timestamp(nanoseconds: 0)
    private var lastAnswer = Timestamp(nanoseconds: 0)
    /// The last field that differed from the one before, µT, and how often it has been repeated since. A frozen chip may
    /// repeat it even after it was brought up again.
    private var lastField: Vector3?
    private var repetitions = 0
    /// The partial reads before the latest reading: after another one, the chip may hold back a part of an old measurement.
    private var partialReads = 0

    /// Creates a driver. It does not use the bus before the first `poll`.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: the clock for timestamps and deadlines.
    package init(bus: consuming Bus, clock: Clock) {
        self.bus = bus
        access = RegisterAccess(burstBit: Part.burstBit)
        self.clock = clock
        registers = Self.table()
    }

    /// Not in the initialiser: Swift 6.0.3 crashes on a mutating method call there.
    private static func table() -> RegisterTable {
        var table = RegisterTable()
        Part().addRegisters(to: &table)
        return table
    }

    /// The driver's state, and its counters since it was created.
    package var status: MagnetometerStatus {
        var status = stream.status
        status.busErrors = access.errors
        return status
    }

    /// Performs the work due now. Polling a stopped driver starts it again.
    package mutating func poll() -> MagnetometerPoll {
        guard stream.status.state == .asleep || clock.now() >= stream.due else {
            return MagnetometerPoll(next: stream.due)
        }
        var sample: MagneticSample?
        do {
            switch stream.status.state {
            case .asleep, .identifying: try identify()
            case .starting: try start()
            case .measuring: sample = try measure()
            case .recovering:
                try access.reopen(on: &bus)
                try identify()
            }
        } catch {
            // The part is brought up from scratch after a pause that grows with each failure.
            stream.fail(with: error, at: clock.now())
        }
        return MagnetometerPoll(next: stream.due, sample: sample)
    }

    /// Puts the part to sleep. The driver does not use the bus again until the next `poll`.
    package mutating func stop() throws(BusError) {
        let state = stream.status.state
        stream.stop()
        // A part that was not identified is left alone.
        if state == .starting || state == .measuring { try access.write(Part.sleep.register, Part.sleep.set, on: &bus) }
    }
}

extension MagnetometerDriver where Bus: ~Copyable {
    /// Identifying: reads the identity, and starts the bring-up of a part that has it. Nothing is written to another one.
    private mutating func identify() throws(MagnetometerFault) {
        stream.status.state = .identifying
        try checkIdentity(Part.identity)
        if let second = Part.secondIdentity { try checkIdentity(second) }
        stream.status.state = .starting
        part = Part()
        bringUp.begin()
        partialReads = access.partialReads
        try start()
    }

    private mutating func checkIdentity(_ wanted: RegisterSetting) throws(MagnetometerFault) {
        let found = try access.get(wanted.register, on: &bus)
        guard wanted.holds(in: found) else { throw .identity(found: found.bits) }
    }

    /// Starting: runs the steps up to the next wait.
    private mutating func start() throws(MagnetometerFault) {
        while let current = part.step(bringUp.step) {
            switch current {
            case .write(let register, let value): try access.put(register, value, on: &bus)
            case .wait(let seconds):
                bringUp.advance()
                stream.due = clock.now().advanced(bySeconds: seconds)
                return
            case .waitFor(let wanted, let interval, let limit):
                guard try hasReached(wanted, within: limit) else {
                    stream.due = clock.now().advanced(bySeconds: interval)
                    return
                }
            case .readTrim(let registers):
                try access.getGroup(registers, on: &bus)
                if let wrong = part.takeTrim(UnsafeRawBufferPointer(access.buffer.registers)) {
                    throw .trim(found: wrong)
                }
            case .verify(let registers):
                try access.getGroup(registers, on: &bus)
                try verify(registers, at: 0)
            case .configure: try access.perform(.configuration, of: registers, on: &bus)
            }
            bringUp.advance()
        }
        stream.status.state = .measuring
        let now = clock.now()
        lastMeasurement = now
        lastAnswer = now
        repetitions = 0
        stream.due = now.advanced(bySeconds: Part.figures.interval)
    }

    /// Whether a register has the awaited value. The first read comes after the first pause, not immediately.
    private mutating func hasReached(
        _ wanted: RegisterSetting, within limit: Double
    ) throws(MagnetometerFault) -> Bool {
        if bringUp.beginWaiting(from: clock.now(), for: limit) { return false }
        if try access.hasReached(wanted, on: &bus) { return true }
        guard !bringUp.isOverdue(at: clock.now()) else { throw .deadline }
        return false
    }

    /// Checks registers that were read into the buffer from `offset` on.
    private func verify(_ run: ChipRegisters, at offset: Int) throws(MagnetometerFault) {
        if let register = changedRegister(in: run, at: offset) { throw .configurationLost(register: register.number) }
    }

    /// The first of the registers read into the buffer from `offset` on that has the wrong content.
    private func changedRegister(in run: ChipRegisters, at offset: Int) -> RegisterAddress? {
        registers.changedRegister(
            in: run, reading: UnsafeRawBufferPointer(rebasing: access.buffer.registers[offset..<offset + run.count]))
    }
}

extension MagnetometerDriver where Bus: ~Copyable {
    /// Measuring: takes the newest measurement, unless there is none that is new, whole, and of the written configuration.
    private mutating func measure() throws(MagnetometerFault) -> MagneticSample? {
        let before = clock.now()
        let interval = Part.figures.interval
        stream.scheduleReading(every: interval, after: before)
        let wasInterrupted = access.partialReads != partialReads
        partialReads = access.partialReads
        do {
            try access.readGroup(Part.output, on: &bus)
        } catch {
            try tolerate(error)
            return nil
        }
        let after = clock.now()
        let isDoubtful = wasInterrupted || access.partialReads != partialReads
        defer { partialReads = access.partialReads }
        lastAnswer = after
        let reading = part.reading(UnsafeRawBufferPointer(access.buffer.registers))
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
            stream.status.overflows += 1
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
        stream.noteReading()
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
            if let place = Part.output.offset(of: run) { offset = place } else { try access.readGroup(run, on: &bus) }
            guard changedRegister(in: run, at: offset) != nil else { return true }
            // A single wrong reading may be a bus error.
            try access.readGroup(run, on: &bus)
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
