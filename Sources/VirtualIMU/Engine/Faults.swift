internal import IMUDrivers
internal import MotionCore

/// Something that is wrong with a chip or its bus for a while.
package enum FaultCondition: Equatable, Sendable {
    /// Nobody answers (`BusError.Kind.notAcknowledged`).
    case notAcknowledged
    /// Nobody answers with a probability from 0 to 1 at each transaction.
    case randomlyNotAcknowledged(probability: Double)
    /// The bus is held low (`timedOut`); the chip goes on sampling.
    case stuckBus
    /// The chip's wires are off: nobody answers, and the chip comes back as after power-on.
    case unplugged
    /// The bus adapter is gone (`absent`) and the chip's supply with it.
    case adapterAbsent
    /// WHO_AM_I says something else.
    case wrongIdentity(UInt8)
    /// Samples are taken in time, but repeat the last values.
    case frozenOutput
    /// The chip answers and keeps its settings, but takes no samples.
    case stalled
    /// Whatever is read is all ones: the data line is not pulled down while the chip sends.
    case onesRead
}

/// How long a fault lasts.
package enum FaultExtent: Equatable, Sendable {
    /// Seconds of the chip's time.
    case seconds(Double)
    /// Transactions, beginning with the next (or the first at its start).
    case transactions(Int)
    /// Until the chip's `clearFaults`.
    case untilCleared
}

/// Something that happens to a chip at one instant.
package enum FaultEvent: Equatable, Sendable {
    /// The supply dips: every register is at its power-on default and the chip asleep, without a word to anybody.
    case brownOut
    /// The FIFO, where it is enabled, runs over as if nobody had read it: it is full, and its first
    /// bytes are the rest of a frame where frames do not divide 1024.
    case fifoOverflow
    /// The oldest bytes of the FIFO vanish, so that what is read next begins within a frame.
    case fifoSlip(bytes: Int)
    /// A bit (0 to 7) of a register is inverted.
    case bitFlip(register: UInt8, bit: UInt8)
    /// From now on the thermometer says so many °C more: hot air, or its register gone wrong.
    case temperatureJump(by: Double)
}

/// The faults that are scheduled or under way.
struct FaultSchedule {
    /// What has to be done to the chip at an instant.
    enum Action {
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

    /// Whether the transaction under way is the last that finds the outputs frozen, or the chip stalled.
    var thawsAfterTransaction = false

    /// Makes a schedule without faults; `seed` decides random ones.
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

    /// Forgets everything.
    mutating func removeAll() {
        conditions.removeAll()
        actions.removeAll()
    }

    /// Takes what is due first, at `instant` or before it.
    mutating func nextAction(until instant: Timestamp) -> (time: Timestamp, action: Action)? {
        guard let first = actions.first, first.time <= instant else { return nil }
        return actions.removeFirst()
    }

    /// Counts a transaction at `now`; says how it fails, if it does, and whether what stood still moves again with it.
    mutating func transaction(at now: Timestamp) -> (failure: BusError?, thaws: Bool) {
        guard !conditions.isEmpty else { return (nil, false) }
        conditions.removeAll { $0.end <= now }
        var failure: BusError?
        var thaws = false
        for index in conditions.indices where conditions[index].start <= now {
            if failure == nil { failure = error(of: conditions[index].condition) }
            guard conditions[index].transactions != .max else { continue }
            conditions[index].transactions -= 1
            let holds = conditions[index].condition == .frozenOutput || conditions[index].condition == .stalled
            thaws = thaws || holds && conditions[index].transactions == 0
        }
        return (failure, thaws)
    }

    /// Takes the conditions off the list whose last transaction is over; called after it was answered.
    mutating func removeExhausted() {
        conditions.removeAll { $0.transactions == 0 }
    }

    /// Puts into `buffer` what a read answers instead of the truth; `isIdentity` where it begins at WHO_AM_I.
    func distort(_ buffer: UnsafeMutableRawBufferPointer, isIdentity: Bool, at now: Timestamp) {
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

    /// How a condition lets a transaction fail, with the errno that Linux reports.
    private mutating func error(of condition: FaultCondition) -> BusError? {
        switch condition {
        case .notAcknowledged, .unplugged: BusError(.notAcknowledged, code: 121)  // EREMOTEIO
        case .randomlyNotAcknowledged(let probability):
            0.5 * (random.symmetric() + 1) < probability ? BusError(.notAcknowledged, code: 121) : nil
        case .stuckBus: BusError(.timedOut, code: 110)  // ETIMEDOUT
        case .adapterAbsent: BusError(.absent, code: 19)  // ENODEV
        case .wrongIdentity, .frozenOutput, .stalled, .onesRead: nil
        }
    }
}
