internal import MotionCore

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
        do throws(BusError) {
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
            do throws(BusError) {
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
        do throws(BusError) {
            try write(register, value)
        } catch {
            throw .bus(error)
        }
    }

    /// Like `read`, but wraps errors for the bring-up, which any failure ends.
    mutating func get(_ register: RegisterAddress) throws(IMUFault) -> RegisterValue {
        do throws(BusError) {
            return try read(register)
        } catch {
            throw .bus(error)
        }
    }
}
