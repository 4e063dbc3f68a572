package import IMUDrivers
package import MotionCore

/// The bus on which a virtual chip sits: what a driver is given in place of an I2C adapter.
///
/// Transactions take no time of their own; each happens at the instant that the clock shows.
package struct VirtualBus<Clock: MonotonicClock>: RegisterBus {
    private let chip: any VirtualChip
    private let clock: Clock

    package let maximumReadLength: Int

    /// Puts a chip on a bus that carries `maximumReadLength` bytes in one read: 8192 as Linux' `I2C_RDWR`, 32 as SMBus
    /// blocks.
    package init(_ chip: any VirtualChip, clock: Clock, maximumReadLength: Int = 8192) {
        self.chip = chip
        self.clock = clock
        self.maximumReadLength = maximumReadLength
    }

    /// Reads as a real bus does; a read that is empty or too long is `unsupported` (EINVAL).
    package mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        guard !buffer.isEmpty, buffer.count <= maximumReadLength else { throw BusError(.unsupported, code: 22) }
        try chip.read(register, into: buffer, at: clock.now())
    }

    package mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try chip.write(value, to: register, at: clock.now())
    }
}

extension VirtualBus: Sendable where Clock: Sendable {}
