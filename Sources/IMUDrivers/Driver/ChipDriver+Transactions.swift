internal import MotionCore

/// Transactions with retries. Reading or writing these registers twice is harmless. FIFO reads may be retried only if
/// the chip did not answer at all.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Attempts at a transaction before it counts as failed.
    private var attempts: Int { 3 }

    /// Writes a register; retries if the address was not acknowledged or arbitration was lost.
    mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        var attempt = 1
        while true {
            do throws(BusError) {
                return try bus.write(register.number, value.bits)
            } catch {
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Reads a register; retries if the address was not acknowledged or arbitration was lost.
    mutating func read(_ register: RegisterAddress) throws(BusError) -> RegisterValue {
        try readGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.registers[0])
    }

    /// Reads adjacent registers into `buffer.registers`; retries if the address was not acknowledged or arbitration was
    /// lost.
    mutating func readGroup(_ registers: ChipRegisters) throws(BusError) {
        var attempt = 1
        while true {
            do throws(BusError) {
                let group = UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<registers.count])
                return try bus.read(registers.first.number, into: group)
            } catch {
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Reads whole frames from the FIFO into `buffer.bytes`; retries if the address was not acknowledged.
    ///
    /// A chip can refuse its address or the register number, but not the data that it sends, so a transaction that was
    /// not acknowledged has consumed no byte. After any other failure the number of consumed bytes is unknown, and a
    /// retry would break the framing.
    mutating func readFrames(bytes: Int) throws(BusError) {
        var attempt = 1
        while true {
            do throws(BusError) {
                let frames = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<bytes])
                return try bus.read(fifo.data.number, into: frames)
            } catch {
                guard error.kind == .notAcknowledged else {
                    status.busErrors.count(error)
                    throw error
                }
                try giveUpOrRepeat(error, after: &attempt)
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

    private mutating func giveUpOrRepeat(_ error: BusError, after attempt: inout Int) throws(BusError) {
        status.busErrors.count(error)
        // A timeout has already taken long enough, and the other failures are not transient.
        let isPassing = error.kind == .notAcknowledged || error.kind == .arbitrationLost
        guard isPassing && attempt < attempts else { throw error }
        attempt += 1
    }
}
