internal import IMUDrivers
internal import MotionCore

/// A lasting fault of a chip or its bus.
package enum FaultCondition: Equatable, Sendable {
    /// The chip does not answer (`BusError.Kind.notAcknowledged`).
    case notAcknowledged
    /// At each transaction, the chip does not answer with this probability, 0 to 1.
    case randomlyNotAcknowledged(probability: Double)
    /// Each transaction fails with this probability, 0 to 1 (`inputOutput`); no byte of a FIFO is consumed.
    case randomlyFailing(probability: Double)
    /// The bus is held low (`timedOut`); the chip continues to sample.
    case stuckBus
    /// The chip is disconnected: it does not answer, and returns in the power-on state.
    case unplugged
    /// The bus adapter is gone (`absent`), and with it the chip's supply.
    case adapterAbsent
    /// WHO_AM_I has another value.
    case wrongIdentity(UInt8)
    /// Samples are taken on time, but repeat the last values.
    case frozenOutput
    /// The chip answers and keeps its settings, but takes no samples.
    case stalled
    /// Every read returns all ones: the data line is not pulled low while the chip sends.
    case onesRead
}

/// How long a fault lasts.
package enum FaultExtent: Equatable, Sendable {
    /// Seconds of simulated time.
    case seconds(Double)
    /// A number of transactions, beginning with the next one (or the first one at its start).
    case transactions(Int)
    /// Until `clearFaults` is called.
    case untilCleared
}

/// A fault that happens at one instant.
package enum FaultEvent: Equatable, Sendable {
    /// The supply dips: every register returns to its power-on default and the chip sleeps, without any error on the
    /// bus.
    case brownOut
    /// The FIFO, if enabled, overflows as if it had not been read: it is full, and if the frame length does not divide
    /// 1024, it begins with the rest of a frame.
    case fifoOverflow
    /// The oldest bytes of the FIFO vanish, so that the next read begins within a frame.
    case fifoSlip(bytes: Int)
    /// A bit (0 to 7) of a register is inverted.
    case bitFlip(register: UInt8, bit: UInt8)
    /// From now on the reported temperature is higher by this, °C: hot air, or a defective register.
    case temperatureJump(by: Double)
    /// The temperature of the next samples is wrong by this, °C.
    case temperatureGlitch(by: Double, samples: Int)
}

/// The active and scheduled faults.
struct FaultSchedule {
    /// A change of the chip at an instant.
    private enum Action {
        case event(FaultEvent)
        case freeze(Bool)
        case stall(Bool)
    }

    private struct Active {
        var condition: FaultCondition
        var start: Timestamp
        var end: Timestamp
        var transactions: Int
    }

    private var conditions: [Active] = []
    private var actions: [(time: Timestamp, action: Action)] = []
    private var random: RandomNumbers

    /// `seed` determines random faults.
    init(seed: UInt64) {
        random = RandomNumbers(seed: seed, stream: .max)
    }

    /// Schedules a condition.
    mutating func add(_ condition: FaultCondition, from start: Timestamp, lasting extent: FaultExtent) {
        var end = Timestamp(nanoseconds: .max)
        var transactions = Int.max
        switch extent {
        case .seconds(let seconds): end = start.advanced(bySeconds: seconds)
        case .transactions(let count): transactions = count
        case .untilCleared: break
        }
        guard end > start, transactions > 0 else { return }
        conditions.append(Active(condition: condition, start: start, end: end, transactions: transactions))
        switch condition {
        case .unplugged, .adapterAbsent:
            schedule(.event(.brownOut), at: start)
        case .frozenOutput:
            schedule(.freeze(true), at: start)
            if case .seconds = extent { schedule(.freeze(false), at: end) }
        case .stalled:
            schedule(.stall(true), at: start)
            if case .seconds = extent { schedule(.stall(false), at: end) }
        default:
            break
        }
    }

    /// Schedules an event.
    mutating func add(_ event: FaultEvent, at instant: Timestamp) {
        schedule(.event(event), at: instant)
    }

    /// Ends all faults of the chip, including scheduled ones. Their effects on the chip remain.
    mutating func clear<Chip: FaultTarget>(_ chip: inout Chip) {
        conditions.removeAll()
        actions.removeAll()
        chip.isFrozen = false
        chip.isStalled = false
    }

    /// Advances the chip to `now` with everything that is scheduled until then.
    mutating func advance<Chip: FaultTarget>(_ chip: inout Chip, to now: Timestamp) {
        while let first = actions.first, first.time <= now {
            actions.removeFirst()
            chip.advance(to: first.time)
            switch first.action {
            case .freeze(let isFrozen): chip.isFrozen = isFrozen
            case .stall(let isStalled): chip.isStalled = isStalled
            case .event(let event): chip.apply(event)
            }
        }
        chip.advance(to: now)
    }

