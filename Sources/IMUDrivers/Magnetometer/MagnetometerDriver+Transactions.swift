internal import MotionCore

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
        do throws(BusError) {
            try write(register, value)
        } catch {
            throw .bus(error)
        }
    }

    mutating func get(_ register: RegisterAddress) throws(MagnetometerFault) -> RegisterValue {
        do throws(BusError) {
            return try read(register)
        } catch {
            throw .bus(error)
        }
    }

    mutating func getGroup(_ registers: ChipRegisters) throws(MagnetometerFault) {
        do throws(BusError) {
            try readGroup(registers)
        } catch {
            throw .bus(error)
        }
    }
}
