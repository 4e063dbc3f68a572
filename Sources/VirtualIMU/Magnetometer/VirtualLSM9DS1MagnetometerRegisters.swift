internal import MotionCore

/// The registers of an LSM9DS1's magnetometer (datasheet, DocID025715 Rev 2, section 8).
///
/// Not modelled: single conversions, low power, self-test, the interrupt, big-endian values, and updates of the outputs
/// during a burst, which BDU prevents.
struct VirtualLSM9DS1MagnetometerRegisters: VirtualMagnetometerRegisters {
    /// Duration of a reset, seconds. The datasheet does not give it.
    private static let resetTime = 0.005

    var registers = RegisterFile(count: 0x34, defaults: [0x0F: 0x3D, 0x20: 0x10, 0x22: 0x03, 0x30: 0x08])

    var identityRegister: UInt8 { 0x0F }
    var modeRegisters: [UInt8] { [0x20, 0x22] }

    mutating func begin(_ engine: inout MagnetometerEngine) { configure(&engine) }

    /// Only if bit 7 of the first register's number is set, the address advances; behind the outputs it goes back to them, as
    /// is reported of the LIS3MDL.
    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout MagnetometerEngine
    ) {
        var address = Int(register & 0x7F)
        for index in buffer.indices {
            buffer[index] = readByte(address, at: engine.now)
            if register & 0x80 != 0 { address = address == 0x2D ? 0x28 : address + 1 }
        }
    }

    private mutating func readByte(_ address: Int, at now: Timestamp) -> UInt8 {
        guard address < 0x34 else { return 0 }
        if address == 0x21, registers.isResetting(at: now) { return 0x04 }
        let value = registers[address]
        // Reading a high byte clears the bits of its axis and those of all axes in STATUS_REG_M.
        if [0x29, 0x2B, 0x2D].contains(address) { registers[0x27] &= ~(0x88 | 0x11 << UInt8((address - 0x29) / 2)) }
        return value
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout MagnetometerEngine) {
        switch register {
        case 0x21 where value & 0x04 != 0:
            reset(for: Self.resetTime, &engine)
        case 0x05...0x0A, 0x20...0x24, 0x30, 0x32, 0x33:
            let before = registers[Int(register)]
            registers[Int(register)] = value
            if modeRegisters.contains(register), value != before { configure(&engine) }
        default: break
        }
    }

    /// In continuous conversion, MD = 0, the rate is 0.625 Hz times 2 to the power of DO, or that of the performance with
    /// FAST_ODR.
    func configure(_ engine: inout MagnetometerEngine) {
        let control = registers[0x20]
        let fastest: [Double] = [1000, 560, 300, 155]
        let performance = fastest[Int(control >> 5 & 0x03)]
        let rate = control & 0x02 != 0 ? performance : 0.625 * Double(1 << Int(control >> 2 & 0x07))
        engine.run(every: registers[0x22] & 0x03 == 0 ? 1 / rate : nil, taking: min(1 / performance, 1 / rate))
    }

    /// The magnetometer's axes are the board's: its x points the other way than that of accelerometer and gyroscope (figure
    /// 1), and so does the board's.
    mutating func take(_ completed: MagnetometerEngine.Completed, isFrozen: Bool) -> Bool {
        let isOverrun = registers[0x27] & 0x08 != 0 || completed.count > 1
        registers[0x27] = 0x0F | (isOverrun ? 0xF0 : 0)
        guard !isFrozen else { return true }
        // Milligauss per count; 0.1 µT are a milligauss.
        let scales: [Double] = [0.14, 0.29, 0.43, 0.58]
        let scale = 0.1 * scales[Int(registers[0x21] >> 5 & 0x03)]
        for axis in 0..<3 {
            let offset = Int16(bitPattern: UInt16(registers[0x05 + 2 * axis]) | UInt16(registers[0x06 + 2 * axis]) << 8)
            let field = completed.field[axis] - scale * Double(offset)
            registers.storeLittleEndian(counts(field, scale: scale, within: wholeRange), at: 0x28 + 2 * axis)
        }
        return true
    }
}
