public import IMUDrivers
public import MotionCore

/// A chip made of code as a `VirtualBus` sees it.
public protocol VirtualChip: Sendable {
    /// Reads `buffer.count` registers beginning with `register` at the instant `now`, in one transaction.
    ///
    /// - Throws: what a fault makes of it.
    func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)

    /// Writes one register at the instant `now`.
    ///
    /// - Throws: what a fault makes of it.
    func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError)
}

/// The inside of such a chip, as the schedule of its faults sees it.
protocol SimulatedChip {
    /// Whether the outputs repeat their last values: a fault.
    var isFrozen: Bool { get set }

    /// Whether no samples are taken: a fault.
    var isStalled: Bool { get set }

    /// Lets time pass until `instant`.
    mutating func advance(to instant: Timestamp)

    /// Lets an event happen now.
    mutating func suffer(_ event: FaultEvent)
}

extension FaultSchedule {
    /// Lets time pass until `now`, with all that happens to the chip meanwhile; says how the transaction that begins then
    /// fails, if it does.
    mutating func beginTransaction(with chip: inout some SimulatedChip, at now: Timestamp) -> BusError? {
        while let due = nextAction(until: now) {
            chip.advance(to: due.time)
            switch due.action {
            case .freeze(let isFrozen): chip.isFrozen = isFrozen
            case .stall(let isStalled): chip.isStalled = isStalled
            case .event(let event): chip.suffer(event)
            }
        }
        chip.advance(to: now)
        let (failure, thaws) = transaction(at: now)
        thawsAfterTransaction = thaws
        return failure
    }

    /// Ends the transaction, and the conditions that it was the last one of.
    mutating func endTransaction(with chip: inout some SimulatedChip) {
        removeExhausted()
        guard thawsAfterTransaction else { return }
        chip.isFrozen = false
        chip.isStalled = false
    }
}