    /// Reads registers of the chip at `now`. Returns the error if a fault, or a bus that does not lead to it, prevents that.
    mutating func read<Chip: FaultTarget>(
        _ register: UInt8, of chip: inout Chip, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp,
        isReachable: Bool = true
    ) -> BusError? {
        transact(with: &chip, at: now, isReachable: isReachable) { chip, faults in
            chip.read(register, into: buffer)
            // Only a read that begins at the identity register is an identity read; a longer burst across it is not.
            faults.distort(buffer, isIdentity: register & 0x7F == chip.identityRegister, at: now)
        }
    }

    /// Writes registers of the chip likewise.
    mutating func write<Chip: FaultTarget>(
        _ register: UInt8, of chip: inout Chip, _ values: UnsafeBufferPointer<UInt8>, at now: Timestamp,
        isReachable: Bool = true
    ) -> BusError? {
        transact(with: &chip, at: now, isReachable: isReachable) { chip, _ in chip.write(register, values) }
    }

    private mutating func transact<Chip: FaultTarget>(
        with chip: inout Chip, at now: Timestamp, isReachable: Bool, _ body: (inout Chip, FaultSchedule) -> Void
    ) -> BusError? {
        advance(&chip, to: now)
        let transaction = transaction(at: now)
        let failure = transaction.failure ?? (isReachable ? nil : BusError(.notAcknowledged, code: 121))  // EREMOTEIO
        if failure == nil { body(&chip, self) }
        conditions.removeAll { $0.transactions == 0 }
        if transaction.endsFreeze {
            chip.isFrozen = false
            chip.isStalled = false
        }
        return failure
    }

    /// Counts a transaction at `now`. Returns its error, if any, and whether it is the last one of a frozen or stalled
    /// condition.
    private mutating func transaction(at now: Timestamp) -> (failure: BusError?, endsFreeze: Bool) {
        guard !conditions.isEmpty else { return (nil, false) }
        conditions.removeAll { $0.end <= now }
        var failure: BusError?
        var endsFreeze = false
        for index in conditions.indices where conditions[index].start <= now {
            if failure == nil { failure = error(of: conditions[index].condition) }
            guard conditions[index].transactions != .max else { continue }
            conditions[index].transactions -= 1
            let holds = conditions[index].condition == .frozenOutput || conditions[index].condition == .stalled
            endsFreeze = endsFreeze || holds && conditions[index].transactions == 0
        }
        return (failure, endsFreeze)
    }

    /// Replaces the contents of `buffer` if a fault changes what is read; `isIdentity` if the read begins at WHO_AM_I.
    private func distort(_ buffer: UnsafeMutableRawBufferPointer, isIdentity: Bool, at now: Timestamp) {
        guard !conditions.isEmpty else { return }
        if isIdentity, let identity = identity(at: now) { buffer[0] = identity }
        let isOnes = conditions.contains { $0.condition == .onesRead && $0.start <= now && now < $0.end }
        if isOnes { for index in buffer.indices { buffer[index] = 0xFF } }
    }

    private func identity(at now: Timestamp) -> UInt8? {
        for active in conditions where active.start <= now && now < active.end {
            if case .wrongIdentity(let identity) = active.condition { return identity }
        }
        return nil
    }

    private mutating func schedule(_ action: Action, at time: Timestamp) {
        let index = actions.firstIndex { $0.time > time } ?? actions.endIndex
        actions.insert((time, action), at: index)
    }

    private mutating func isChosen(_ probability: Double) -> Bool {
        0.5 * (random.symmetric() + 1) < probability
    }

    /// The error of a transaction under a condition, with the errno that Linux reports.
    private mutating func error(of condition: FaultCondition) -> BusError? {
        switch condition {
        case .notAcknowledged, .unplugged: BusError(.notAcknowledged, code: 121)  // EREMOTEIO
        case .randomlyNotAcknowledged(let probability):
            isChosen(probability) ? BusError(.notAcknowledged, code: 121) : nil
        case .randomlyFailing(let probability): isChosen(probability) ? BusError(.inputOutput, code: 5) : nil  // EIO
        case .stuckBus: BusError(.timedOut, code: 110)  // ETIMEDOUT
        case .adapterAbsent: BusError(.absent, code: 19)  // ENODEV
        case .wrongIdentity, .frozenOutput, .stalled, .onesRead: nil
        }
    }
}
