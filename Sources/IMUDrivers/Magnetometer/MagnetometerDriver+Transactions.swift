internal import MotionCore

/// Transactions with retries. A repeated reading is at worst one without a new measurement.
extension MagnetometerDriver where Bus: ~Copyable {
    /// Writes a register; retries after a failure that may pass.
    mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(BusError) {
        var attempt = 1
        while true {
            do throws(BusError) {
                try bus.write(register.number, value.bits)
                isBusStuck = false
                return
            } catch {
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Reads a register; retries after a failure that may pass.
    mutating func read(_ register: RegisterAddress) throws(BusError) -> RegisterValue {
        try readGroup(ChipRegisters(first: register, count: 1))
        return RegisterValue(buffer.bytes[0])
    }

    /// Reads adjacent registers into the buffer; retries after a failure that may pass.
    mutating func readGroup(_ registers: ChipRegisters) throws(BusError) {
        let first = registers.first.number | (registers.count > 1 ? Part.burstBit : 0)
        var attempt = 1
        while true {
            do throws(BusError) {
                try bus.read(first, into: UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[0..<registers.count]))
                isBusStuck = false
                return
            } catch {
                // A part that did not answer has not sent anything.
                if error.kind != .notAcknowledged { isInterrupted = true }
                try giveUpOrRepeat(error, after: &attempt)
            }
        }
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

    private mutating func giveUpOrRepeat(_ error: BusError, after attempt: inout Int) throws(BusError) {
        status.busErrors.count(error)
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
