package import IMUDrivers
package import MotionCore

/// A simulated chip as a `VirtualBus` sees it.
package protocol VirtualChip: Sendable {
    /// Reads `buffer.count` registers from `register` on at the instant `now`, in one transaction.
    ///
    /// - Throws: the error of a fault, if there is one.
    func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)

    /// Writes one register at the instant `now`.
    ///
    /// - Throws: the error of a fault, if there is one.
    func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError)
}

extension VirtualChip {
    /// Inverts bits of a register as another program would: it reads the register and writes it. `bank` is the value of an
    /// ICM-20948's bank register that selects the register's bank; bank 0 is selected again afterwards.
    ///
    /// - Throws: the error of a fault, if there is one.
    package func invert(_ bits: UInt8, of register: UInt8, bank: UInt8 = 0, at now: Timestamp) throws {
        let bankRegister: UInt8 = 0x7F
        if bank != 0 { try write(bank, to: bankRegister, at: now) }
        var value: UInt8 = 0
        try withUnsafeMutableBytes(of: &value) { try read(register, into: $0, at: now) }
        try write(value ^ bits, to: register, at: now)
        if bank != 0 { try write(0, to: bankRegister, at: now) }
    }
}

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
