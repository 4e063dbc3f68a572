internal import CLinuxI2C
internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

// One function per kind of transaction. The structures passed to the kernel are on the stack and nothing here
// allocates, because this is the sensor thread's main work.
extension I2CAdapter {
    /// Reads registers with two messages, a write of the register's number and a read (`I2C_RDWR`).
    ///
    /// There is only one read message, and it comes last: the Raspberry Pi's BCM2835 refuses anything else
    /// (i2c-bcm2835.c).
    func transferRead(
        _ register: UInt8, at address: UInt8, into destination: UnsafeMutableRawPointer, count: Int
    ) throws(BusError) {
        var register = register
        let answer = withUnsafeMutablePointer(to: &register) { number in
            var messages = (
                i2c_msg(addr: UInt16(address), flags: 0, len: 1, buf: number),
                i2c_msg(
                    addr: UInt16(address), flags: UInt16(I2C_M_RD), len: UInt16(count),
                    buf: destination.assumingMemoryBound(to: UInt8.self))
            )
            return transfer(&messages, count: 2)
        }
        try Self.check(answer, expected: 2)
    }

    /// Writes one register with one message of two bytes (`I2C_RDWR`).
    func transferWrite(_ register: UInt8, _ value: UInt8, at address: UInt8) throws(BusError) {
        var bytes = (register, value)
        let answer = withUnsafeMutableBytes(of: &bytes) { bytes in
            var message = i2c_msg(
                addr: UInt16(address), flags: 0, len: 2, buf: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            return transfer(&message, count: 1)
        }
        try Self.check(answer, expected: 1)
    }

    /// Reads one byte without naming a register, with one message (`I2C_RDWR`).
    func transferReceive(at address: UInt8) throws(BusError) -> UInt8 {
        var value: UInt8 = 0
        let answer = withUnsafeMutablePointer(to: &value) { value in
            var message = i2c_msg(addr: UInt16(address), flags: UInt16(I2C_M_RD), len: 1, buf: value)
            return transfer(&message, count: 1)
        }
        try Self.check(answer, expected: 1)
        return value
    }

    /// Sets the address for the SMBus calls on this adapter (`I2C_SLAVE`).
    ///
    /// This is also the only way to find out that a kernel driver is bound to a chip: transfers do not check.
    func select(_ address: UInt8) throws(BusError) {
        let answer = uninterrupted { linux_i2c_select(descriptor, UInt(address)) }
        try Self.check(answer, expected: 0)
    }

    /// Reads up to 32 registers of the selected chip (`i2c_smbus_read_i2c_block_data`).
    func smbusReadBlock(
        _ register: UInt8, into destination: UnsafeMutableRawPointer, count: Int
    ) throws(BusError) {
        // libi2c copies as many bytes as the adapter's driver returns, which may differ from the number requested.
        var block: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let answer = withUnsafeMutableBytes(of: &block) { block in
            let bytes = block.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return uninterrupted { i2c_smbus_read_i2c_block_data(descriptor, register, UInt8(count), bytes) }
        }
        try Self.check(answer, expected: Int32(count))
        withUnsafeBytes(of: &block) { block in
            UnsafeMutableRawBufferPointer(start: destination, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: block.prefix(count)))
        }
    }

    /// Reads one register of the selected chip (`i2c_smbus_read_byte_data`).
    func smbusReadByte(_ register: UInt8) throws(BusError) -> UInt8 {
        let answer = uninterrupted { i2c_smbus_read_byte_data(descriptor, register) }
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        return UInt8(truncatingIfNeeded: answer)
    }

    /// Writes one register of the selected chip (`i2c_smbus_write_byte_data`).
    func smbusWriteByte(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try Self.check(uninterrupted { i2c_smbus_write_byte_data(descriptor, register, value) }, expected: 0)
    }

    /// Reads one byte of the selected chip without naming a register (`i2c_smbus_read_byte`).
    func smbusReceive() throws(BusError) -> UInt8 {
        let answer = uninterrupted { i2c_smbus_read_byte(descriptor) }
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        return UInt8(truncatingIfNeeded: answer)
    }

    /// Passes `count` consecutive messages in `messages` to the adapter.
    private func transfer<Messages>(_ messages: inout Messages, count: UInt32) -> Int32 {
        withUnsafeMutableBytes(of: &messages) { messages in
            let first = messages.baseAddress?.assumingMemoryBound(to: i2c_msg.self)
            return uninterrupted { linux_i2c_transfer(descriptor, first, count) }
        }
    }

    /// Throws unless the answer is the expected one.
    private static func check(_ answer: Int32, expected: Int32) throws(BusError) {
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        // A transfer or block ended early. i2c-dev has no specific error for that.
        guard answer == expected else { throw BusError(.inputOutput, code: EIO) }
    }
}
