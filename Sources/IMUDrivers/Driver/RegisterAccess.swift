/// What can go wrong in a transaction, as the faults of every kind of chip say it.
protocol RegisterFault: Error {
    static func bus(_ error: BusError) -> Self
    static func readBack(register: UInt8, wrote: UInt8, read: UInt8) -> Self
    static func configurationLost(register: UInt8) -> Self
}

extension IMUFault: RegisterFault {}

/// What is read in one transaction with a group of registers.
enum JoinedRead: Int {
    case frames, group
}

/// The access to a chip's registers. Transactions are repeated after failures that may pass, and every failed attempt is
/// counted.
///
/// Reading or writing these registers twice is harmless. FIFO reads are repeated only if the chip did not answer at all.
///
/// The bus is passed to each method: with the bus in it, the type would be generic, and unspecialised code of a driver would
/// look up its metadata for every read.
struct RegisterAccess<Fault: RegisterFault>: ~Copyable {
    let buffer: FrameBuffer
    /// Failed transactions.
    private(set) var errors = BusErrorCounts()
    /// Failed reads of which the chip may have sent a part of its answer; it wraps.
    private(set) var partialReads = 0

    /// Whether two reads have been joined in one transaction, and how many of these have failed in a row, of each kind: an
    /// adapter may carry only short ones. If there are too many, no more are tried, also when the bus was reopened. A
    /// timeout on an adapter that cannot costs the stream, so it ends both kinds.
    private var hasJoined = false
    private var failedJoins = SIMD2(0, 0)
    private static var mostFailedJoins: Int { 8 }

    /// Whether joining such a read with that of registers is worth a try.
    func mayJoin(_ kind: JoinedRead) -> Bool { failedJoins[kind.rawValue] < Self.mostFailedJoins }

    private let burstBit: UInt8
    private let bankRegister: RegisterAddress?
    /// The selected bank of registers; `nil` if selecting one has failed.
    private var bank: UInt8? = 0
    /// Whether the last transaction timed out, also when it was repeated.
    private var isBusStuck = false

    /// Creates the access to a chip, with memory for `fifo` bytes of frames.
    init(burstBit: UInt8, bankRegister: RegisterAddress? = nil, fifo: Int = 0) {
        self.burstBit = burstBit
        self.bankRegister = bankRegister
        buffer = FrameBuffer(bytes: fifo)
    }

    /// Reopens the bus of a lost chip.
    mutating func reopen<Bus: RegisterBus & ~Copyable>(on bus: inout Bus) throws(Fault) {
        do {
            try bus.reopen()
        } catch {
            errors.count(error)
            throw Fault.bus(error)
        }
    }

    /// Writes a register; retries after a failure that may pass.
    mutating func write<Bus: RegisterBus & ~Copyable>(
        _ register: RegisterAddress, _ value: RegisterValue, on bus: inout Bus
    ) throws(BusError) {
        try select(register.bank, on: &bus)
        try writeInSelectedBank(register, value, on: &bus)
    }

    /// Writes a register without requiring an acknowledgement.
    mutating func attempt<Bus: RegisterBus & ~Copyable>(
        _ register: RegisterAddress, _ value: RegisterValue, on bus: inout Bus
    ) throws(Fault) {
        do {
            try select(register.bank, on: &bus)
            try bus.write(register.number, value.bits)
        } catch {
            guard error.isLasting else { return }
            errors.count(error)
            throw Fault.bus(error)
        }
    }

