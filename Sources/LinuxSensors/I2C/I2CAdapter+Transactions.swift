internal import CLinuxI2C
internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

// One function a kind of transaction. The structures that the kernel is handed stand on the stack, and nothing here
// allocates: this is what the sensor thread does all day.
extension I2CAdapter {
    /// Reads registers with two messages, a write of the register's number and a read (`I2C_RDWR`).
    ///
    /// Never more than one read message, and it comes last: the Raspberry Pi's BCM2835 refuses anything else
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

    /// Sets the address that the SMBus calls on this adapter go to (`I2C_SLAVE`).
    ///
    /// It is also the only way to learn that a kernel driver is bound to a chip: transfers do not ask.
    func select(_ address: UInt8) throws(BusError) {
        let answer = uninterrupted { linux_i2c_select(descriptor, UInt(address)) }
        try Self.check(answer, expected: 0)
    }

    /// Reads up to 32 registers of the selected chip (`i2c_smbus_read_i2c_block_data`).
    func smbusReadBlock(
        _ register: UInt8, into destination: UnsafeMutableRawPointer, count: Int
    ) throws(BusError) {
        // libi2c copies as many bytes as the adapter's driver says, which need not be as many as were asked for.
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

    /// Hands `count` messages, which lie in `messages` one behind the other, to the adapter.
    private func transfer<Messages>(_ messages: inout Messages, count: UInt32) -> Int32 {
        withUnsafeMutableBytes(of: &messages) { messages in
            let first = messages.baseAddress?.assumingMemoryBound(to: i2c_msg.self)
            return uninterrupted { linux_i2c_transfer(descriptor, first, count) }
        }
    }

    /// Throws what an answer says, where it is not the one of success.
    private static func check(_ answer: Int32, expected: Int32) throws(BusError) {
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        // A transfer or block that ended early: i2c-dev has no other word for it.
        guard answer == expected else { throw BusError(.inputOutput, code: EIO) }
    }
}
