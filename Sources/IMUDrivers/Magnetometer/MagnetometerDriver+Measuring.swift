internal import MotionCore

extension MagnetometerDriver where Bus: ~Copyable {
    /// Measuring: takes the newest measurement, unless there is none that is new, whole, and of the written configuration.
    mutating func measure() throws(MagnetometerFault) -> MagneticSample? {
        let before = clock.now()
        let interval = Part.figures.interval
        // A late poll does not bring the next one nearer than half an interval.
        due = max(due.advanced(bySeconds: interval), before.advanced(bySeconds: interval / 2))
        let wasInterrupted = isInterrupted
        isInterrupted = false
        do throws(BusError) {
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
        do throws(BusError) {
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
