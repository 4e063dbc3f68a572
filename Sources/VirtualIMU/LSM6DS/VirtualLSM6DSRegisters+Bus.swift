internal import MotionCore

extension VirtualLSM6DSRegisters {
    /// Answers a read transaction that begins at `register`.
    ///
    /// With IF_INC the address is incremented, and wraps around within the FIFO's data; without IF_INC it stays the
    /// same.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = register
        for index in buffer.indices {
            buffer[index] = readByte(address, at: engine.now)
            address = self.address(after: address)
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        guard !registers.isResetting(at: engine.now), isWritable(register) else { return }
        let before = registers[Int(register)]
        registers[Int(register)] = value & kind.writableBits(register)
        applySideEffects(of: register, before: before, &engine)
    }

    func address(after address: UInt8) -> UInt8 {
        guard registers[Int(LSM6DSAddress.control3)] & 0x04 != 0 else { return address }
        if kind.isTagged { return address == 0x7E ? LSM6DSAddress.taggedData : (address + 1) & 0x7F }
        return address == 0x3F ? LSM6DSAddress.untaggedData : (address + 1) & 0x7F
    }

    private func isWritable(_ address: UInt8) -> Bool {
        address != LSM6DSAddress.identity
            && !(LSM6DSAddress.firstReadOnly...LSM6DSAddress.lastReadOnly).contains(address)
            && address < LSM6DSAddress.taggedData
    }

    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        let value = registers[Int(address)]
        switch address {
        case LSM6DSAddress.control3 where value & 0x01 != 0:
            reset(&engine)
        case LSM6DSAddress.gyroscope:
            if before >> 4 == 0, value >> 4 != 0 {
                engine.gyroscopeStart = engine.now
                firstGyroscopeIndex = nil
            }
            configure(&engine)
        case LSM6DSAddress.accelerometer:
            if before >> 4 == 0, value >> 4 != 0 { firstAccelerometerIndex = engine.nextIndex }
            configure(&engine)
        case LSM6DSAddress.control4:
            configure(&engine)
        case LSM6DSAddress.untaggedMode:
            if mode == 0 { clearFIFO() }
        default:
            break
        }
    }

    /// The FIFO's mode, in the same register of both kinds: 0 off, 1 stops when full, 6 keeps the newest.
    var mode: UInt8 { registers[Int(LSM6DSAddress.untaggedMode)] & 0x07 }

    private mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        let words = fifo.count / kind.wordLength
        let isFull = words == kind.words
        switch address {
        case LSM6DSAddress.control3:
            return registers[Int(address)] | (registers.isResetting(at: now) ? 0x01 : 0)
        case LSM6DSAddress.fifoStatus1:
            return UInt8(words & 0xFF)
        case LSM6DSAddress.fifoStatus2 where kind.isTagged:
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (isOverrunLatched ? 0x08 : 0)
            isOverrunLatched = false
            return flags | UInt8(words >> 8 & 0x03)
        case LSM6DSAddress.fifoStatus2:
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (words == 0 ? 0x10 : 0)
            return flags | UInt8(words >> 8 & (kind == .lsm6ds3 ? 0x0F : 0x07))
        case LSM6DSAddress.fifoStatus3 where !kind.isTagged:
            return UInt8(bytesRemoved / 2 % 6)
        case LSM6DSAddress.untaggedData...LSM6DSAddress.lastReadOnly where !kind.isTagged,
            LSM6DSAddress.taggedData...0x7E where kind.isTagged:
            isOverrun = false
            if fifo.count > 0 { bytesRemoved += 1 }
            return fifo.removeFirst()
        default:
            return registers[Int(address)]
        }
    }

    /// Appends a byte, and sets the overrun flags if it replaced the oldest one.
    mutating func appendToFIFO(_ byte: UInt8) {
        guard mode != 1 || fifo.count < fifo.capacity else { return }
        guard !fifo.append(byte) else { return }
        bytesRemoved += 1
        isOverrun = true
        isOverrunLatched = true
    }
}