    /// Reads adjacent registers into `buffer.registers`; retries after a failure that may pass.
    mutating func readGroup<Bus: RegisterBus & ~Copyable>(_ registers: ChipRegisters, on bus: inout Bus)
        throws(BusError)
    {
        try select(registers.first.bank, on: &bus)
        let first = registers.first.number | (registers.count > 1 ? burstBit : 0)
        let group = UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<registers.count])
        try read(first, into: group, on: &bus)
    }

    /// Reads whole frames from a FIFO into `buffer.bytes`; retries if the chip was not addressed.
    ///
    /// A chip can refuse its address or the register number, and another master can win the bus until then. But the data
    /// comes from the chip alone, so such a transaction has consumed no byte. After any other failure the number of consumed
    /// bytes is unknown, and a retry could break the framing.
    mutating func readFrames<Bus: RegisterBus & ~Copyable>(
        bytes: Int, from register: RegisterAddress, on bus: inout Bus
    ) throws(BusError) {
        try select(register.bank, on: &bus)
        let frames = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<bytes])
        try read(register.number | burstBit, into: frames, isConsuming: true, on: &bus)
    }

    /// Reads whole frames in one transaction with other registers of the same bank, which come first: if one of them is not
    /// acknowledged, no byte has been consumed.
    ///
    /// - Returns: `false` if nothing was read, because the bus cannot, or because such transactions have failed.
    /// - Throws: a failure after which the number of consumed bytes is unknown.
    mutating func readFrames<Bus: RegisterBus & ~Copyable>(
        bytes: Int, from register: RegisterAddress, after registers: ChipRegisters, on bus: inout Bus
    ) throws(BusError) -> Bool {
        do {
            let frames = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<bytes])
            return try readTogether(registers, .frames, register, register.number | burstBit, into: frames, on: &bus)
        } catch {
            guard !error.hasConsumedNothing else { return false }
            partialReads &+= 1
            throw error
        }
    }

    /// Reads a group of registers into `buffer.registers` in one transaction with a second one of the same bank, which is
    /// read into `buffer.second`.
    ///
    /// - Returns: `false` if nothing was read. Apart, the reads are repeated as far as they may be.
    mutating func readGroup<Bus: RegisterBus & ~Copyable>(
        _ registers: ChipRegisters, with second: ChipRegisters, on bus: inout Bus
    ) -> Bool {
        do {
            let group = UnsafeMutableRawBufferPointer(rebasing: buffer.second[0..<second.count])
            let number = second.first.number | (second.count > 1 ? burstBit : 0)
            return try readTogether(registers, .group, second.first, number, into: group, on: &bus)
        } catch {
            return false
        }
    }

    /// Reads registers into `buffer.registers`, and from another one, in one transaction. Returns `false` if it was not
    /// tried, or if the bus carries no such transaction.
    private mutating func readTogether<Bus: RegisterBus & ~Copyable>(
        _ registers: ChipRegisters, _ kind: JoinedRead, _ second: RegisterAddress, _ secondNumber: UInt8,
        into destination: UnsafeMutableRawBufferPointer, on bus: inout Bus
    ) throws(BusError) -> Bool {
        guard mayJoin(kind), registers.first.bank == second.bank else { return false }
        try select(second.bank, on: &bus)
        do {
            let isJoined = try bus.read(
                registers.first.number | (registers.count > 1 ? burstBit : 0),
                into: UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<registers.count]),
                then: secondNumber, into: destination)
            guard isJoined else {
                failedJoins = SIMD2(repeating: Self.mostFailedJoins)
                return false
            }
            failedJoins[kind.rawValue] = 0
            hasJoined = true
            isBusStuck = false
            return true
        } catch {
            // Apart, the reads are repeated as far as they may be. It is no failure of the bus if the adapter has never
            // joined them.
            failedJoins[kind.rawValue] += 1
            if error.kind == .timedOut { failedJoins = SIMD2(repeating: Self.mostFailedJoins) }
            if hasJoined { errors.count(error) }
            throw error
        }
    }

    private mutating func read<Bus: RegisterBus & ~Copyable>(
        _ register: UInt8, into destination: UnsafeMutableRawBufferPointer, isConsuming: Bool = false, on bus: inout Bus
    ) throws(BusError) {
        var attempt = 1
        while true {
            do {
                try bus.read(register, into: destination)
                isBusStuck = false
                return
            } catch {
                errors.count(error)
                if error.kind != .notAcknowledged { partialReads &+= 1 }
                guard !isConsuming || error.hasConsumedNothing else { throw error }
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    private mutating func writeInSelectedBank<Bus: RegisterBus & ~Copyable>(
        _ register: RegisterAddress, _ value: RegisterValue, on bus: inout Bus
    ) throws(BusError) {
        var attempt = 1
        while true {
            do {
                try bus.write(register.number, value.bits)
                isBusStuck = false
                return
            } catch {
                errors.count(error)
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Counts the attempt if the transaction is to be repeated; otherwise throws its error.
    private mutating func giveUpOrRepeat(_ error: BusError, after attempt: inout Int) throws(BusError) {
        let attempts: Int
        switch error.kind {
        case .notAcknowledged, .arbitrationLost, .inputOutput:
            attempts = 3
        case .timedOut:
            // An adapter takes up to a second to give up: a bus that stays stuck gets one attempt.
            attempts = isBusStuck ? 1 : 2
            isBusStuck = attempt >= attempts
        default:
            attempts = 1
        }
        guard attempt < attempts else { throw error }
        attempt += 1
    }
}

// Banks.
extension RegisterAccess {
    /// Selects the bank of the registers to use next.
    private mutating func select<Bus: RegisterBus & ~Copyable>(_ wanted: UInt8, on bus: inout Bus) throws(BusError) {
        guard bank != wanted, let register = bankRegister else { return }
        bank = nil
        try writeInSelectedBank(register, RegisterValue(wanted), on: &bus)
        bank = wanted
    }

    /// Selects the first bank, so that a chip can be identified if the program ends. If that fails, or would take long on a
    /// bus that is stuck, the next transaction selects it.
    mutating func selectFirstBank<Bus: RegisterBus & ~Copyable>(on bus: inout Bus) {
        guard !isBusStuck else { return }
        do {
            try select(0, on: &bus)
        } catch {
            // Counted, and tried again.
        }
    }

    /// Assumes that the first bank is selected, as it is after a reset. Returns whether another one may be.
    mutating func assumeFirstBank() -> Bool {
        defer { bank = 0 }
        return bank != 0
    }
}

// The same with the faults of the driver, which any failure ends.
extension RegisterAccess {
    /// Writes a register.
    mutating func put<Bus: RegisterBus & ~Copyable>(
        _ register: RegisterAddress, _ value: RegisterValue, on bus: inout Bus
    ) throws(Fault) {
        do {
            try write(register, value, on: &bus)
        } catch {
            throw Fault.bus(error)
        }
    }

    /// Reads a register.
    mutating func get<Bus: RegisterBus & ~Copyable>(_ register: RegisterAddress, on bus: inout Bus) throws(Fault)
        -> RegisterValue
    {
        try getGroup(ChipRegisters(first: register, count: 1), on: &bus)
        return RegisterValue(buffer.registers[0])
    }

    /// Reads adjacent registers into `buffer.registers`.
    mutating func getGroup<Bus: RegisterBus & ~Copyable>(_ registers: ChipRegisters, on bus: inout Bus) throws(Fault) {
        do {
            try readGroup(registers, on: &bus)
        } catch {
            throw Fault.bus(error)
        }
    }

    /// Whether a register has the awaited value. A chip in reset may not answer: if it never does, the caller's deadline
    /// ends the wait.
    mutating func hasReached<Bus: RegisterBus & ~Copyable>(_ wanted: RegisterSetting, on bus: inout Bus) throws(Fault)
        -> Bool
    {
        do {
            try readGroup(ChipRegisters(first: wanted.register, count: 1), on: &bus)
            return wanted.holds(in: RegisterValue(buffer.registers[0]))
        } catch {
            if error.isLasting { throw Fault.bus(error) }
            return false
        }
    }

    /// Reads a register and checks its value.
    mutating func verify<Bus: RegisterBus & ~Copyable>(_ setting: RegisterSetting, on bus: inout Bus) throws(Fault) {
        let found = try get(setting.register, on: &bus)
        guard setting.holds(in: found) else {
            throw Fault.readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
        }
    }

    /// Writes the table's registers of a stage, reads them back, or both, one register at a time.
    mutating func perform<Bus: RegisterBus & ~Copyable>(
        _ stage: RegisterStage, of table: borrowing RegisterTable, isWritten: Bool = true, isReadBack: Bool = true,
        on bus: inout Bus
    ) throws(Fault) {
        let count = table.count
        for index in 0..<count {
            let row = table[index]
            guard row.stage == stage else { continue }
            if isWritten { try put(row.setting.register, row.setting.set, on: &bus) }
            if isReadBack { try verify(row.setting, on: &bus) }
        }
    }

    /// Compares a group of registers with the table.
    mutating func check<Bus: RegisterBus & ~Copyable>(
        _ group: ChipRegisters, with table: borrowing RegisterTable, on bus: inout Bus
    ) throws(Fault) {
        // A single wrong reading may be a bus error.
        guard try changedRegister(in: group, of: table, on: &bus) != nil,
            let register = try changedRegister(in: group, of: table, on: &bus)
        else { return }
        throw Fault.configurationLost(register: register.number)
    }

    /// Compares all groups of registers with the table, or only those with the ranges, which determine what a count means.
    /// Then the first bank is selected. No `defer`, which would look up metadata.
    mutating func checkAll<Bus: RegisterBus & ~Copyable>(
        rangesOnly: Bool = false, of table: borrowing RegisterTable, on bus: inout Bus
    ) throws(Fault) {
        let count = rangesOnly ? table.rangeCount : table.groupCount
        do {
            for number in 0..<count {
                try check(rangesOnly ? table.range(number) : table.group(number), with: table, on: &bus)
            }
        } catch {
            selectFirstBank(on: &bus)
            throw error
        }
        selectFirstBank(on: &bus)
    }

    /// The first register of a group whose content is wrong.
    private mutating func changedRegister<Bus: RegisterBus & ~Copyable>(
        in group: ChipRegisters, of table: borrowing RegisterTable, on bus: inout Bus
    ) throws(Fault) -> RegisterAddress? {
        try getGroup(group, on: &bus)
        return table.changedRegister(in: group, reading: UnsafeRawBufferPointer(buffer.registers))
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

/// Memory for one FIFO read and for single registers, allocated once.
struct FrameBuffer: ~Copyable {
    /// Whole frames as received from the chip.
    let bytes: UnsafeMutableRawBufferPointer

    /// The same frames after parsing; `nil` if the bytes are not a valid frame.
    let frames: UnsafeMutableBufferPointer<ParsedFrame?>

    /// Room for a group of adjacent registers: what the longest reading of a magnetometer needs (an AK8963), plus a few.
    let registers: UnsafeMutableRawBufferPointer

    /// Room for a group that is read in one transaction with another one.
    let second: UnsafeMutableRawBufferPointer

    /// Bytes of the shortest possible frame: two per axis of an accelerometer.
    private static var shortestFrame: Int { 6 }

    /// Allocates memory for `count` bytes of frames.
    init(bytes count: Int) {
        bytes = .allocate(byteCount: count, alignment: 8)
        frames = .allocate(capacity: count / Self.shortestFrame)
        frames.initialize(repeating: nil)
        registers = .allocate(byteCount: 16, alignment: 8)
        second = .allocate(byteCount: 16, alignment: 8)
    }

    deinit {
        bytes.deallocate()
        frames.deallocate()
        registers.deallocate()
        second.deallocate()
    }
}
