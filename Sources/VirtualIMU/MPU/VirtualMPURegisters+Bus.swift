internal import MotionCore

extension VirtualMPURegisters {
    /// Answers a read transaction that begins at `register`.
    ///
    /// The address is incremented except at FIFO_R_W, where it stays the same (RM p. 44). Samples are taken between
    /// transactions only: a burst sees the registers of one instant (RM p. 30).
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = register
        for index in buffer.indices {
            buffer[index] = readByte(address, at: engine.now)
            address = self.address(after: address)
        }
        if registers[Int(Register.interruptPin)] & Bit.clearOnAnyRead != 0 {
            registers[Int(Register.interruptStatus)] = 0
        }
    }

    /// Writes a byte. The address is incremented as for a read.
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        if !registers.isResetting(at: engine.now) { writeByte(register, value, &engine) }
    }

    func address(after register: UInt8) -> UInt8 {
        register == Register.fifoData ? register : (register + 1) & 0x7F
    }

    private mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        switch address {
        case Register.interruptStatus:
            let status = registers[Int(address)]
            registers[Int(address)] = 0
            return status
        case Register.powerManagement1:
            return registers[Int(address)] | (registers.isResetting(at: now) ? Bit.deviceReset : 0)
        case Register.fifoCountHigh:
            latchedCount = UInt16(fifo.count)
            return UInt8(latchedCount >> 8)
        case Register.fifoCountLow:
            return UInt8(latchedCount & 0xFF)
        case Register.fifoData:
            // While disabled it can be neither read nor written, and its state stays the same (RM p. 38).
            return isFIFOEnabled ? fifo.removeFirst() : fifo.lastRead
        default:
            return registers[Int(address)]
        }
    }

    private mutating func writeByte(_ address: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        let before = registers[Int(address)]
        let writable = variant.writableBits(address)
        registers[Int(address)] = before & ~writable | value & writable
        switch address {
        case Register.powerManagement1 where value & Bit.deviceReset != 0:
            reset(&engine)
        case Register.userControl:
            control(value, &engine)
        case Register.signalPathReset where value & 0x07 != 0:
            engine.resetFilters()
        case Register.fifoData where isFIFOEnabled:
            appendToFIFO(value)
        case Register.powerManagement1, Register.powerManagement2:
            let wakes = before & Bit.sleep != 0 && value & Bit.sleep == 0
            // The gyroscope's bits of PWR_MGMT_2 are 2 to 0.
            let starts = address == Register.powerManagement2 && before & ~value & 0x07 != 0
            if address == Register.powerManagement1 ? wakes : starts { engine.gyroscopeStart = engine.now }
            configure(&engine)
        case Register.sampleRateDivider...Register.accelerometerConfiguration, Register.fifoEnable,
            Register.selfTestX...Register.selfTestA:
            configure(&engine)
        case Register.accelerometerConfiguration2 where variant.hasAccelerometerConfiguration2:
            let size = variant.fifoSize(accelerometerConfiguration2: registers[Int(address)])
            if size != fifo.capacity { fifo = ByteFIFO(capacity: size) }
            configure(&engine)
        default:
            break
        }
    }

    /// Performs the actions of the self-clearing bits of USER_CTRL (RM p. 38).
    private mutating func control(_ value: UInt8, _ engine: inout SensorEngine) {
        // "This bit resets the FIFO buffer when set to 1 while FIFO_EN equals 0."
        if value & Bit.fifoReset != 0, !isFIFOEnabled {
            fifo.removeAll()
            frame.discardRest()
        }
        if value & Bit.signalConditionReset != 0 {
            engine.resetFilters()
            for address in Register.accelerometerOutput...Register.externalSensorLast { registers[Int(address)] = 0 }
        }
    }

    /// Whether USER_CTRL enables the FIFO.
    var isFIFOEnabled: Bool { registers[Int(Register.userControl)] & Bit.fifoEnable != 0 }

    /// Appends a byte, and sets the overflow flag in INT_STATUS if it replaced the oldest one.
    mutating func appendToFIFO(_ byte: UInt8) {
        if !fifo.append(byte) { registers[Int(Register.interruptStatus)] |= Bit.fifoOverflow }
    }
}
