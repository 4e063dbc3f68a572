internal import MotionCore

/// Transactions that may be repeated at once: reading or writing these registers twice does no harm. Of the FIFO's data
/// that holds only where the chip did not answer at all.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Attempts at a transaction before it counts as failed.
    private var attempts: Int { 3 }

    /// Writes a register, again where nobody answered or the bus was lost.
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

    /// Reads a register, again where nobody answered or the bus was lost.
    mutating func read(_ register: RegisterAddress) throws(BusError) -> RegisterValue {
        try readGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.registers[0])
    }

    /// Reads neighbouring registers into `buffer.registers`, again where nobody answered or the bus was lost.
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

    /// Reads whole frames from the FIFO into `buffer.bytes`, again where nobody answered.
    ///
    /// A chip can refuse its address and the register's number, but not data it is sending: what was not acknowledged has
    /// given no byte away. After any other failure nobody knows how many are gone, and repeating would slip the frames.
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

    /// Like `write`, for the bring-up: every failure ends it.
    mutating func put(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        do throws(BusError) {
            try write(register, value)
        } catch {
            throw .bus(error)
        }
    }

    /// Like `read`, for the bring-up: every failure ends it.
    mutating func get(_ register: RegisterAddress) throws(IMUFault) -> RegisterValue {
        do throws(BusError) {
            return try read(register)
        } catch {
            throw .bus(error)
        }
    }

    private mutating func giveUpOrRepeat(_ error: BusError, after attempt: inout Int) throws(BusError) {
        status.busErrors.count(error)
        // A timeout has taken long enough, and the other failures do not pass by themselves.
        let isPassing = error.kind == .notAcknowledged || error.kind == .arbitrationLost
        guard isPassing && attempt < attempts else { throw error }
        attempt += 1
    }
}
