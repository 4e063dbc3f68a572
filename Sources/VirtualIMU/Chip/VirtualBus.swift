package import IMUDrivers
package import MotionCore

/// The bus of a virtual chip: drivers use it in place of an I2C adapter.
///
/// Transactions take no time: each one happens at the clock's current instant.
package struct VirtualBus<Clock: MonotonicClock>: RegisterBus {
    private let chip: any VirtualChip
    private let clock: Clock

    package let maximumReadLength: Int

    /// `maximumReadLength` is the largest number of bytes in one read: 8192 as with Linux' `I2C_RDWR`, 32 as with SMBus
    /// blocks.
    package init(_ chip: any VirtualChip, clock: Clock, maximumReadLength: Int = 8192) {
        self.chip = chip
        self.clock = clock
        self.maximumReadLength = maximumReadLength
    }

    /// Reads like a real bus. A read that is empty or too long is `unsupported` (EINVAL).
    package mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        guard !buffer.isEmpty, buffer.count <= maximumReadLength else { throw BusError(.unsupported, code: 22) }
        try chip.read(register, into: buffer, at: clock.now())
    }

    package mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try chip.write(value, to: register, at: clock.now())
    }
}

extension VirtualBus: Sendable where Clock: Sendable {}
