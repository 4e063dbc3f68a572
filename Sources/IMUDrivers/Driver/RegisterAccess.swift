/// What can go wrong in a transaction, as the faults of every kind of chip say it.
protocol RegisterFault: Error {
    static func bus(_ error: BusError) -> Self
    static func readBack(register: UInt8, wrote: UInt8, read: UInt8) -> Self
    static func configurationLost(register: UInt8) -> Self
}

extension IMUFault: RegisterFault {}

/// A chip's registers on its bus. Transactions are repeated after failures that may pass, and every failed attempt is
/// counted.
///
/// Reading or writing these registers twice is harmless. FIFO reads are repeated only if the chip did not answer at all.
struct RegisterAccess<Bus: RegisterBus & ~Copyable, Fault: RegisterFault>: ~Copyable {
    var bus: Bus
    let buffer: FrameBuffer
    /// Failed transactions.
    private(set) var errors = BusErrorCounts()
    /// Failed reads of which the chip may have sent a part of its answer; it wraps.
    private(set) var partialReads = 0

    private let burstBit: UInt8
    private let bankRegister: RegisterAddress?
    /// The selected bank of registers; `nil` if selecting one has failed.
    private var bank: UInt8? = 0
    /// Whether the last transaction timed out, also when it was repeated.
    private var isBusStuck = false

    /// Creates the access to a chip, with memory for `fifo` bytes of frames.
    init(bus: consuming Bus, burstBit: UInt8, bankRegister: RegisterAddress? = nil, fifo: Int = 0) {
        self.bus = bus
        self.burstBit = burstBit
        self.bankRegister = bankRegister
        buffer = FrameBuffer(bytes: fifo)
    }

    /// Reopens the bus of a lost chip.
    mutating func reopen() throws(Fault) {
        do {
            try bus.reopen()
        } catch {
            errors.count(error)
            throw Fault.bus(error)
        }
    }

    /// Writes a register; retries after a failure that may pass.
    mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        try select(register.bank)
        try writeInSelectedBank(register, value)
    }

    /// Writes a register without requiring an acknowledgement.
    mutating func attempt(_ register: RegisterAddress, _ value: RegisterValue) throws(Fault) {
        do {
            try select(register.bank)
            try bus.write(register.number, value.bits)
        } catch {
            guard error.isLasting else { return }
            errors.count(error)
            throw Fault.bus(error)
        }
    }

    /// Reads adjacent registers into `buffer.registers`; retries after a failure that may pass.
    mutating func readGroup(_ registers: ChipRegisters) throws(BusError) {
        try select(registers.first.bank)
        let first = registers.first.number | (registers.count > 1 ? burstBit : 0)
        let group = UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<registers.count])
        try read(first, into: group)
    }

    /// Reads whole frames from a FIFO into `buffer.bytes`; retries if the chip was not addressed.
    ///
    /// A chip can refuse its address or the register number, and another master can win the bus until then. But the data comes
    /// from the chip alone, so such a transaction has consumed no byte. After any other failure the number of consumed bytes
    /// is unknown, and a retry could break the framing.
    mutating func readFrames(bytes: Int, from register: RegisterAddress) throws(BusError) {
        try select(register.bank)
        let frames = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<bytes])
        try read(register.number | burstBit, into: frames, isConsuming: true)
    }

    private mutating func read(
        _ register: UInt8, into destination: UnsafeMutableRawBufferPointer, isConsuming: Bool = false
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

    private mutating func writeInSelectedBank(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
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
extension RegisterAccess where Bus: ~Copyable {
    /// Selects the bank of the registers to use next.
    private mutating func select(_ wanted: UInt8) throws(BusError) {
        guard bank != wanted, let register = bankRegister else { return }
        bank = nil
        try writeInSelectedBank(register, RegisterValue(wanted))
        bank = wanted
    }

    /// Selects the first bank, so that a chip can be identified if the program ends. If that fails, or would take long on a
    /// bus that is stuck, the next transaction selects it.
    mutating func selectFirstBank() {
        guard !isBusStuck else { return }
        do {
            try select(0)
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
extension RegisterAccess where Bus: ~Copyable {
    /// Writes a register.
    mutating func put(_ register: RegisterAddress, _ value: RegisterValue) throws(Fault) {
        do {
            try write(register, value)
        } catch {
            throw Fault.bus(error)
        }
    }

    /// Reads a register.
    mutating func get(_ register: RegisterAddress) throws(Fault) -> RegisterValue {
        try getGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.registers[0])
    }

    /// Reads adjacent registers into `buffer.registers`.
    mutating func getGroup(_ registers: ChipRegisters) throws(Fault) {
        do {
            try readGroup(registers)
        } catch {
            throw Fault.bus(error)
        }
    }

    /// Whether a register has the awaited value. A chip in reset may not answer: if it never does, the caller's deadline ends
    /// the wait.
    mutating func hasReached(_ wanted: RegisterSetting) throws(Fault) -> Bool {
        do {
            try readGroup(ChipRegisters(first: wanted.register, count: 1))
            return wanted.holds(in: RegisterValue(buffer.registers[0]))
        } catch {
            if error.isLasting { throw Fault.bus(error) }
            return false
        }
    }

    /// Reads a register and checks its value.
    mutating func verify(_ setting: RegisterSetting) throws(Fault) {
        let found = try get(setting.register)
        guard setting.holds(in: found) else {
            throw Fault.readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
        }
    }

    /// Writes the table's registers of a stage, reads them back, or both, one register at a time.
    mutating func perform(
        _ stage: RegisterStage, of table: borrowing RegisterTable, isWritten: Bool = true, isReadBack: Bool = true
    ) throws(Fault) {
        let count = table.count
        for index in 0..<count {
            let row = table[index]
            guard row.stage == stage else { continue }
            if isWritten { try put(row.setting.register, row.setting.set) }
            if isReadBack { try verify(row.setting) }
        }
    }

    /// Compares a group of registers with the table.
    mutating func check(_ group: ChipRegisters, with table: borrowing RegisterTable) throws(Fault) {
        // A single wrong reading may be a bus error.
        guard try changedRegister(in: group, of: table) != nil,
            let register = try changedRegister(in: group, of: table)
        else { return }
        throw Fault.configurationLost(register: register.number)
    }

    /// The first register of a group whose content is wrong.
    private mutating func changedRegister(
        in group: ChipRegisters, of table: borrowing RegisterTable
    ) throws(Fault) -> RegisterAddress? {
        try getGroup(group)
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
